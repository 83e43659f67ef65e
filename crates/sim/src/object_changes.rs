use coracle_journal::{Detail, Recorder, Stage, subject};
use coracle_store::{Event, EventKind};

use crate::PluralOf;
use crate::seen::{Seen, Shown};

/// After this many changes an object is recorded completely, so that readers do not have to go back further.
const WHOLE_EVERY: i64 = 100;
/// The actor of the follower of the store in the event log.
const ACTOR: &str = "world";

/// Records the objects in the event log: one entry per change.
#[derive(Debug, Default)]
pub(crate) struct ObjectChanges {
    recorder: Recorder,
}

impl ObjectChanges {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder }
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Records how an event of the store has changed an object. Without the value before it, the complete object is
    /// recorded.
    pub(crate) fn record(&self, event: &Event, plural_of: &PluralOf) {
        if !self.recorder.is_on() {
            return;
        }
        let kv = &event.kv;
        let after = if event.kind == EventKind::Put { Shown::of(kv) } else { None };
        let is_whole = after.is_some() && kv.version % WHOLE_EVERY == 1;
        let before = event.prev_kv.as_ref().filter(|_| !is_whole).and_then(Shown::of);
        let (was, is) = (before.as_ref().and_then(Shown::seen), after.as_ref().and_then(Shown::seen));
        let Some(seen) = is.as_ref().or(was.as_ref()) else { return };
        let Some(plural) = plural_of(&seen.api_version(), &seen.kind()) else { return };
        let detail = Detail::about(subject(&plural, &seen.namespace(), &seen.name())).at(kv.mod_revision);
        let detail = detail.caused_by(self.recorder.commit(kv.mod_revision));
        self.recorder.record(ACTOR, Stage::ObjectChange, || match &is {
            None => detail.with("gone", true),
            Some(is) => changed(detail, was.as_ref(), is),
        });
    }
}

fn changed(detail: Detail, was: Option<&Seen<'_>>, is: &Seen<'_>) -> Detail {
    let (detail, managers) = match was.and_then(|was| is.since(was)) {
        Some((patch, managers)) => (detail.with_raw_json("patch", patch), managers),
        None => (detail.with_raw_json("whole", is.whole()), is.managers()),
    };
    let managers = managers.filter(|managers| managers != "{}");
    let detail = managers.into_iter().fold(detail, |detail, managers| detail.with_raw_json("managers", managers));
    if is.redacted.is_empty() { detail } else { detail.with("redacted", is.redacted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::EntryId;
    use coracle_store::KeyValue;
    use serde_json::{Map, Value, json};
    use std::sync::Arc;

    fn pod(labels: Value) -> Value {
        let managed = json!([
            {"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:metadata": labels}},
        ]);
        json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": "a", "namespace": "default", "labels": labels, "managedFields": managed},
        })
    }

    /// What is written of an object that becomes one state after the other, and is gone at the end.
    fn written(states: impl IntoIterator<Item = Value>) -> Vec<Map<String, Value>> {
        let recorder = Recorder::ring(1_000);
        let changes = ObjectChanges::new(recorder.clone());
        let mut before = None;
        for (version, state) in (1..).zip(states.into_iter().map(Some).chain([None])) {
            let value = state.as_ref().map(Value::to_string).unwrap_or_default();
            let kind = if state.is_some() { EventKind::Put } else { EventKind::Delete };
            let kv = KeyValue { value: value.into(), mod_revision: version + 1, version, ..KeyValue::default() };
            changes.record(
                &Event { kind, kv: kv.clone(), prev_kv: before.replace(kv) },
                &(Arc::new(|_: &str, _: &str| Some("pods".to_owned())) as PluralOf),
            );
        }
        let entries = recorder.entries(EntryId(0));
        assert!(entries.iter().all(|entry| entry.subject == "pods/default/a"));
        assert!(entries.iter().all(|entry| entry.stage.broken_promise(&entry.data).is_none()));
        entries.into_iter().map(|entry| entry.data).collect()
    }

    #[test]
    fn an_object_is_recorded_whole_and_then_by_changes_with_separate_managers() {
        let lines = written([pod(json!({"a": "1", "b": "2"})), pod(json!({"a": "1", "c": "3"}))]);
        assert_eq!(
            lines[0]["whole"]["metadata"],
            json!({"name": "a", "namespace": "default", "labels": {"a": "1", "b": "2"}, "resourceVersion": "2"})
        );
        assert_eq!(lines[0]["managers"]["kubelet/Update/status"], json!({"f:status": {}}));
        assert_eq!(lines[1]["patch"], json!({"metadata": {"resourceVersion": "3", "labels": {"b": null, "c": "3"}}}));
        assert_eq!(lines[1]["managers"], json!({"kubectl/Apply": {"f:metadata": {"b": null, "c": "3"}}}));
        assert_eq!(Value::Object(lines[2].clone()), json!({"gone": true}));
    }

    #[test]
    fn every_hundredth_change_is_written_whole() {
        let lines = written((0..251).map(|number| pod(json!({"n": number.to_string()}))));
        let whole: Vec<usize> = (0..251).filter(|index| lines[*index].contains_key("whole")).collect();
        assert_eq!(whole, [0, 100, 200]);
    }

    #[test]
    fn secret_data_is_in_no_entry() {
        let of = |value: &str| json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"}, "data": {"token": value}});
        let lines = written([of("bWFyaw=="), of("bWFyaw==2")]);
        assert!(!format!("{lines:?}").contains("bWFyaw"), "{lines:?}");
        assert_eq!(lines[0]["whole"]["data"], json!({"token": "…"}));
        assert_eq!(lines[1]["redacted"], json!(["data.token"]));
    }
}
