//! `events.k8s.io/v1`: the same objects as `v1` events, in newer words.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::KindSpec;

use crate::config::Config;
use crate::core::event::{self, CONTROLLER};
use crate::field_checks::{Wrong, each_invalid};

/// `events.events.k8s.io`. In Kubernetes: `pkg/apis/events/v1`.
pub(crate) fn kind(config: &Config) -> KindSpec {
    let field_labels = Some(FIELD_LABELS);
    KindSpec { to_hub, from_hub, review, field_labels, ..event::kind(config).in_version("events.k8s.io", "v1") }
}

/// In Kubernetes: `AddFieldLabelConversionsForEvent`.
const FIELD_LABELS: &[(&str, &str)] = &[
    ("reason", "reason"),
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reportingController", "reportingComponent"),
    ("type", "type"),
];

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

fn to_hub(object: &mut Object) {
    NAMES.iter().for_each(|(old, new)| rename(object, new, old));
}

fn from_hub(object: &mut Object) {
    NAMES.iter().for_each(|(old, new)| rename(object, old, new));
}

fn review(object: &Object, mut wrong: Wrong) -> Wrong {
    for error in wrong.iter_mut().filter(|error| error.field == CONTROLLER) {
        error.field = "reportingController".to_owned();
    }
    wrong.extend(wrong_of_new(object));
    wrong
}

/// What only the newer version asks, in the words of the older. In Kubernetes: `ValidateEventCreate`.
fn wrong_of_new(object: &Object) -> Wrong {
    let mut wrong = each_invalid("metadata.name", object.name(), names::dns1123_subdomain(object.name()));
    let series = object.at("series");
    if !series.is_null() {
        if series.int("count") < 2 {
            wrong.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        if series.at("lastObservedTime").is_null() {
            wrong.push(FieldError::required("series.lastObservedTime", ""));
        }
    }
    if object.at("eventTime").is_null() {
        wrong.push(FieldError::required("eventTime", ""));
    }
    let kind = object.text("type");
    if kind != "Normal" && kind != "Warning" {
        wrong.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    let source = object.at("source");
    for (is_set, field) in [
        (object.has("firstTimestamp"), "firstTimestamp"),
        (object.has("lastTimestamp"), "lastTimestamp"),
        (object.int("count") != 0, "count"),
        (!source.text("component").is_empty() || !source.text("host").is_empty(), "source"),
    ] {
        if is_set {
            wrong.push(FieldError::invalid(field, "", "needs to be unset"));
        }
    }
    wrong
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.set(to, value);
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
        from_hub(&mut object);
        assert_eq!(object.text("note"), "b");
        to_hub(&mut object);
        assert_eq!(object.into_value(), event);
    }
}
