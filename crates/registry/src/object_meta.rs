//! The rules of `metadata` for every kind. In Kubernetes: apimachinery `pkg/api/validation/objectmeta.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_meta::{FieldError, JsonKey, Object, OwnerReference, Status, format_time, names};
use serde_json::Value;

use crate::named_texts::{annotation_errors, label_errors};
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

/// The errors of the metadata of a new object.
pub(crate) fn validate(object: &Object, namespaced: bool, check_name: impl Fn(&str) -> Vec<String>) -> Vec<FieldError> {
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
    validate_common(object, namespaced, &mut errors);
    errors
}

fn validate_common(object: &Object, namespaced: bool, errors: &mut Vec<FieldError>) {
    match (namespaced, object.namespace()) {
        (true, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (true, namespace) => {
            let wrong = names::dns1123_label(namespace).into_iter();
            errors.extend(wrong.map(|what| FieldError::invalid("metadata.namespace", namespace, what)));
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden("metadata.namespace", "not allowed on this type")),
    }
    if object.generation() < 0 {
        let what = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("metadata.generation", object.generation(), what));
    }
    validate_labels(object, errors);
    validate_annotations(object, errors);
    validate_owners(object, errors);
    validate_finalizers(object, errors);
    validate_managed_fields(object, errors);
}

fn validate_labels(object: &Object, errors: &mut Vec<FieldError>) {
    let labels = object.field("metadata.labels").and_then(Value::as_object);
    errors.extend(label_errors(labels, "metadata.labels"));
}

fn validate_annotations(object: &Object, errors: &mut Vec<FieldError>) {
    let annotations = object.field("metadata.annotations").and_then(Value::as_object);
    errors.extend(annotation_errors(annotations, "metadata.annotations"));
}

fn validate_owners(object: &Object, errors: &mut Vec<FieldError>) {
    const PATH: &str = "metadata.ownerReferences";
    let mut first: Option<String> = None;
    // Each error about a second controller repeats all owners.
    let mut all: Option<Arc<str>> = None;
    let owners = object.owner_references();
    for owner in &owners {
        let version = coracle_meta::GroupVersion::parse(&owner.api_version).map(|parsed| parsed.version);
        if version.is_none_or(|version| version.is_empty()) {
            let field = format!("{PATH}.apiVersion");
            errors.push(FieldError::invalid(field, owner.api_version.as_str(), "version must not be empty"));
        }
        for (name, value) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
            if value.is_empty() {
                errors.push(FieldError::invalid(format!("{PATH}.{name}"), "", "must not be empty"));
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            let what = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(PATH, Value::Null, what).printed_as(go_owner(owner)));
        }
        if owner.controller == Some(true) {
            let name = format!("{}/{}", owner.kind, owner.name);
            match &first {
                None => first = Some(name),
                Some(first) => {
                    let what = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                    );
                    let print = || format!("[{}]", owners.iter().map(go_owner).collect::<Vec<_>>().join(",")).into();
                    let printed = Arc::clone(all.get_or_insert_with(print));
                    errors.push(FieldError::invalid(PATH, Value::Null, what).printed_as(printed));
                }
            }
        }
    }
}

/// An owner reference as Go prints it: the fields in the order of the struct.
fn go_owner(owner: &OwnerReference) -> String {
    let text = |value: &str| Value::from(value).to_string();
    let mut printed = format!(
        "{{\"apiVersion\":{},\"kind\":{},\"name\":{},\"uid\":{}",
        text(&owner.api_version),
        text(&owner.kind),
        text(&owner.name),
        text(&owner.uid)
    );
    for (name, value) in [("controller", owner.controller), ("blockOwnerDeletion", owner.block_owner_deletion)] {
        if let Some(value) = value {
            printed.push_str(&format!(",\"{name}\":{value}"));
        }
    }
    printed.push('}');
    printed
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

fn validate_managed_fields(object: &Object, errors: &mut Vec<FieldError>) {
    let entries = object.field("metadata.managedFields").and_then(Value::as_array);
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let path = format!("metadata.managedFields[{index}]");
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or("");
        if !matches!(text("operation"), "Apply" | "Update") {
            let what = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(format!("{path}.operation"), text("operation"), what));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            let what = "must be `FieldsV1`";
            errors.push(FieldError::invalid(format!("{path}.fieldsType"), text("fieldsType"), what));
        }
        errors.extend(field_manager_errors(text("manager"), &format!("{path}.manager")));
        if text("subresource").len() > 256 {
            errors.push(FieldError::too_long(format!("{path}.subresource"), 256));
        }
    }
}

/// The errors of the name of a field manager. In Kubernetes: `ValidateFieldManager`.
fn field_manager_errors(manager: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(FieldError::too_long(path, 128));
    }
    for (position, sign) in manager.char_indices().filter(|(_, sign)| sign.is_control()) {
        let what = format!("invalid character U+{:04X} (at position {position})", u32::from(sign));
        errors.push(FieldError::invalid(path, manager, what));
    }
    errors
}

/// The errors of a change of the metadata. In Kubernetes: `ValidateObjectMetaAccessorUpdate`.
pub(crate) fn validate_change(new: &Object, old: &Object) -> Vec<FieldError> {
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
    validate_labels(new, &mut errors);
    validate_annotations(new, &mut errors);
    validate_owners(new, &mut errors);
    validate_managed_fields(new, &mut errors);
    errors
}

/// How Go prints a missing field: an empty text, or nil.
fn absent(name: &str) -> Value {
    if matches!(name, "name" | "namespace" | "uid") { Value::from("") } else { Value::Null }
}

/// The errors of the metadata of an update: of the new metadata and of the change. In Kubernetes, kinds validate the
/// change again, so its errors are reported twice.
pub(crate) fn validate_update(new: &Object, old: &Object, namespaced: bool) -> Vec<FieldError> {
    let mut errors = validate(new, namespaced, names::path_segment);
    let change = validate_change(new, old);
    errors.extend(change.clone());
    errors.extend(change);
    errors
}

/// The errors of the metadata of a new object of a kind.
pub(crate) fn validate_new(object: &Object, namespaced: bool, spec: &KindSpec) -> Vec<FieldError> {
    let errors = validate(object, namespaced, spec.name);
    if errors.is_empty() { validate(object, namespaced, names::path_segment) } else { errors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(metadata: Value) -> Object {
        Object::from_value(json!({ "metadata": metadata })).unwrap()
    }

    fn messages(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(FieldError::message).collect()
    }

    #[test]
    fn an_object_needs_a_name_and_a_namespace_where_it_lives_in_one() {
        let errors = validate(&object(json!({})), true, names::dns1123_subdomain);
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
        assert!(validate(&dash, true, names::dns1123_subdomain).is_empty());
        let dot = object(json!({"generateName": "a.", "name": "a.x", "namespace": "n"}));
        assert_eq!(validate(&dot, true, names::dns1123_subdomain).len(), 1);
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
    fn errors_about_many_controllers_share_what_they_print() {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true});
        let errors =
            validate_change(&object(json!({"name": "a", "ownerReferences": vec![owner; 3_000]})), &object(json!({})));
        let printed: Vec<_> = errors.iter().filter_map(|error| error.printed.as_ref()).collect();
        assert_eq!(printed.len(), 2_999);
        assert!(printed.iter().all(|text| Arc::ptr_eq(text, printed[0])));
    }

    #[test]
    fn no_finalizer_is_added_to_a_terminating_object() {
        let old = object(json!({"name": "a", "resourceVersion": "1", "deletionTimestamp": "t", "finalizers": ["x/a"]}));
        let mut new = old.clone();
        new.set_finalizers(vec!["x/a".to_owned(), "x/c".to_owned()]);
        assert_eq!(
            messages(&validate_change(&new, &old)),
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x/c\"}"
            ]
        );
    }
}
