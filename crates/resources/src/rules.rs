use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{DeleteOptions, Generation, Request};
use serde_json::Value;

use crate::columns::Heading;

/// The pure rules of one built-in kind in one version: constants and functions, with those of a plain kind as defaults.
///
/// A kind's file says what is special with `Rules { .., ..Rules::of("apps", "v1", "deployments") }`.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// The group of the resource.
    pub(crate) group: &'static str,
    /// The version.
    pub(crate) version: &'static str,
    /// The plural.
    pub(crate) plural: &'static str,
    /// The defaults that belong to the kind as a whole; those of its parts come from [`crate::defaults`].
    pub(crate) set_defaults: fn(&mut Object),
    /// Prepares a create, after the registry dropped `status`.
    pub(crate) prepare_create: fn(&mut Object, &Request),
    /// Prepares an update, after the registry restored `status`.
    pub(crate) prepare_update: fn(&mut Object, &Object, &Request),
    /// Which names are allowed.
    pub(crate) name: fn(&str) -> Vec<String>,
    /// What is wrong with an object.
    pub(crate) validate: fn(&Object) -> Vec<FieldError>,
    /// What is wrong with a new object besides.
    pub(crate) validate_create: fn(&Object) -> Vec<FieldError>,
    /// What is wrong with a change (new, old), beside what is wrong with the new object.
    pub(crate) validate_change: fn(&Object, &Object) -> Vec<FieldError>,
    /// What is wrong with an update through `/status` (new, old).
    pub(crate) validate_status: fn(&Object, &Object) -> Vec<FieldError>,
    /// What the client should know.
    pub(crate) warnings: fn(&Object, Option<&Object>) -> Vec<String>,
    /// Last touches before the object is stored.
    pub(crate) canonicalize: fn(&mut Object),
    /// When the generation counts up.
    pub(crate) generation: Generation,
    /// See [`coracle_registry::Strategy::keeps_new_status`].
    pub(crate) keeps_new_status: bool,
    /// What an update through `/status` may not change: dotted paths.
    pub(crate) kept_by_status: &'static [&'static str],
    /// Last touches of an update through `/status` (new, old).
    pub(crate) prepare_status: fn(&mut Object, &Object, &Request),
    /// The paths that a write through the main path does not own, beside `status`.
    pub(crate) reset_fields: &'static [&'static str],
    /// Whether dependents stay when a delete says nothing.
    pub(crate) orphans_by_default: bool,
    /// What whoever deletes objects so should know.
    pub(crate) delete_warnings: fn(&DeleteOptions) -> Vec<String>,
    /// The folder in the store, where it is not `group/plural`.
    pub(crate) store_directory: Option<&'static str>,
    /// See [`coracle_registry::Strategy::deprecation`].
    pub(crate) deprecation: Option<&'static str>,
    /// How long objects live, in seconds; `None` for ever.
    pub(crate) time_to_live: Option<i64>,
    /// The fields that a selector may name.
    pub(crate) selectable: &'static [&'static str],
    /// The selectable fields by which many watch.
    pub(crate) indexed: &'static [&'static str],
    /// The value of a selectable field, where it does not stand at the path of its name.
    pub(crate) field: fn(&Object, &str) -> Option<String>,
    /// See [`coracle_registry::Strategy::hidden_annotations`].
    pub(crate) hidden_annotations: &'static [&'static str],
    /// The columns of the table; none for name and creation time.
    pub(crate) columns: &'static [Heading],
    /// The cells.
    pub(crate) cells: fn(&Object, Timestamp) -> Vec<Value>,
    /// The conditions of a row.
    pub(crate) row_conditions: fn(&Object) -> Vec<Value>,
}

impl Rules {
    /// The rules of a plain kind.
    pub(crate) const fn of(group: &'static str, version: &'static str, plural: &'static str) -> Self {
        Self {
            group,
            version,
            plural,
            set_defaults: |_| {},
            prepare_create: |_, _| {},
            prepare_update: |_, _, _| {},
            name: names::dns1123_subdomain,
            validate: |_| Vec::new(),
            validate_create: |_| Vec::new(),
            validate_change: |_, _| Vec::new(),
            validate_status: |_, _| Vec::new(),
            warnings: |_, _| Vec::new(),
            canonicalize: |_| {},
            generation: Generation::None,
            kept_by_status: &["spec"],
            prepare_status: |_, _, _| {},
            reset_fields: &[],
            orphans_by_default: false,
            delete_warnings: |_| Vec::new(),
            keeps_new_status: false,
            store_directory: None,
            deprecation: None,
            time_to_live: None,
            selectable: &[],
            indexed: &[],
            field: |_, _| None,
            hidden_annotations: &[],
            columns: &[],
            cells: |_, _| Vec::new(),
            row_conditions: |_| Vec::new(),
        }
    }

    /// The same rules in another version of the group.
    pub(crate) const fn in_version(self, version: &'static str) -> Self {
        Self { version, ..self }
    }
}

/// What `/status` keeps of kinds whose metadata it leaves alone. In Kubernetes: `metav1.ResetObjectMetaForStatus`.
pub(crate) const SPEC_AND_METADATA: &[&str] = &["spec", "metadata"];

/// The generation of most kinds.
pub(crate) const BY_SPEC: Generation = Generation::Fields(&["spec"]);

/// Drops fields that belong to features which are off by default: dotted paths.
pub(crate) fn drop_fields(object: &mut Object, paths: &[&str]) {
    for path in paths {
        let steps: Vec<&str> = path.split('.').collect();
        object.remove(&steps);
    }
}
