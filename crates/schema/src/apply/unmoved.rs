//! The managed fields of an update that gives no field another owner: the entries stay, and one gets a new time.
//!
//! Most updates are of this form: a lease that is renewed, a status that a controller writes again. Their entries need
//! not be decoded and encoded.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::compare::Comparison;
use super::fields_v1::MAX_DEPTH;
use super::managers::{MAX_UPDATE_MANAGERS, ManagedFieldsOperation, sort_key};
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

/// The entries after an update with these changes; `entries` are those of the live object. `None` if decoding them,
/// comparing and encoding could give anything else than a new time: a field may get another owner, an entry has another
/// version or is not written as this server writes it.
///
/// Unlike Kubernetes: sets of another release are not adapted to the schema until a write changes an owner.
pub(super) fn with_new_time(
    entries: &[Value],
    writer: &Writer<'_>,
    comparison: &Comparison,
    never_owned: &Set,
) -> Option<Vec<Value>> {
    let changed = comparison.added.clone().union(&comparison.modified);
    let owned = changed.clone().difference(never_owned);
    let mut identities = BTreeSet::new();
    let (mut own, mut updaters) = (None, 0);
    for (index, entry) in entries.iter().enumerate() {
        let entry = entry.as_object().filter(|entry| is_canonical(entry))?;
        let (manager, operation, subresource) =
            (text(entry, "manager"), text(entry, "operation"), text(entry, "subresource"));
        if text(entry, "apiVersion") != writer.api_version || !identities.insert((manager, operation, subresource)) {
            return None;
        }
        let is_update = operation == ManagedFieldsOperation::Update.as_str();
        updaters += usize::from(is_update);
        let fields = entry.get("fieldsV1")?.as_object()?;
        if !has_none(fields, &comparison.removed) {
            return None;
        }
        if is_update && manager == writer.name && subresource == writer.subresource {
            if !has_all(fields, &owned) || !has_none(fields, &changed.intersection(never_owned)) {
                return None;
            }
            own = Some(index);
        } else if !has_none(fields, &changed) {
            return None;
        }
    }
    if updaters > MAX_UPDATE_MANAGERS {
        return None;
    }
    let mut entries = entries.to_vec();
    if !owned.is_empty() {
        entries[own?].as_object_mut()?.insert("time".to_owned(), writer.time.into());
    }
    entries.sort_by(order);
    Some(entries)
}

/// Whether an entry is as [`encode`](super::managers::encode) writes it.
fn is_canonical(entry: &Map<String, Value>) -> bool {
    const MEMBERS: [&str; 7] = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let is_known = |(name, value): (&String, &Value)| {
        MEMBERS.contains(&name.as_str()) && (name == "fieldsV1" || value.as_str().is_some_and(|text| !text.is_empty()))
    };
    let fields = entry.get("fieldsV1").and_then(Value::as_object);
    entry.iter().all(is_known)
        && entry.contains_key("manager")
        && ["Apply", "Update"].contains(&text(entry, "operation"))
        && text(entry, "fieldsType") == "FieldsV1"
        && fields.is_some_and(|fields| !fields.is_empty() && are_canonical(fields, 0))
}

/// Whether fields are as [`to_json`](super::fields_v1::to_json) writes them.
fn are_canonical(fields: &Map<String, Value>, depth: usize) -> bool {
    let is_same = |name: &str| matches!(PathElement::parse(name), Ok(Some(element)) if element.serialized() == name);
    depth < MAX_DEPTH
        && fields.iter().all(|(name, below)| match below.as_object() {
            Some(below) if name == "." => depth > 0 && below.is_empty() && fields.len() > 1,
            Some(below) => (name.starts_with("f:") || is_same(name)) && are_canonical(below, depth + 1),
            None => false,
        })
}

fn text<'e>(entry: &'e Map<String, Value>, name: &str) -> &'e str {
    entry.get(name).and_then(Value::as_str).unwrap_or("")
}

fn order(one: &Value, other: &Value) -> Ordering {
    fn key(entry: &Value) -> impl Ord {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let [operation, name, api_version, subresource] =
            ["operation", "manager", "apiVersion", "subresource"].map(|name| text(name).unwrap_or(""));
        sort_key(operation, text("time"), name, api_version, subresource)
    }
    key(one).cmp(&key(other))
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

        fn schema_may_change(&self) -> bool {
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

    /// A write to a pod: a field, and its value or nothing.
    #[derive(Clone, Debug)]
    struct Write {
        manager: String,
        subresource: &'static str,
        field: &'static str,
        value: Option<u8>,
        /// The entries of the request: none, those of the live object, or a reset.
        sent: u8,
        /// What another program does to the stored entries first.
        spoils: Option<u8>,
    }

    fn write() -> impl Strategy<Value = Write> {
        let fields = ["label-a", "label-b", "image", "sidecar", "ready", "scheduled", "phase", "owner", "name"];
        let managers = ["one", "two", "", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        (
            proptest::sample::select(managers.to_vec()),
            proptest::sample::select(vec!["", "status"]),
            proptest::sample::select(fields.to_vec()),
            proptest::option::weighted(0.8, 0..3_u8),
            prop_oneof![4 => Just(0), 4 => Just(1), 1 => Just(2), 1 => Just(3)],
            proptest::option::weighted(0.1, 0..8_u8),
        )
            .prop_map(|(manager, subresource, field, value, sent, spoils)| {
                let manager = manager.to_owned();
                Write { manager, subresource, field, value, sent, spoils }
            })
    }

    /// Entries that this server does not write.
    fn spoil(live: &mut Value, how: u8) {
        let Some(entries) = live.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) else { return };
        let Some(last) = entries.last().cloned() else { return };
        let mut other = last;
        match how {
            0 => {}
            1 => other["fieldsV1"] = json!({}),
            2 => other["operation"] = json!("Patch"),
            3 => other["subresource"] = json!(""),
            4 => other["fieldsV1"]["f:metadata"] = json!({".": {}}),
            5 => other["fieldsV1"]["x:odd"] = json!({}),
            6 => other["apiVersion"] = json!("v2"),
            _ => other["fieldsV1"]["f:spec"] = Value::Null,
        }
        entries.push(other);
        if how % 2 == 1 {
            entries.remove(0);
        }
    }

    fn booking<V>(versions: V, write: &Write, index: usize) -> Booking<'_, V> {
        let time = format!("2026-01-01T00:00:{index:02}Z");
        Booking { versions, api_version: "v1", manager: &write.manager, subresource: write.subresource, time }
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
        let after = with_new_time(entries, &writer, &change("x"), &Set::new()).unwrap();
        assert_eq!(after[0], entries[1]);
        assert_eq!((&after[1]["manager"], &after[1]["time"]), (&json!("a"), &json!("2026-01-01T00:00:03Z")));
        assert_eq!(with_new_time(entries, &writer, &change("y"), &Set::new()), None);
        assert_eq!(with_new_time(entries, &writer, &change("z"), &Set::new()), None);
        assert_eq!(with_new_time(entries, &Writer { api_version: "v2", ..writer }, &change("x"), &Set::new()), None);
    }

    proptest! {
        /// The entries are those that decoding, comparing and encoding gives.
        #[test]
        fn a_renewed_entry_is_the_one_that_is_written_anew(
            writes in proptest::collection::vec(write(), 1..20)
        ) {
            let schema = crate::Table::newest().kind(&coracle_meta::GroupVersionKind::new("", "v1", "Pod")).unwrap();
            let mut fields = std::collections::BTreeMap::new();
            let mut live = json!({});
            for (index, write) in writes.iter().enumerate() {
                match write.value {
                    Some(value) => drop(fields.insert(write.field, value)),
                    None => drop(fields.remove(write.field)),
                }
                write.spoils.into_iter().for_each(|how| spoil(&mut live, how));
                let mut new = pod(&fields);
                let entries = live.pointer("/metadata/managedFields").cloned();
                match (write.sent, entries) {
                    (1, Some(entries)) => new["metadata"]["managedFields"] = entries,
                    (2, _) => new["metadata"]["managedFields"] = json!([]),
                    (3, _) => new["metadata"]["managedFields"] = json!([{}]),
                    _ => {}
                }
                let filter = match write.subresource {
                    "" => Filter::except(&[&["status"]]),
                    _ => Filter::except(&[&["spec"]]),
                };
                let versions = OneVersion { api_version: "v1", schema: &schema, filter };
                let decoded = booking(Decoded(versions.clone()), write, index);
                let expected = managed_fields::update(&decoded, &live, new.clone());
                live = managed_fields::update(&booking(versions, write, index), &live, new);
                prop_assert_eq!(&live, &expected);
            }
        }
    }
}
