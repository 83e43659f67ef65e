//! The managed fields of an update that moves no field to another manager: the entries stay, and one gets a new time.
//!
//! Most updates are of this form: a lease that is renewed, a status that a controller writes again. Their entries need
//! not be decoded and encoded.

use std::cmp::Ordering;

use coracle_meta::parse_time;
use serde_json::{Map, Value};

use super::compare::Comparison;
use super::managers::ManagedFieldsOperation;
use super::path::PathElement;
use super::set::Set;

/// The writer of an update.
pub(super) struct Writer<'a> {
    pub(super) name: &'a str,
    pub(super) api_version: &'a str,
    pub(super) subresource: &'a str,
    /// The current time in the format of the API.
    pub(super) time: &'a str,
}

/// The entries after an update with these changes. `None` if a field may get another owner, or if the entries of
/// another version must be compared in that version; `entries` are those of the live object.
pub(super) fn renewed(
    entries: &[Value],
    writer: &Writer<'_>,
    comparison: &Comparison,
    never_owned: &Set,
) -> Option<Vec<Value>> {
    let changed = comparison.added.clone().union(&comparison.modified);
    let owned = changed.clone().difference(never_owned);
    let mut own = None;
    for (index, entry) in entries.iter().enumerate() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("");
        let operation = text("operation");
        if text("apiVersion") != writer.api_version || text("fieldsType") != "FieldsV1" {
            return None;
        }
        let fields = entry.get("fieldsV1")?.as_object()?;
        if !has_none(fields, &comparison.removed) {
            return None;
        }
        let is_own = text("manager") == writer.name
            && operation == ManagedFieldsOperation::Update.as_str()
            && text("subresource") == writer.subresource;
        if is_own && own.is_none() {
            if !has_all(fields, &owned) || !has_none(fields, &changed.intersection(never_owned)) {
                return None;
            }
            own = Some(index);
        } else if !has_none(fields, &changed) {
            return None;
        }
    }
    let mut entries = entries.to_vec();
    if owned.is_empty() {
        return Some(entries);
    }
    entries[own?].as_object_mut()?.insert("time".to_owned(), writer.time.into());
    entries.sort_by(order);
    Some(entries)
}

/// The order of entries: see [`encode`](super::managers::encode).
fn order(one: &Value, other: &Value) -> Ordering {
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let by = |name: &str| text(one, name).cmp(&text(other, name));
    let seconds = |entry: &Value| parse_time(&text(entry, "time")).map_or(0, |time| time.as_second());
    // "Apply" is before "Update".
    by("operation")
        .then_with(|| seconds(one).cmp(&seconds(other)))
        .then_with(|| by("manager"))
        .then_with(|| by("apiVersion"))
        .then_with(|| by("subresource"))
}

/// It is not certain whether a field is among others.
struct Uncertain;

/// The fields below a place, if the place is among `fields`. The keys of list items can be written in several ways.
fn below<'f>(
    fields: &'f Map<String, Value>,
    element: &PathElement,
) -> Result<Option<&'f Map<String, Value>>, Uncertain> {
    let is_item = |key: &String| !key.starts_with("f:") && key != ".";
    match fields.get(&element.serialized()) {
        Some(Value::Object(below)) => Ok(Some(below)),
        None if matches!(element, PathElement::Field(_)) || !fields.keys().any(is_item) => Ok(None),
        Some(_) | None => Err(Uncertain),
    }
}

fn is_member(fields: &Map<String, Value>) -> bool {
    fields.is_empty() || fields.contains_key(".")
}

/// Whether all fields of `set` are certain to be in `fields`.
fn has_all(fields: &Map<String, Value>, set: &Set) -> bool {
    set.steps().iter().all(|step| match below(fields, &step.element) {
        Ok(Some(below)) => (!step.is_member || is_member(below)) && has_all(below, &step.below),
        _ => false,
    })
}

/// Whether no field of `set` is in `fields`, for certain.
fn has_none(fields: &Map<String, Value>, set: &Set) -> bool {
    set.steps().iter().all(|step| match below(fields, &step.element) {
        Ok(Some(below)) => !(step.is_member && is_member(below)) && has_none(below, &step.below),
        Ok(None) => true,
        Err(Uncertain) => false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::apply::managed_fields::{self, Booking};
    use crate::apply::{Filter, OneVersion, Versions};

    /// The same kind, whose entries are always decoded.
    #[derive(Clone)]
    struct Decoded<'t>(OneVersion<'t>);

    impl<'t> Versions for Decoded<'t> {
        type Place = <OneVersion<'t> as Versions>::Place;

        fn may_change(&self) -> bool {
            true
        }

        fn place(&self, api_version: &str) -> Option<Self::Place> {
            self.0.place(api_version)
        }

        fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<std::borrow::Cow<'v, Value>> {
            self.0.convert(object, api_version)
        }

        fn filter(&self, api_version: &str) -> Filter {
            self.0.filter(api_version)
        }
    }

    /// A change of a pod by one of three managers: a field, and its value or nothing.
    #[derive(Clone, Debug)]
    struct Write {
        manager: &'static str,
        subresource: &'static str,
        field: &'static str,
        value: Option<u8>,
    }

    fn write() -> impl Strategy<Value = Write> {
        let fields = ["label-a", "label-b", "image", "sidecar", "ready", "scheduled", "phase", "owner", "name"];
        (
            proptest::sample::select(vec!["one", "two", ""]),
            proptest::sample::select(vec!["", "status"]),
            proptest::sample::select(fields.to_vec()),
            proptest::option::weighted(0.8, 0..3_u8),
        )
            .prop_map(|(manager, subresource, field, value)| Write { manager, subresource, field, value })
    }

    fn booking<V>(versions: V, write: &Write, index: usize) -> Booking<'static, V> {
        let time = format!("2026-01-01T00:00:{index:02}Z");
        Booking { versions, api_version: "v1", manager: write.manager, subresource: write.subresource, time }
    }

    fn pod(fields: &std::collections::BTreeMap<&str, u8>) -> Value {
        let text = |name: &str| fields.get(name).map(|value| format!("v{value}"));
        let mut containers = vec![json!({"name": "web", "image": text("image")})];
        containers.extend(text("sidecar").map(|image| json!({"name": "sidecar", "image": image})));
        let conditions: Vec<Value> = [("Ready", "ready"), ("PodScheduled", "scheduled")]
            .into_iter()
            .filter_map(|(kind, field)| Some(json!({"type": kind, "status": text(field)?})))
            .collect();
        let owners: Vec<Value> = text("owner").into_iter().map(|uid| json!({"uid": uid, "name": "o"})).collect();
        let labels: Map<String, Value> =
            ["label-a", "label-b"].into_iter().filter_map(|name| Some((name.to_owned(), text(name)?.into()))).collect();
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": text("name").unwrap_or_default(), "uid": "u", "labels": labels, "ownerReferences": owners},
            "spec": {"containers": containers},
            "status": {"phase": text("phase").unwrap_or_default(), "conditions": conditions},
        })
    }

    #[test]
    fn a_new_value_of_an_own_field_gives_the_entry_a_new_time_and_a_field_of_another_manager_does_not() {
        let entries = json!([
            {"manager": "a", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:01Z", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {".": {}, "f:x": {}}}},
            {"manager": "b", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:02Z", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:y": {}}}},
        ]);
        let entries = entries.as_array().unwrap();
        let change = |field| Comparison { modified: Set::of_fields(&[&["data", field]]), ..Comparison::default() };
        let writer = Writer { name: "a", api_version: "v1", subresource: "", time: "2026-01-01T00:00:03Z" };
        let after = renewed(entries, &writer, &change("x"), &Set::new()).unwrap();
        assert_eq!(after[0], entries[1]);
        assert_eq!((&after[1]["manager"], &after[1]["time"]), (&json!("a"), &json!("2026-01-01T00:00:03Z")));
        assert_eq!(renewed(entries, &writer, &change("y"), &Set::new()), None);
        assert_eq!(renewed(entries, &writer, &change("z"), &Set::new()), None);
        assert_eq!(renewed(entries, &Writer { api_version: "v2", ..writer }, &change("x"), &Set::new()), None);
    }

    proptest! {
        /// The entries are those that decoding, comparing and encoding gives.
        #[test]
        fn a_renewed_entry_is_the_one_that_is_written_anew(
            writes in proptest::collection::vec(write(), 1..12),
            keeps in proptest::collection::vec(any::<bool>(), 12)
        ) {
            let schema = crate::Table::newest().kind(&coracle_meta::GroupVersionKind::new("", "v1", "Pod")).unwrap();
            let mut fields = std::collections::BTreeMap::new();
            let mut live = json!({});
            for (index, (write, keeps)) in writes.iter().zip(keeps).enumerate() {
                match write.value {
                    Some(value) => drop(fields.insert(write.field, value)),
                    None => drop(fields.remove(write.field)),
                }
                let mut new = pod(&fields);
                if keeps && let Some(entries) = live.pointer("/metadata/managedFields") {
                    new["metadata"]["managedFields"] = entries.clone();
                }
                let versions = OneVersion { api_version: "v1", schema: &schema, filter: Filter::default() };
                let expected = managed_fields::update(&booking(Decoded(versions.clone()), write, index), &live, new.clone());
                let got = managed_fields::update(&booking(versions, write, index), &live, new);
                prop_assert_eq!(&got, &expected);
                live = got;
            }
        }
    }
}
