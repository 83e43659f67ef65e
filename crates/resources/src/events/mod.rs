//! `events.k8s.io/v1`: the same objects as `v1` events, in newer words.

use coracle_meta::{Object, Status};

use crate::built_in::Versions;
use crate::core::event::EVENT;
use crate::rules::Rules;

/// `events.events.k8s.io`. In Kubernetes: `pkg/apis/events/v1`.
pub(crate) const EVENTS_K8S_IO_EVENT: Rules = Rules {
    group: "events.k8s.io",
    selectable: &[
        "reason",
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reportingController",
        "type",
    ],
    field: |_, _| None,
    ..EVENT
};

/// The fields in the words of core `v1`, and in the newer ones.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// `events.k8s.io/v1`.
pub(crate) struct EventsV1;

impl Versions for EventsV1 {
    fn to_hub(&self, object: &mut Object) -> Result<(), Status> {
        NAMES.iter().for_each(|(old, new)| rename(object, new, old));
        Ok(())
    }

    fn from_hub(&self, object: &mut Object) -> Result<(), Status> {
        NAMES.iter().for_each(|(old, new)| rename(object, old, new));
        Ok(())
    }
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.remove(&[from]) {
        object.set(&[to], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn there_and_back_loses_nothing() {
        let event = json!({"involvedObject": {"name": "a"}, "message": "b", "count": 2, "related": {"name": "c"}});
        let mut object = Object::from_value(event.clone()).unwrap();
        EventsV1.from_hub(&mut object).unwrap();
        assert_eq!(object.text(&["note"]), "b");
        EventsV1.to_hub(&mut object).unwrap();
        assert_eq!(object.into_value(), event);
    }
}
