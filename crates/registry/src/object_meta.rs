//! The rules of `metadata` for every kind. In Kubernetes: apimachinery `pkg/api/validation/objectmeta.go`.

use std::collections::BTreeSet;

use coracle_ambient::Ambient;
use coracle_meta::{FieldError, JsonKey, Object, Status, format_time, names};
use coracle_release::Release;
use serde_json::Value;

use crate::named_texts::{annotation_errors, label_errors};
use crate::owner_references::owner_errors;
use crate::{KindSpec, Request};

/// The finalizer of a deletion that waits for dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a deletion that orphans dependents.
pub(crate) const ORPHAN: &str = "orphan";
/// The maximum length of a name generated from `generateName`, without the suffix.
const GENERATED_BASE: usize = 58;

/// Drops the fields that only the API server sets.
pub(crate) fn wipe_system_fields(object: &mut Object) {
    for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object.remove(&["metadata", field]);
    }
}

/// The name of an object, or the prefix of the name that the API server generates for it.
pub fn base_name(object: &Object) -> &str {
    if object.name().is_empty() { object.text("metadata.generateName") } else { object.name() }
}

/// Sets the uid and the creation time of a new object.
pub(crate) fn fill_system_fields(object: &mut Object, request: &Request, ambient: &Ambient) {
    let uid = request.random(ambient, "uid", base_name(object)).uuid();
    object.set("metadata.uid", uid);
    object.set("metadata.creationTimestamp", format_time(request.now));
}

/// Generates a name from `generateName` if there is no name.
pub(crate) fn generate_name(object: &mut Object, request: &Request, ambient: &Ambient) {
    let base = object.text("metadata.generateName");
    if !base.is_empty() && object.name().is_empty() {
        let random = request.random(ambient, "name", base);
        let end =
            base.char_indices().map(|(at, _)| at).chain([base.len()]).take_while(|at| *at <= GENERATED_BASE).last();
        let name = format!("{}{}", &base[..end.unwrap_or(0)], random.name_suffix(5));
        object.set("metadata.name", name);
    }
}

/// Sets the namespace of the request; 400 if the object has another one.
pub(crate) fn ensure_namespace(object: &mut Object, namespace: &str, namespaced: bool) -> Result<(), Status> {
    let expected = if namespaced { namespace } else { "" };
    match object.namespace() {
        own if own == expected => Ok(()),
        "" => {
            object.set("metadata.namespace", expected);
            Ok(())
        }
        _ if expected.is_empty() => {
            object.remove("metadata.namespace");
            Ok(())
        }
        _ => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// 400 if the name in the body of a PUT is not that of the URL.
pub(crate) fn check_name(object: &Object, name: &str) -> Result<(), Status> {
    match object.name() {
        own if own == name => Ok(()),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        own => Err(Status::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Drops duplicate owner references, with a warning.
pub(crate) fn deduplicate_owners(object: &mut Object, request: &Request, after_admission: bool) {
    let Some(owners) = object.field("metadata.ownerReferences").and_then(Value::as_array) else { return };
    let mut seen = BTreeSet::new();
    let (kept, duplicates): (Vec<&Value>, Vec<&Value>) = owners.iter().partition(|owner| seen.insert(JsonKey(owner)));
    if duplicates.is_empty() {
        return;
    }
    let duplicates: Vec<&str> =
        duplicates.iter().map(|owner| owner.get("uid").and_then(Value::as_str).unwrap_or("")).collect();
    let kept: Vec<Value> = kept.into_iter().cloned().collect();
    let when = if after_admission { " after mutating admission happens" } else { "" };
    request.warnings.add(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ));
    object.set("metadata.ownerReferences", kept);
}

/// The errors of the parts of the metadata that are checked by their values alone.
struct ValueErrors {
    /// Of labels, annotations and owner references.
    before_finalizers: Vec<FieldError>,
    managed_fields: Vec<FieldError>,
}

impl ValueErrors {
    /// The errors of an object. What equals the metadata of `before`, if that is checked, has none.
    fn of(object: &Object, before: Option<&Object>, release: &Release) -> Self {
        let (mut before_finalizers, mut managed_fields) = (Vec::new(), Vec::new());
        let before = before.filter(|before| before.is_checked());
        let is_known = |path: &str| before.is_some_and(|before| before.field(path) == object.field(path));
        if !is_known("metadata.labels") {
            validate_labels(object, &mut before_finalizers);
        }
        if !is_known("metadata.annotations") {
            validate_annotations(object, &mut before_finalizers);
        }
        if !is_known("metadata.ownerReferences") {
            before_finalizers.extend(owner_errors(&object.owner_references(), release));
        }
        validate_managed_fields(object, &mut managed_fields, release);
        Self { before_finalizers, managed_fields }
    }
}

fn validate(
    object: &Object,
    namespaced: bool,
    check_name: impl Fn(&str) -> Vec<String>,
    of_values: &ValueErrors,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let base = object.text("metadata.generateName");
    if !base.is_empty() {
        // A prefix may end in a dash, because a suffix follows.
        let masked = base.strip_suffix('-').map_or_else(|| base.to_owned(), |start| format!("{start}a"));
        let wrong = check_name(&masked).into_iter();
        errors.extend(wrong.map(|what| FieldError::invalid("metadata.generateName", base, what)));
    }
    if object.name().is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else {
        let wrong = check_name(object.name()).into_iter();
        errors.extend(wrong.map(|what| FieldError::invalid("metadata.name", object.name(), what)));
    }
    validate_common(object, namespaced, &mut errors, of_values);
    errors
}

fn validate_common(object: &Object, namespaced: bool, errors: &mut Vec<FieldError>, of_values: &ValueErrors) {
    match (namespaced, object.namespace()) {
        (true, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (true, namespace) => {
            let wrong = names::dns1123_label(namespace).into_iter();
            errors.extend(wrong.map(|what| FieldError::invalid("metadata.namespace", namespace, what)));
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden("metadata.namespace", "not allowed on this type")),
    }
    errors.extend(negative_generation(object));
    errors.extend_from_slice(&of_values.before_finalizers);
    validate_finalizers(object, errors);
    errors.extend_from_slice(&of_values.managed_fields);
}

fn negative_generation(object: &Object) -> Option<FieldError> {
    let what = "must be greater than or equal to 0";
    let generation = object.generation();
    (generation < 0).then(|| FieldError::invalid("metadata.generation", generation, what))
}

fn validate_labels(object: &Object, errors: &mut Vec<FieldError>) {
    let labels = object.field("metadata.labels").and_then(Value::as_object);
    errors.extend(label_errors(labels, "metadata.labels"));
}

fn validate_annotations(object: &Object, errors: &mut Vec<FieldError>) {
    let annotations = object.field("metadata.annotations").and_then(Value::as_object);
    errors.extend(annotation_errors(annotations, "metadata.annotations"));
}

fn validate_finalizers(object: &Object, errors: &mut Vec<FieldError>) {
    const PATH: &str = "metadata.finalizers";
    let finalizers = object.finalizers();
    for finalizer in &finalizers {
        let wrong = names::qualified_name(finalizer).into_iter();
        errors.extend(wrong.map(|what| FieldError::invalid(PATH, finalizer.as_str(), what)));
    }
    if [ORPHAN, FOREGROUND].iter().all(|both| finalizers.iter().any(|own| own == both)) {
        let what = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid(PATH, finalizers, what));
    }
}

fn validate_managed_fields(object: &Object, errors: &mut Vec<FieldError>, release: &Release) {
    let entries = object.field("metadata.managedFields").and_then(Value::as_array);
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let path = |field: &str| format!("metadata.managedFields[{index}].{field}");
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or("");
        errors.extend(wrong_operation(text("operation"), || path("operation"), release));
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            let what = "must be `FieldsV1`";
            errors.push(FieldError::invalid(path("fieldsType"), text("fieldsType"), what));
        }
        errors.extend(field_manager_errors(text("manager"), || path("manager")));
        if text("subresource").len() > 256 {
            errors.push(FieldError::too_long(path("subresource"), 256));
        }
    }
}

fn wrong_operation(operation: &str, path: impl Fn() -> String, release: &Release) -> Option<FieldError> {
    const KNOWN: [&str; 2] = ["Apply", "Update"];
    match operation {
        known if KNOWN.contains(&known) => None,
        _ if !release.has("MetadataErrorsByField") => {
            Some(FieldError::invalid(path(), operation, "must be `Apply` or `Update`"))
        }
        "" => Some(FieldError::required(path(), "must not be empty")),
        _ => Some(FieldError::not_supported(path(), operation, &KNOWN)),
    }
}

/// The errors of the name of a field manager. In Kubernetes: `ValidateFieldManager`.
fn field_manager_errors(manager: &str, path: impl Fn() -> String) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(FieldError::too_long(path(), 128));
    }
    for (position, sign) in manager.char_indices().filter(|(_, sign)| sign.is_control()) {
        let what = format!("invalid character U+{:04X} (at position {position})", u32::from(sign));
        errors.push(FieldError::invalid(path(), manager, what));
    }
    errors
}

/// The errors of a change of the metadata. In Kubernetes: `ValidateObjectMetaAccessorUpdate`.
fn validate_change(new: &Object, old: &Object, release: &Release, of_values: &ValueErrors) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_terminating() {
        let before: BTreeSet<_> = old.finalizers().into_iter().collect();
        let added: BTreeSet<_> = new.finalizers().into_iter().filter(|own| !before.contains(own)).collect();
        if !added.is_empty() {
            let listed: Vec<_> = added.iter().map(|name| format!("{name:?}")).collect();
            let what = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                listed.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", what));
        }
    }
    if new.resource_version().is_empty() {
        errors.push(FieldError::invalid("metadata.resourceVersion", "", "must be specified for an update"));
    }
    if release.has("MetadataErrorsByField") {
        errors.extend(negative_generation(new));
    }
    if new.generation() < old.generation() {
        errors.push(FieldError::invalid("metadata.generation", new.generation(), "must not be decremented"));
    }
    const IMMUTABLE: [&str; 6] =
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    for name in IMMUTABLE {
        let path = ["metadata", name];
        if new.field(&path) != old.field(&path) {
            let value = new.field(&path).cloned().unwrap_or_else(|| absent(name));
            errors.push(FieldError::invalid(format!("metadata.{name}"), value, "field is immutable"));
        }
    }
    errors.extend_from_slice(&of_values.before_finalizers);
    errors.extend_from_slice(&of_values.managed_fields);
    errors
}

/// How Go prints a missing field: an empty text, or nil.
fn absent(name: &str) -> Value {
    if matches!(name, "name" | "namespace" | "uid") { Value::from("") } else { Value::Null }
}

/// The errors of the metadata of an update: of the new metadata and of the change. In Kubernetes, kinds validate the
/// change again, so its errors are reported twice.
pub(crate) fn validate_update(new: &Object, old: &Object, namespaced: bool, release: &Release) -> Vec<FieldError> {
    let of_values = ValueErrors::of(new, Some(old), release);
    let mut errors = validate(new, namespaced, names::path_segment, &of_values);
    let change = validate_change(new, old, release, &of_values);
    errors.extend(change.clone());
    errors.extend(change);
    errors
}

/// The errors of the metadata of a new object of a kind.
pub(crate) fn validate_new(object: &Object, namespaced: bool, spec: &KindSpec) -> Vec<FieldError> {
    let of_values = ValueErrors::of(object, None, &spec.release);
    let errors = validate(object, namespaced, spec.name, &of_values);
    if errors.is_empty() { validate(object, namespaced, names::path_segment, &of_values) } else { errors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(metadata: Value) -> Object {
        Object::from_value(json!({ "metadata": metadata })).unwrap()
    }

    fn of_new(object: &Object) -> Vec<FieldError> {
        validate(object, true, names::dns1123_subdomain, &ValueErrors::of(object, None, &Release::default()))
    }

    fn messages(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(FieldError::message).collect()
    }

    #[test]
    fn an_object_needs_a_name_and_a_namespace_where_it_lives_in_one() {
        let errors = of_new(&object(json!({})));
        assert_eq!(
            messages(&errors),
            ["metadata.name: Required value: name or generateName is required", "metadata.namespace: Required value"]
        );
    }

    #[test]
    fn a_generated_name_begins_with_its_prefix_and_fits_a_label() {
        let (ambient, resource) = (Ambient::seeded(1), coracle_meta::GroupVersionResource::new("", "v1", "pods"));
        let request = Request::new(crate::Verb::Create, resource, coracle_ambient::Timestamp::UNIX_EPOCH);
        let mut long = object(json!({"generateName": "a".repeat(80)}));
        generate_name(&mut long, &request, &ambient);
        assert_eq!(long.name().len(), 63);
        let mut named = object(json!({"generateName": "b-", "name": "mine"}));
        generate_name(&mut named, &request, &ambient);
        assert_eq!(named.name(), "mine");
    }

    #[test]
    fn a_prefix_may_end_in_a_dash_but_not_in_a_dot() {
        let dash = object(json!({"generateName": "a-", "name": "a-x", "namespace": "n"}));
        assert!(of_new(&dash).is_empty());
        let dot = object(json!({"generateName": "a.", "name": "a.x", "namespace": "n"}));
        assert_eq!(of_new(&dot).len(), 1);
    }

    #[test]
    fn owners_that_are_there_twice_are_dropped_from_lists_of_any_length() {
        let owner = |at: usize| json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": at.to_string()});
        let owners: Vec<Value> = (0..30_000).chain([5, 5]).map(owner).collect();
        let mut object = object(json!({"name": "a", "ownerReferences": owners}));
        let resource = coracle_meta::GroupVersionResource::new("", "v1", "pods");
        let request = Request::new(crate::Verb::Create, resource, coracle_ambient::Timestamp::UNIX_EPOCH);
        deduplicate_owners(&mut object, &request, false);
        assert_eq!(object.field("metadata.ownerReferences").unwrap(), &json!(owners[..30_000]));
        assert!(request.warnings.texts()[0].ends_with("duplicate UID(s) observed: 5, 5"));
    }

    #[test]
    fn no_finalizer_is_added_to_a_terminating_object() {
        let old = object(json!({"name": "a", "resourceVersion": "1", "deletionTimestamp": "t", "finalizers": ["x/a"]}));
        let mut new = old.clone();
        new.set_finalizers(vec!["x/a".to_owned(), "x/c".to_owned()]);
        assert_eq!(
            messages(&change_errors(&new, &old)),
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x/c\"}"
            ]
        );
    }

    fn change_errors(new: &Object, old: &Object) -> Vec<FieldError> {
        let release = Release::default();
        validate_change(new, old, &release, &ValueErrors::of(new, None, &release))
    }

    #[test]
    fn errors_of_values_are_reported_in_their_order_for_the_object_and_twice_for_the_change() {
        let old = object(json!({"name": "a", "namespace": "n", "resourceVersion": "1"}));
        let mut new = old.clone();
        new.set("metadata.labels", json!({"-": "a"}));
        new.set("metadata.finalizers", json!(["-"]));
        new.set("metadata.managedFields", json!([{"operation": "Patch"}]));
        let errors = validate_update(&new, &old, true, &Release::default());
        let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
        let (labels, managed) = ("metadata.labels", "metadata.managedFields[0].operation");
        assert_eq!(fields, [labels, "metadata.finalizers", managed, labels, managed, labels, managed]);
    }

    #[test]
    fn only_metadata_that_equals_that_of_a_checked_object_is_not_checked_again() {
        let labels = |name: &str| object(json!({"name": "a", "namespace": "n", "labels": {name: "a"}}));
        let wrong = |new: &Object, old: &Object| {
            let errors = ValueErrors::of(new, Some(old), &Release::default());
            errors.before_finalizers.len()
        };
        assert_eq!(wrong(&labels("-"), &labels("-")), 1);
        assert_eq!(wrong(&labels("-"), &labels("b").checked()), 1);
        assert_eq!(wrong(&labels("-"), &labels("-").checked()), 0);
    }
}
