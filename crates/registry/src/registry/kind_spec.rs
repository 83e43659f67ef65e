use std::borrow::Cow;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, GroupVersionKind, Object, names};
use coracle_release::Release;
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
    /// It is stored as JSON, and this function converts it to the hub's form.
    Json(fn(&mut Object)),
}

/// One kind in one of its versions: everything specific to it, as plain data and pure functions, and the few hooks and
/// subresources that do I/O. The defaults are the behaviour of a plain kind.
///
/// A kind that is served in several versions has a `KindSpec` for each. One is the hub: objects are stored in its form,
/// and its rules apply. The others convert from and to the hub, and have their own defaults.
///
/// ```text
/// KindSpec { validate: wrong, columns: vec![..], ..KindSpec::built_in(release, "apps", "v1", "deployments") }
/// ```
/// In Kubernetes: `genericregistry.Store` with its `rest.RESTCreateStrategy` and siblings, the defaulting and conversion
/// functions of a version, and the printers of a kind.
pub struct KindSpec {
    // What it is.
    /// The release of the API server.
    pub release: Release,
    /// Names, version, scope, verbs in the order of discovery, subresources, the hub (`stored_as`) and traits.
    pub row: ResourceRow,
    /// What objects look like, for decoding, patches and apply.
    pub schema: KindSchema,
    /// The formats, patch types and refusals that clients of the kind see.
    pub offers: Offers,
    /// The key prefix of the kind in the store, below `/registry/`. Some in Kubernetes are older than their group:
    /// `services/specs`, `minions`, `ingress`.
    pub store_directory: String,
    /// The warning in every response of a deprecated version, with its replacement.
    pub deprecation: Option<String>,
    /// The `openAPIV3Schema` of a custom kind, as in its definition, for the OpenAPI documents.
    pub published_schema: Option<Value>,

    // Versions.
    /// Converts an object of this version to the hub's version (the caller sets `apiVersion` and `kind`).
    pub to_hub: fn(&mut Object),
    /// Converts an object of the hub's version to this version.
    pub from_hub: fn(&mut Object),
    /// The versions in which kube-apiserver may have stored objects, but which are not served.
    pub former_versions: &'static [(&'static str, Former)],
    /// Reviews the errors of an object (new, old for an update) in the stored form, if the served version is another
    /// one: it can rename fields to its own names, and be stricter.
    pub review: fn(&Object, Option<&Object>, Vec<FieldError>) -> Vec<FieldError>,

    // Writing.
    /// Sets the defaults of the whole object, after decoding and after a patch.
    pub set_defaults: fn(&mut Object, &Release),
    /// Sets the defaults of its parts, after those of the whole object.
    pub set_part_defaults: fn(&KindSchema, &mut Object),
    /// Sets the missing times whose default is the time of the request, after all other defaults.
    pub set_times: fn(&mut Object, Timestamp),
    /// Prepares an object for creation: drops the fields that clients must not set. The caller has dropped `status` if
    /// the kind has the subresource, see [`KindSpec::takes_new_status`].
    pub prepare_create: fn(&mut Object, &Request, &Release),
    /// Whether a creation can set the status. In Kubernetes: nodes, which register with their status.
    pub takes_new_status: bool,
    /// Prepares an update (new, old) of the object itself: restores the fields that clients must not change. The caller
    /// has restored `status` if the kind has the subresource, and counts `generation`.
    pub prepare_update: fn(&mut Object, &Object, &Request, &Release),
    /// Whether a new object without a name and without `generateName` gets a UUID as its name.
    /// In Kubernetes: `limitrangeStrategy.PrepareForCreate`.
    pub is_named_by_uuid: bool,
    /// The errors of a name. For a `generateName`, the caller passes the prefix with a letter instead of the suffix.
    pub name: fn(&str) -> Vec<String>,
    /// Whether finalizers without a domain are valid even if they are not Kubernetes' own.
    /// In Kubernetes: kinds whose validation does not call `ValidateKubeFinalizerName`.
    pub takes_any_finalizer: bool,
    /// Whether the release declares rules of the kind on its fields, see [`FieldError::declared`], and so reports no
    /// error twice. In Kubernetes: `rest.DeclarativeValidation`.
    pub declares_rules: bool,
    /// The errors of an object, except those of its metadata.
    pub validate: fn(&Object, &Release) -> Vec<FieldError>,
    /// Further errors of a new object.
    pub validate_create: fn(&Object, &Release) -> Vec<FieldError>,
    /// Further errors of a change (new, old), in addition to the errors of the new object.
    pub validate_change: fn(&Object, &Object, &Release) -> Vec<FieldError>,
    /// Warnings for the client about this object; the old object is passed for an update.
    pub warnings: fn(&Object, Option<&Object>, &Release) -> Vec<String>,
    /// The last changes after validation, before the object is stored.
    pub canonicalize: fn(&mut Object),
    /// Which writes increment the generation: writes of the object itself or of a part of its spec
    /// ([`View`](crate::View), [`Projection`](crate::Projection)). A write of `/status` never does.
    pub generation: Generation,
    /// The fields in addition to `status` that a write of the object itself resets and does not own: dotted paths.
    pub reset_fields: &'static [&'static str],
    /// The time to live of stored objects in seconds (events). `None`: no limit.
    pub time_to_live: Option<i64>,

    // The status subresource, for kinds whose row has one.
    /// The fields that an update through `/status` resets and does not own: dotted paths.
    pub reset_by_status: &'static [&'static str],
    /// Further fields that a write through `/status` can change but does not own.
    pub disowned_by_status: &'static [&'static str],
    /// The last changes of an update (new, old) through `/status`.
    pub prepare_status: fn(&mut Object, &Object, &Request, &Release),
    /// The errors of an update (new, old) through `/status`.
    pub validate_status: fn(&Object, &Object, &Release) -> Vec<FieldError>,
    /// The other subresources.
    pub subresources: Vec<Subresource>,

    // Deleting.
    /// The grace period of a deletion with the requested seconds; `None` if objects of the kind are deleted at once.
    pub grace_period: fn(&Object, Option<i64>) -> Option<i64>,
    /// Changes an object that is terminating and not yet removed (a namespace's phase).
    pub begin_delete: fn(&mut Object, &Request),
    /// Whether a terminating object is kept for another reason than its grace period and finalizers (a namespace's
    /// `spec.finalizers`).
    pub is_held: fn(&Object) -> bool,
    /// Whether a delete without a propagation policy orphans dependents.
    pub orphans_by_default: bool,
    /// Warnings for the client about these options of a deletion.
    pub delete_warnings: fn(&DeleteOptions) -> Vec<String>,

    // Reading.
    /// The fields that a field selector can use in addition to `metadata.name` and `metadata.namespace`. `None` if
    /// Kubernetes registers no field labels for the kind.
    pub selectable: Option<&'static [&'static str]>,
    /// The fields that a field selector of this version can use, with their names in the stored version, if the names
    /// differ. In Kubernetes: `AddFieldLabelConversionFunc`.
    pub field_labels: Option<&'static [(&'static str, &'static str)]>,
    /// The indexed selectable fields: those that many watches use at once (`spec.nodeName`).
    pub indexed: &'static [&'static str],
    /// The value of a selectable field, if it is not at the path of its name.
    pub field: fn(&Object, &str) -> Option<String>,
    /// Annotations that represent fields of other versions. They are hidden in responses with only the metadata.
    /// In Kubernetes: the annotations that the conversion to the internal version removes.
    pub hidden_annotations: &'static [&'static str],
    /// The columns of the table; cells are computed from the stored form.
    pub columns: Vec<TableColumn>,
    /// The `conditions` of an object's row (a finished pod is `Completed`).
    pub row_conditions: fn(&Object) -> Vec<Value>,
    /// Whether an object is a default of its kind. The table of a list marks the default that is used, which is the
    /// newest. In Kubernetes: `GetDefaultClass`.
    pub default_in_list: Option<fn(&Object) -> bool>,

    // What may do I/O.
    /// The handler of a kind that is computed and not stored (reviews).
    pub computed: Option<Arc<dyn Computed>>,
    /// The side effects of writes.
    pub hooks: Arc<dyn Hooks>,
}

impl KindSpec {
    /// A plain kind with this row and this schema.
    pub fn new(release: &Release, row: ResourceRow, schema: KindSchema, offers: Offers) -> Self {
        let generation = if row.has(Trait::Generation) { Generation::BY_SPEC } else { Generation::None };
        Self {
            release: release.clone(),
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
            set_defaults: |_, _| {},
            set_part_defaults: |_, _| {},
            set_times: |_, _| {},
            prepare_create: |_, _, _| {},
            takes_new_status: false,
            prepare_update: |_, _, _, _| {},
            name: names::dns1123_subdomain,
            is_named_by_uuid: false,
            takes_any_finalizer: false,
            declares_rules: false,
            validate: |_, _| Vec::new(),
            validate_create: |_, _| Vec::new(),
            validate_change: |_, _, _| Vec::new(),
            warnings: |_, _, _| Vec::new(),
            canonicalize: |_| {},
            generation,
            reset_fields: &[],
            time_to_live: None,
            reset_by_status: &["spec"],
            disowned_by_status: &[],
            prepare_status: |_, _, _, _| {},
            validate_status: |_, _, _| Vec::new(),
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
            default_in_list: None,
            computed: None,
            hooks: Arc::new(NoHooks),
        }
    }

    /// A plain kind of Kubernetes' own, with its row and schema in the table of a release.
    ///
    /// # Panics
    /// If the table does not know the resource.
    pub fn built_in(release: &Release, group: &str, version: &str, plural: &str) -> Self {
        let table = Table::of(release);
        let is_it = |row: &ResourceRow| row.kind.group == group && row.kind.version == version && row.plural == plural;
        let known = table.resources().iter().enumerate().find(|(_, row)| is_it(row));
        let (place, row) = known.unwrap_or_else(|| panic!("the table has no {plural} in {group}/{version}"));
        Self::new(release, row.clone(), KindSchema::built_in(release, &row.kind), Offers::built_in(place))
    }

    /// What another resource of the table, which shows the same objects, has in common with this: all but its names
    /// and what its objects look like.
    #[must_use]
    pub fn in_version(self, group: &str, version: &str) -> Self {
        let Self { row, schema, offers, .. } = Self::built_in(&self.release, group, version, &self.row.plural);
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

    /// The errors of the finalizers of an object, where they have to have a domain or to be known.
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
