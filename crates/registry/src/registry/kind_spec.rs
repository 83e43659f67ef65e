use std::borrow::Cow;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, GroupVersionKind, Object, names};
use coracle_schema::{KindSchema, ResourceRow, Table, Trait};
use serde_json::Value;

use crate::table::{self, Column, TableColumn};
use crate::{Computed, DeleteOptions, Hooks, NoHooks, Offers, Request, Subresource, selection};

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

impl Generation {
    /// That of most kinds.
    pub const BY_SPEC: Self = Self::Fields(&["spec"]);
}

/// How an object that is stored in a version which is served no longer becomes one of the hub's.
#[derive(Clone, Copy, Debug)]
pub enum Former {
    /// Fields and their places in messages are the hub's.
    SameFields,
    /// It is stored as JSON, and this makes the hub's form of it.
    Json(fn(&mut Object)),
}

/// One kind in one of its versions: all that is special about it, as plain data and pure functions, beside the few
/// hooks and subresources that do I/O. What is not said is what a plain kind does.
///
/// A kind served in several versions has a description for each: one is the hub, in whose form objects are stored and
/// whose rules are applied; the others say how to come from it and go to it, and have defaults of their own.
///
/// ```text
/// KindSpec { validate: wrong, columns: vec![..], ..KindSpec::built_in("apps", "v1", "deployments") }
/// ```
/// In Kubernetes: `genericregistry.Store` with its `rest.RESTCreateStrategy` and siblings, the defaulting and conversion
/// functions of a version, and the printers of a kind.
pub struct KindSpec {
    // What it is.
    /// Names, version, scope, verbs in the order of discovery, subresources, the hub (`stored_as`) and traits.
    pub row: ResourceRow,
    /// What objects look like, for decoding, patches and apply.
    pub schema: KindSchema,
    /// What clients can ask for, and in which manners they are answered.
    pub offers: Offers,
    /// The folder of the kind in the store, below `/registry/`. In Kubernetes some are older than their group:
    /// `services/specs`, `minions`, `ingress`.
    pub store_directory: String,
    /// What clients of this version should know with every answer: that it goes, and what to use instead.
    pub deprecation: Option<String>,
    /// The `openAPIV3Schema` of a custom kind, as its definition has it, for the documents.
    pub published_schema: Option<Value>,

    // Versions.
    /// Turns an object of this version into one of the hub's (`apiVersion` and `kind` are set by the caller).
    pub to_hub: fn(&mut Object),
    /// Turns an object of the hub's version into one of this.
    pub from_hub: fn(&mut Object),
    /// The versions in which kube-apiserver may have stored objects, though nobody is served them any longer.
    pub former_versions: &'static [(&'static str, Former)],
    /// What a served version makes of what is wrong with an object (new, old for an update), which is in the stored
    /// form: it may name fields in its own words, and be stricter. Asked of the served version where that is not the
    /// stored one.
    pub review: fn(&Object, Option<&Object>, Vec<FieldError>) -> Vec<FieldError>,

    // Writing.
    /// The defaults that belong to the kind as a whole. Filled in after decoding and after a patch.
    pub set_defaults: fn(&mut Object),
    /// The defaults of its parts, filled in after those of the whole.
    pub set_part_defaults: fn(&KindSchema, &mut Object),
    /// Prepares an object that is about to be created: drops what clients may not set. `status` was dropped by the
    /// caller where the kind has the subresource, see [`KindSpec::takes_new_status`].
    pub prepare_create: fn(&mut Object, &Request),
    /// Whether whoever creates an object may say its status too. In Kubernetes: nodes, which register with theirs.
    pub takes_new_status: bool,
    /// Prepares an update (new, old) of the object itself: restores what it may not change. `status` was restored by
    /// the caller where the kind has the subresource, and `generation` is counted by it.
    pub prepare_update: fn(&mut Object, &Object, &Request),
    /// Whether a new object without a name and without `generateName` is called by a UUID.
    /// In Kubernetes: `limitrangeStrategy.PrepareForCreate`.
    pub is_named_by_uuid: bool,
    /// What is wrong with a name. Of a `generateName` the caller looks at the prefix with a letter in place of the
    /// suffix.
    pub name: fn(&str) -> Vec<String>,
    /// Whether finalizers need neither a domain nor to be one of Kubernetes' own.
    /// In Kubernetes: kinds whose validation does not ask `ValidateKubeFinalizerName`.
    pub takes_any_finalizer: bool,
    /// What is wrong with an object, its metadata aside.
    pub validate: fn(&Object) -> Vec<FieldError>,
    /// What is wrong with a new object besides.
    pub validate_create: fn(&Object) -> Vec<FieldError>,
    /// What is wrong with a change (new, old), beside what is wrong with the new object.
    pub validate_change: fn(&Object, &Object) -> Vec<FieldError>,
    /// What the client should know about this object; the old one is there for an update.
    pub warnings: fn(&Object, Option<&Object>) -> Vec<String>,
    /// Last touches after validation, before the object is stored.
    pub canonicalize: fn(&mut Object),
    /// When the generation counts up, by a write of the object itself or of a part of its specification
    /// ([`View`](crate::View), [`Projection`](crate::Projection)). A write of `/status` never counts.
    pub generation: Generation,
    /// The fields that a write of the object itself resets, and does not own, beside `status`: dotted paths.
    pub reset_fields: &'static [&'static str],
    /// How long objects live before the store drops them, in seconds (events). `None` for ever.
    pub time_to_live: Option<i64>,

    // The status subresource, for kinds whose row has one.
    /// The fields that an update through `/status` resets, and does not own: dotted paths.
    pub reset_by_status: &'static [&'static str],
    /// Further fields that a write through `/status` does not own, though it may change them.
    pub disowned_by_status: &'static [&'static str],
    /// Last touches of an update (new, old) through `/status`.
    pub prepare_status: fn(&mut Object, &Object, &Request),
    /// What is wrong with an update (new, old) through `/status`.
    pub validate_status: fn(&Object, &Object) -> Vec<FieldError>,
    /// The other subresources.
    pub subresources: Vec<Subresource>,

    // Deleting.
    /// The grace period of a deletion that asks for so many seconds; `None` if the kind goes at once.
    pub grace_period: fn(&Object, Option<i64>) -> Option<i64>,
    /// Changes an object whose deletion begins and which stays for now (a namespace's phase).
    pub begin_delete: fn(&mut Object, &Request),
    /// Whether a terminating object stays for a reason of its own, besides grace and finalizers (a namespace's
    /// `spec.finalizers`).
    pub is_held: fn(&Object) -> bool,
    /// Whether dependents are orphaned when a delete says nothing.
    pub orphans_by_default: bool,
    /// What whoever deletes objects so should know.
    pub delete_warnings: fn(&DeleteOptions) -> Vec<String>,

    // Reading.
    /// The fields that a field selector may name, besides `metadata.name` and `metadata.namespace`. `None` if
    /// Kubernetes registers no field labels for the kind.
    pub selectable: Option<&'static [&'static str]>,
    /// What a field selector of this version may name, and what the stored version calls it, where the two have names of
    /// their own. In Kubernetes: `AddFieldLabelConversionFunc`.
    pub field_labels: Option<&'static [(&'static str, &'static str)]>,
    /// Those selectable fields by which many watch at once (`spec.nodeName`): they are indexed.
    pub indexed: &'static [&'static str],
    /// The value of a selectable field, where it does not stand at the path of its name.
    pub field: fn(&Object, &str) -> Option<String>,
    /// Annotations that stand for fields of other versions, and so are not there where only the metadata is shown.
    /// In Kubernetes: what the conversion to the internal version takes out of the annotations.
    pub hidden_annotations: &'static [&'static str],
    /// The table, whose cells are read from the stored form.
    pub columns: Vec<TableColumn>,
    /// The `conditions` of an object's row (a pod that has run to its end is `Completed`).
    pub row_conditions: fn(&Object) -> Vec<Value>,

    // What may do I/O.
    /// What answers for a kind that is computed and not stored (reviews).
    pub computed: Option<Arc<dyn Computed>>,
    /// What happens beside the writes of objects.
    pub hooks: Arc<dyn Hooks>,
}

impl KindSpec {
    /// A plain kind: its row, and what its objects look like.
    pub fn new(row: ResourceRow, schema: KindSchema, offers: Offers) -> Self {
        let generation = if row.has(Trait::Generation) { Generation::BY_SPEC } else { Generation::None };
        Self {
            store_directory: row.plural.clone(),
            row,
            schema,
            offers,
            deprecation: None,
            published_schema: None,
            to_hub: |_| {},
            from_hub: |_| {},
            former_versions: &[],
            review: |_, _, wrong| wrong,
            set_defaults: |_| {},
            set_part_defaults: |_, _| {},
            prepare_create: |_, _| {},
            takes_new_status: false,
            prepare_update: |_, _, _| {},
            name: names::dns1123_subdomain,
            is_named_by_uuid: false,
            takes_any_finalizer: false,
            validate: |_| Vec::new(),
            validate_create: |_| Vec::new(),
            validate_change: |_, _| Vec::new(),
            warnings: |_, _| Vec::new(),
            canonicalize: |_| {},
            generation,
            reset_fields: &[],
            time_to_live: None,
            reset_by_status: &["spec"],
            disowned_by_status: &[],
            prepare_status: |_, _, _| {},
            validate_status: |_, _| Vec::new(),
            subresources: Vec::new(),
            grace_period: |_, _| None,
            begin_delete: |_, _| {},
            is_held: |_| false,
            orphans_by_default: false,
            delete_warnings: |_| Vec::new(),
            selectable: None,
            field_labels: None,
            indexed: &[],
            field: |_, _| None,
            hidden_annotations: &[],
            columns: table::default_columns(),
            row_conditions: |_| Vec::new(),
            computed: None,
            hooks: Arc::new(NoHooks),
        }
    }

    /// A plain kind of Kubernetes' own, with its row and schema of the table of 1.35.
    ///
    /// # Panics
    /// If the table does not know the resource.
    pub fn built_in(group: &str, version: &str, plural: &str) -> Self {
        let table = Table::v1_35();
        let is_it = |row: &ResourceRow| row.kind.group == group && row.kind.version == version && row.plural == plural;
        let known = table.resources().iter().enumerate().find(|(_, row)| is_it(row));
        let (place, row) = known.unwrap_or_else(|| panic!("the table has no {plural} in {group}/{version}"));
        Self::new(row.clone(), KindSchema::built_in(&row.kind), Offers::built_in(place))
    }

    /// What another resource of the table, which shows the same objects, has in common with this: all but its names
    /// and what its objects look like.
    #[must_use]
    pub fn in_version(self, group: &str, version: &str) -> Self {
        let Self { row, schema, offers, .. } = Self::built_in(group, version, &self.row.plural);
        Self { row, schema, offers, ..self }
    }

    /// Group, version and kind.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.row.kind
    }

    /// Whether objects are stored in another version.
    pub fn is_converted(&self) -> bool {
        self.row.stored_as != self.row.resource()
    }

    /// The fields that a write of the object itself resets, and does not own: `status` for most.
    pub fn all_reset_fields(&self) -> Vec<Vec<String>> {
        let mut fields = paths(self.reset_fields);
        if self.row.subresource("status").is_some() {
            fields.push(vec!["status".to_owned()]);
        }
        fields
    }

    /// What is wrong with the finalizers of an object, where they have to have a domain or to be known.
    pub fn wrong_finalizers(&self, object: &Object) -> Vec<FieldError> {
        if self.takes_any_finalizer {
            return Vec::new();
        }
        let finalizers = object.finalizers().into_iter().enumerate();
        let wrong = |(at, name): (usize, String)| unknown_finalizer(&format!("metadata.finalizers[{at}]"), &name);
        finalizers.filter_map(wrong).collect()
    }

    /// The value of a selectable field.
    pub fn field_value(&self, object: &Object, name: &str) -> String {
        (self.field)(object, name).unwrap_or_else(|| selection::text_at(object, name))
    }

    /// The headings of the kind's table.
    pub fn headings(&self) -> Vec<Column> {
        self.columns.iter().filter_map(|column| column.heading.clone()).collect()
    }

    /// The cells of an object's row, one a column.
    pub fn cells(&self, object: &Object, now: Timestamp) -> Vec<Value> {
        let mut stored = Cow::Borrowed(object);
        if self.is_converted() {
            (self.to_hub)(stored.to_mut());
        }
        self.columns.iter().map(|column| (column.cell)(&stored, now)).collect()
    }
}

impl std::fmt::Debug for KindSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KindSpec").field("kind", self.gvk()).finish_non_exhaustive()
    }
}

pub(crate) fn paths(dotted: &[&str]) -> Vec<Vec<String>> {
    dotted.iter().map(|path| path.split('.').map(str::to_owned).collect()).collect()
}

/// A finalizer without a domain has to be one of Kubernetes' own. In Kubernetes: `ValidateKubeFinalizerName`.
pub fn unknown_finalizer(path: &str, finalizer: &str) -> Option<FieldError> {
    const KNOWN: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    let what = "name is neither a standard finalizer name nor is it fully qualified";
    let is_known = finalizer.contains('/') || KNOWN.contains(&finalizer);
    (!is_known).then(|| FieldError::invalid(path, finalizer, what))
}
