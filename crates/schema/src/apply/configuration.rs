//! The apply configurations of mutating policies, which own nothing.
//!
//! In Kubernetes: `apiserver/pkg/admission/plugin/policy/mutating/patch.ApplyStructuredMergeDiff`.

use serde_json::Value;

use super::merge::merge;
use super::path::PathElement;
use super::place::{ListForm, MapForm, Place, ValueForm};
use super::typed::{Duplicates, form_of, place_of_items, validate};

/// Merges an apply configuration into an object as server-side apply does, without managed fields.
///
/// # Errors
/// If the configuration does not match the kind or sets something that is owned as a whole, or if the object does not
/// match the kind.
pub fn merge_configuration<P: Place>(place: P, live: &Value, configuration: &Value) -> Result<Value, String> {
    validate(place, configuration, Duplicates::Refused)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomics = Vec::new();
    find_atomics(place, configuration, &mut String::new(), &mut atomics);
    if !atomics.is_empty() {
        let places = atomics.join(", ");
        return Err(format!("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}"));
    }
    validate(place, live, Duplicates::Allowed)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    Ok(merge(place, live, configuration))
}

/// The paths of all values that are owned as a whole. As in Kubernetes, entries of maps are not searched.
fn find_atomics<P: Place>(place: P, value: &Value, path: &mut String, atomics: &mut Vec<String>) {
    let length = path.len();
    match (form_of(place, Some(value)), value) {
        (ValueForm::Map(MapForm::Atomic), Value::Object(_))
        | (ValueForm::List(ListForm::Atomic), Value::Array(_))
        | (ValueForm::Opaque, Value::Object(_) | Value::Array(_)) => atomics.push(path.clone()),
        _ => {}
    }
    match value {
        Value::Object(fields) => {
            for (name, below) in fields {
                let Some(place) = place.field(name) else { continue };
                path.push_str(&PathElement::field(name).to_string());
                find_atomics(place, below, path, atomics);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            let Some(place) = place_of_items(place) else { return };
            for (index, item) in items.iter().enumerate() {
                path.push_str(&PathElement::Index(index as i64).to_string());
                find_atomics(place, item, path, atomics);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionKind;
    use serde_json::json;

    use super::*;
    use crate::Table;
    use crate::apply::TablePlace;

    fn merged(kind: &GroupVersionKind, live: &Value, configuration: &Value) -> Result<Value, String> {
        let schema = Table::newest().kind(kind).expect("the table has the kind");
        merge_configuration(TablePlace::root(&schema), live, configuration)
    }

    fn pod(live: &Value, configuration: &Value) -> Result<Value, String> {
        merged(&GroupVersionKind::new("", "v1", "Pod"), live, configuration)
    }

    #[test]
    fn items_are_merged_by_key_and_the_configuration_wins() {
        let live = json!({"metadata": {"name": "p", "labels": {"a": "1"}}, "spec": {"containers": [
            {"name": "c", "image": "old", "tty": true}, {"name": "d", "image": "d"}
        ]}});
        let configuration = json!({"metadata": {"labels": {"b": "2"}}, "spec": {"containers": [
            {"name": "c", "image": "new"}, {"name": "e", "image": "e"}
        ]}});
        let expected = json!({"metadata": {"name": "p", "labels": {"a": "1", "b": "2"}}, "spec": {"containers": [
            {"name": "c", "image": "new", "tty": true}, {"name": "d", "image": "d"}, {"name": "e", "image": "e"}
        ]}});
        assert_eq!(pod(&live, &configuration), Ok(expected));
    }

    #[test]
    fn what_is_owned_as_a_whole_cannot_be_set() {
        let why = |configuration: Value| pod(&json!({}), &configuration).unwrap_err();
        let prefix = "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs";
        let containers = json!({"spec": {"containers": [{"name": "a"}, {"name": "c", "command": ["x"], "args": []}]}});
        let expected = format!("{prefix}: .spec.containers[1].args, .spec.containers[1].command");
        assert_eq!(why(containers), expected);
        assert_eq!(why(json!({"spec": {"nodeSelector": {"a": "b"}}})), format!("{prefix}: .spec.nodeSelector"));
        let key = json!({"name": "e", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}});
        assert_eq!(
            why(json!({"spec": {"containers": [{"name": "c", "env": [key]}]}})),
            format!("{prefix}: .spec.containers[0].env[0].valueFrom.secretKeyRef")
        );
    }

    #[test]
    fn a_configuration_that_does_not_match_the_kind_is_refused() {
        let why = |configuration: Value| pod(&json!({}), &configuration).unwrap_err();
        let prefix = "failed to convert patch object to typed object";
        assert_eq!(
            why(json!({"spec": {"unknown": 1}})),
            format!("{prefix}: .spec.unknown: field not declared in schema")
        );
        assert_eq!(
            why(json!({"metadata": {"labels": {"a": 1}}})),
            format!("{prefix}: .metadata.labels.a: expected string, got &value.valueUnstructured{{Value:1}}")
        );
        assert_eq!(
            why(json!({"spec": {"containers": [{"name": "c"}, {"name": "c"}]}})),
            format!("{prefix}: .spec.containers: duplicate entries for key [name=\"c\"]")
        );
        assert!(pod(&json!({"spec": {"containers": [{"name": "c"}, {"name": "c"}]}}), &json!({"spec": {}})).is_ok());
    }
}
