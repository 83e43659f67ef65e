use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, Status, names};
use coracle_schema::decode::Decoded;
use coracle_schema::{KindSchema, ResourceRow, Table, Trait};
use serde_json::Value;

use crate::{Column, Computed, DeleteOptions, Registry, Request, Reservation, Subresource, table};

/// When `metadata.generation` counts up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// Never: the kind has none.
    #[default]
    None,
    /// When one of these fields changes (dotted paths); for most kinds `spec`.
    Fields(&'static [&'static str]),
    /// When anything but the metadata and these top-level fields changes, as for custom resources.
    AllBut(&'static [&'static str]),
}

/// What is special about one kind, in one of its versions; all else is the same for all kinds.
///
/// Pure functions, with defaults that fit a plain kind, and at the end a few hooks that may do I/O.
/// A kind served in several versions has a strategy for each: one is the hub, in whose form objects are stored and to
/// which all rules below are applied; the others say how to come from it and go to it, and have defaults of their own.
///
/// In Kubernetes: `rest.RESTCreateStrategy` and its siblings, the defaulting and conversion functions of a version, and
/// the printers of a kind.
#[async_trait]
pub trait Strategy: Send + Sync + 'static {
    /// The kind's row of the schema table: names, version, scope, verbs, subresources, the hub (`stored_as`) and traits.
    fn row(&self) -> &ResourceRow;

    /// What objects look like, for decoding, patches and apply. By default what the table of built-in kinds says.
    fn schema(&self) -> Option<KindSchema> {
        Table::v1_35().kind(&self.row().kind)
    }

    /// Reads a document as an object of this kind, for kinds that the table of built-in types does not describe.
    fn decode(&self, _document: &Value) -> Option<Result<Decoded, String>> {
        None
    }

    /// What clients of this version should know with every answer: that it goes, and what to use instead.
    fn deprecation(&self) -> Option<String> {
        None
    }

    /// The `openAPIV3Schema` of a custom kind, as its definition has it, for the documents.
    fn published_schema(&self) -> Option<&Value> {
        None
    }

    // Versions.

    /// Turns an object of this version into one of the hub's (`apiVersion` and `kind` are set by the caller).
    fn to_hub(&self, _object: &mut Object) -> Result<(), Status> {
        Ok(())
    }

    /// Turns an object of the hub's version into one of this.
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the strategy")]
    fn from_hub(&self, _object: &mut Object) -> Result<(), Status> {
        Ok(())
    }

    /// The folder of the kind in the store, below `/registry/`, where it is not `[group/]plural`.
    /// In Kubernetes some are older than their group: `services/specs`, `minions`, `ingress`.
    fn store_directory(&self) -> Option<String> {
        None
    }

    // Writing.

    /// Fills in the defaults of this version. Called after decoding and after a patch.
    fn set_defaults(&self, _object: &mut Object) {}

    /// Prepares an object that is about to be created: drops what clients may not set. `status` was dropped by the
    /// caller where the kind has the subresource, see [`Strategy::keeps_new_status`].
    fn prepare_create(&self, _object: &mut Object, _request: &Request) {}

    /// Whether whoever creates an object may say its status too. In Kubernetes: nodes, which register with theirs.
    fn keeps_new_status(&self) -> bool {
        false
    }

    /// Prepares an update of the object itself: restores what it may not change. `status` was restored by the caller
    /// where the kind has the subresource, and `generation` is counted by it, see [`Strategy::generation`].
    fn prepare_update(&self, _new: &mut Object, _old: &Object, _request: &Request) {}

    /// What is wrong with a new object, its metadata aside.
    fn validate(&self, _object: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// What a served version makes of what is wrong with a new object, which is in the stored form: it may name fields
    /// in its own words, and be stricter. Asked of the served version where that is not the stored one.
    fn review(&self, _object: &Object, wrong: Vec<FieldError>) -> Vec<FieldError> {
        wrong
    }

    /// What is wrong with a change, the metadata aside. Has to include what is wrong with `new` alone.
    fn validate_update(&self, new: &Object, _old: &Object) -> Vec<FieldError> {
        self.validate(new)
    }

    /// What the client should know about this object; `old` is there for an update.
    fn warnings(&self, _new: &Object, _old: Option<&Object>) -> Vec<String> {
        Vec::new()
    }

    /// What is wrong with a name. Of a `generateName` the caller looks at the prefix with a letter in place of the
    /// suffix. By default names are DNS subdomains.
    fn validate_name(&self, name: &str) -> Vec<String> {
        names::dns1123_subdomain(name)
    }

    /// Last touches after validation, before the object is stored.
    fn canonicalize(&self, _object: &mut Object) {}

    /// When the generation counts up, by a write of the object itself or of a part of its specification
    /// ([`View`](crate::View), [`Projection`](crate::Projection)). A write of `/status` never counts.
    fn generation(&self) -> Generation {
        if self.row().has(Trait::Generation) { Generation::Fields(&["spec"]) } else { Generation::None }
    }

    /// The fields of the object itself that a write through the main path resets, and does not own: `status` for most.
    fn reset_fields(&self) -> Vec<Vec<String>> {
        if self.row().subresource("status").is_some() { vec![vec!["status".to_owned()]] } else { Vec::new() }
    }

    // The status subresource, for kinds whose row has one.

    /// Prepares an update through `/status`. By default labels and all besides metadata and `status` are the old one's.
    fn prepare_status_update(&self, new: &mut Object, old: &Object, _request: &Request) {
        crate::subresource::keep_spec_and_labels(new, old);
    }

    /// What is wrong with an update through `/status`.
    fn validate_status_update(&self, _new: &Object, _old: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// The fields that a write through `/status` resets, and does not own.
    fn reset_status_fields(&self) -> Vec<Vec<String>> {
        vec![vec!["spec".to_owned()], vec!["metadata".to_owned(), "labels".to_owned()]]
    }

    /// The other subresources.
    fn subresources(&self) -> &[Subresource] {
        &[]
    }

    // Deleting.

    /// The grace period of a deletion that asks for `requested` seconds; `None` if the kind goes at once.
    fn grace_period(&self, _object: &Object, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// Refuses the deletion of some objects.
    fn check_delete(&self, _object: &Object, _request: &Request) -> Result<(), Status> {
        Ok(())
    }

    /// What whoever deletes objects so should know.
    fn delete_warnings(&self, _options: &DeleteOptions) -> Vec<String> {
        Vec::new()
    }

    /// Changes an object whose deletion begins and which stays for now (a namespace's phase).
    fn begin_delete(&self, _object: &mut Object, _request: &Request) {}

    /// Whether a terminating object stays for a reason of its own, besides grace and finalizers (a namespace's
    /// `spec.finalizers`).
    fn is_held(&self, _object: &Object) -> bool {
        false
    }

    /// Whether dependents are orphaned when a delete says nothing.
    fn orphans_by_default(&self) -> bool {
        false
    }

    // Reading.

    /// The fields that a field selector may name, besides `metadata.name` and `metadata.namespace`.
    fn selectable_fields(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The value of a selectable field.
    fn field(&self, object: &Object, name: &str) -> String {
        crate::selection::text_at(object, name)
    }

    /// Those selectable fields by which many watch at once (`spec.nodeName`): they are indexed.
    fn indexed_fields(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Annotations that stand for fields of other versions, and so are not there where only the metadata is shown.
    /// In Kubernetes: what the conversion to the internal version takes out of the annotations.
    fn hidden_annotations(&self) -> &[&str] {
        &[]
    }

    /// The columns of the kind's table.
    fn columns(&self) -> Vec<Column> {
        table::default_columns()
    }

    /// The cells of an object's row, one a column.
    fn cells(&self, object: &Object, now: Timestamp) -> Vec<Value> {
        table::default_cells(object, now)
    }

    /// The `conditions` of an object's row (a pod that has run to its end is `Completed`).
    fn row_conditions(&self, _object: &Object) -> Vec<Value> {
        Vec::new()
    }

    /// How long objects live before the store drops them, in seconds (events). `None` for ever.
    fn time_to_live(&self, _object: &Object) -> Option<i64> {
        None
    }

    // Hooks that may do I/O.

    /// Answers for a kind that is computed and not stored (reviews).
    fn computed(&self) -> Option<&dyn Computed> {
        None
    }

    /// Reserves what the object needs from elsewhere (addresses, ports) and writes it into the object. Called after
    /// admission and preparation, before validation; in a dry run nothing may be consumed.
    async fn begin_create(
        &self,
        _registry: &Registry,
        _request: &Request,
        _object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// The same for an update.
    async fn begin_update(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: &mut Object,
        _old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// Called when an object has been created, updated through any path (`old` is there) or deleted (`new` is absent),
    /// and it was no dry run: gives back what it held, installs what it defines.
    async fn after(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: Option<&Object>,
        _old: Option<&Object>,
    ) -> Result<(), Status> {
        Ok(())
    }
}
