use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use coracle_journal::{Detail, Recorder, Stage, subject};
use coracle_meta::Object;
use coracle_store::Revision;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Change;
use crate::fresh::Fresh;
use crate::merge_patch::{merge_patch, merge_patch_but};

/// After so many changes an object is written down whole, so that nobody has to read further back.
const WHOLE_EVERY: u32 = 100;
/// Who the follower of the store is in the event log.
const ACTOR: &str = "world";
/// Stands for a value that is left out.
pub(crate) const LEFT_OUT: &str = "…";
/// Where `kubectl apply` keeps what it sent, secrets too.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Writes what objects look like to the event log: a line a change.
#[derive(Debug, Default)]
pub(crate) struct ObjectChanges {
    recorder: Recorder,
    /// How many changes ago each object was written down whole.
    since_whole: BTreeMap<Bytes, u32>,
}

/// Where an object says who owns which of its fields.
pub(crate) const MANAGERS: [&str; 2] = ["metadata", "managedFields"];

/// What is said of an object: itself without what is secret, and apart from it who owns which of its fields.
pub(crate) struct Seen<'o> {
    object: Cow<'o, Map<String, Value>>,
    managers: &'o [Value],
    redacted: Vec<String>,
}

impl ObjectChanges {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder, since_whole: BTreeMap::new() }
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Writes down an object that was not there before.
    pub(crate) fn record_fresh(&mut self, plural: &str, key: &Bytes, revision: Revision, fresh: &Fresh<'_>) {
        self.since_whole.insert(key.clone(), 0);
        let causes = self.recorder.commit(revision);
        self.recorder.record(ACTOR, Stage::ObjectChange, || {
            let detail = Detail::about(subject(plural, fresh.namespace(), fresh.name())).at(revision).caused_by(causes);
            with_managers(detail.with_json("whole", fresh), &fresh.managers())
        });
    }

    /// Writes down what has changed in an object, whose kind has this plural.
    pub(crate) fn record(&mut self, plural: &str, change: &Change) {
        if !self.recorder.is_on() {
            return;
        }
        let Some(object) = change.after.as_ref().or(change.before.as_ref()) else { return };
        let causes = self.recorder.commit(change.revision);
        let detail =
            Detail::about(subject(plural, object.namespace(), object.name())).at(change.revision).caused_by(causes);
        let Some(after) = change.after.as_deref().and_then(Seen::of) else {
            self.since_whole.remove(&change.key);
            self.recorder.record(ACTOR, Stage::ObjectChange, || detail.with("gone", true));
            return;
        };
        let since = self.since_whole.entry(change.key.clone()).or_default();
        let before = change.before.as_deref().filter(|_| *since + 1 < WHOLE_EVERY).and_then(Seen::of);
        let mut detail = match before.and_then(|before| after.since(&before)) {
            Some((patch, managers)) => {
                *since += 1;
                with_managers(detail.with_json("patch", &patch), &managers.iter().collect())
            }
            None => {
                *since = 0;
                with_managers(detail.with_json("whole", &after), &after.managers())
            }
        };
        if !after.redacted.is_empty() {
            detail = detail.with("redacted", after.redacted);
        }
        self.recorder.record(ACTOR, Stage::ObjectChange, || detail);
    }
}

impl<'o> Seen<'o> {
    /// `None` for what is no map.
    pub(crate) fn of(object: &'o Object) -> Option<Self> {
        let object = object.as_value().as_object()?;
        let managers = object.get(MANAGERS[0]).and_then(|metadata| metadata.get(MANAGERS[1])).and_then(Value::as_array);
        let mut seen =
            Self { object: Cow::Borrowed(object), managers: managers.map_or(&[], Vec::as_slice), redacted: Vec::new() };
        let word = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        if is_secret(word("apiVersion"), word("kind")) {
            seen.redacted = redact(seen.object.to_mut());
        }
        Some(seen)
    }

    pub(crate) fn managers(&self) -> BTreeMap<String, &'o Value> {
        self.managers.iter().filter_map(owned).collect()
    }

    /// The merge patches that make it and its managers of what was before; `None` if there are none.
    fn since(&self, before: &Seen<'_>) -> Option<(Map<String, Value>, Map<String, Value>)> {
        let managers = match before.managers == self.managers {
            true => Map::new(),
            false => {
                let tree = |seen: &Seen<'_>| {
                    seen.managers().into_iter().map(|(name, fields)| (name, fields.clone())).collect()
                };
                merge_patch(&tree(before), &tree(self))?
            }
        };
        Some((merge_patch_but(&before.object, &self.object, &MANAGERS)?, managers))
    }
}

/// The object, without its managers.
impl Serialize for Seen<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.object.iter().map(|(name, value)| match value {
            Value::Object(metadata) if name == MANAGERS[0] => (name, Part::Metadata(Metadata(metadata))),
            value => (name, Part::Other(value)),
        }))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'o> {
    Metadata(Metadata<'o>),
    Other(&'o Value),
}

/// Metadata, without who owns which fields.
struct Metadata<'o>(&'o Map<String, Value>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(name, _)| *name != MANAGERS[1]))
    }
}

/// The name of a manager and the fields that it owns.
fn owned(manager: &Value) -> Option<(String, &Value)> {
    let fields = manager.get("fieldsV1").filter(|fields| !fields.is_null())?;
    let word = |name: &str| manager.get(name).and_then(Value::as_str).unwrap_or_default();
    Some((owner(word("manager"), word("operation"), word("subresource")), fields))
}

/// Who owns fields, as the log calls them: a manager owns apart what it applies, what it updates, and that of each subresource.
pub(crate) fn owner(manager: &str, operation: &str, subresource: &str) -> String {
    [manager, operation, subresource].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

fn with_managers<N: Ord + Serialize, F: Serialize>(detail: Detail, managers: &BTreeMap<N, F>) -> Detail {
    if managers.is_empty() { detail } else { detail.with_json("managers", managers) }
}

pub(crate) fn is_secret(api_version: &str, kind: &str) -> bool {
    (api_version, kind) == ("v1", "Secret")
}

/// Takes out what is secret, and says from where; the names stay.
fn redact(secret: &mut Map<String, Value>) -> Vec<String> {
    let mut redacted = Vec::new();
    for field in ["data", "stringData"] {
        match secret.get_mut(field) {
            None => {}
            Some(Value::Object(values)) => {
                for (name, value) in values {
                    redacted.push(format!("{field}.{name}"));
                    *value = LEFT_OUT.into();
                }
            }
            Some(other) => {
                redacted.push(field.to_owned());
                *other = LEFT_OUT.into();
            }
        }
    }
    let annotations = secret.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(applied) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        redacted.push(format!("metadata.annotations.{LAST_APPLIED}"));
        *applied = LEFT_OUT.into();
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::EntryId;
    use serde_json::json;
    use std::sync::Arc;

    fn object(value: Value) -> Arc<Object> {
        Arc::new(Object::from_value(value).unwrap())
    }

    fn pod(labels: Value) -> Arc<Object> {
        let managed = json!([
            {"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:metadata": labels}},
        ]);
        object(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "namespace": "default", "labels": labels, "managedFields": managed},
        }))
    }

    fn written(
        changes: impl IntoIterator<Item = (Option<Arc<Object>>, Option<Arc<Object>>)>,
    ) -> Vec<Map<String, Value>> {
        let recorder = Recorder::ring(1_000);
        let mut follower = ObjectChanges::new(recorder.clone());
        for (index, (before, after)) in changes.into_iter().enumerate() {
            let change = Change { key: Bytes::from_static(b"a"), revision: index as i64 + 2, before, after };
            follower.record("pods", &change);
        }
        let entries = recorder.entries(EntryId(0));
        assert!(entries.iter().all(|entry| entry.subject == "pods/default/a"));
        assert!(entries.iter().all(|entry| entry.stage.broken_promise(&entry.data).is_none()));
        entries.into_iter().map(|entry| entry.data).collect()
    }

    #[test]
    fn an_object_is_written_whole_then_by_what_changes_with_its_managers_apart() {
        let (a, b) = (pod(json!({"a": "1", "b": "2"})), pod(json!({"a": "1", "c": "3"})));
        let lines = written([(None, Some(a.clone())), (Some(a), Some(b.clone())), (Some(b), None)]);
        assert_eq!(
            lines[0]["whole"]["metadata"],
            json!({"name": "a", "namespace": "default", "labels": {"a": "1", "b": "2"}})
        );
        assert_eq!(lines[0]["managers"]["kubelet/Update/status"], json!({"f:status": {}}));
        assert_eq!(lines[1]["patch"], json!({"metadata": {"labels": {"b": null, "c": "3"}}}));
        assert_eq!(lines[1]["managers"], json!({"kubectl/Apply": {"f:metadata": {"b": null, "c": "3"}}}));
        assert_eq!(Value::Object(lines[2].clone()), json!({"gone": true}));
    }

    #[test]
    fn every_hundredth_change_is_written_whole() {
        let states: Vec<_> = (0..251).map(|number| pod(json!({"n": number.to_string()}))).collect();
        let before = std::iter::once(None).chain(states.iter().cloned().map(Some));
        let lines = written(before.zip(states.iter().cloned().map(Some)));
        let whole: Vec<usize> = (0..251).filter(|index| lines[*index].contains_key("whole")).collect();
        assert_eq!(whole, [0, 100, 200]);
    }

    #[test]
    fn what_is_in_a_secret_is_left_out_before_it_is_written() {
        let applied = json!({LAST_APPLIED: "{\"data\":{\"token\":\"bWFyaw==\"}}"});
        let metadata = json!({"name": "a", "namespace": "default", "annotations": applied});
        let of = |value: &str| {
            let (data, plain) = (json!({"token": value}), json!({"key": value}));
            object(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data, "stringData": plain}),
            )
        };
        let lines = written([(None, Some(of("bWFyaw=="))), (Some(of("bWFyaw==")), Some(of("bWFyaw==2")))]);
        let all = format!("{lines:?}");
        assert!(!all.contains("bWFyaw"), "{all}");
        assert_eq!(lines[0]["whole"]["data"], json!({"token": LEFT_OUT}));
        assert_eq!(lines[0]["redacted"].as_array().unwrap().len(), 3);
    }
}
