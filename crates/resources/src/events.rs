//! `events.k8s.io/v1`: the same objects as `v1` events, in newer words.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names, parse_time};
use coracle_registry::KindSpec;

use crate::config::Config;
use crate::core::event::{self, CONTROLLER};
use crate::field_checks::{Wrong, each_invalid, immutable, same};

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
    // The older version prints these always, the newer only if they say something.
    for reporter in [REPORTER, "reportingInstance"] {
        if object.field(reporter).is_some_and(|text| text == "") {
            object.remove(reporter);
        }
    }
}

fn review(object: &Object, old: Option<&Object>, mut wrong: Wrong) -> Wrong {
    for error in wrong.iter_mut().filter(|error| error.field == CONTROLLER) {
        error.field = REPORTER.to_owned();
    }
    wrong.extend(match old {
        None => wrong_of_new(object),
        Some(old) => wrong_of_change(object, old),
    });
    wrong
}

const REPORTER: &str = "reportingController";

/// What of an event stays as it is where the newer version is written. In Kubernetes: `ValidateEventUpdate`.
fn wrong_of_change(new: &Object, old: &Object) -> Wrong {
    const BEFORE_TIME: [&str; 9] =
        ["involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type"];
    const AFTER_TIME: [&str; 4] = ["action", "related", CONTROLLER, "reportingInstance"];
    let mut wrong = if same(new.at("series"), old.at("series")) { Wrong::new() } else { wrong_series(new) };
    wrong.extend(BEFORE_TIME.iter().flat_map(|field| immutable(new, old, field)));
    // Clients may have cut the time off at microseconds.
    let moment = |event: &Object| parse_time(event.text("eventTime")).map(|time| time.as_microsecond());
    if moment(new) != moment(old) {
        wrong.extend(immutable(new, old, "eventTime"));
    }
    wrong.extend(AFTER_TIME.iter().flat_map(|field| immutable(new, old, field)));
    for error in wrong.iter_mut().filter(|error| error.field == CONTROLLER) {
        error.field = REPORTER.to_owned();
    }
    wrong
}

/// How often an event was seen again, and when last. In Kubernetes: `validateV1EventSeries`.
fn wrong_series(object: &Object) -> Wrong {
    let series = object.at("series");
    let mut wrong = Wrong::new();
    if series.is_null() {
        return wrong;
    }
    if series.int("count") < 2 {
        wrong.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    if series.at("lastObservedTime").is_null() {
        wrong.push(FieldError::required("series.lastObservedTime", ""));
    }
    wrong
}

/// What only the newer version asks, in the words of the older. In Kubernetes: `ValidateEventCreate`.
fn wrong_of_new(object: &Object) -> Wrong {
    let mut wrong = each_invalid("metadata.name", object.name(), names::dns1123_subdomain(object.name()));
    wrong.extend(wrong_series(object));
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
    use serde_json::{Value, json};

    #[test]
    fn there_and_back_loses_nothing() {
        let event = json!({"involvedObject": {"name": "a"}, "message": "b", "count": 2, "related": {"name": "c"}});
        let mut object = Object::from_value(event.clone()).unwrap();
        from_hub(&mut object);
        assert_eq!(object.text("note"), "b");
        to_hub(&mut object);
        assert_eq!(object.into_value(), event);
    }

    #[test]
    fn a_reporter_that_is_not_named_is_left_out() {
        let event = json!({"metadata": {}, "reportingComponent": "", "reportingInstance": ""});
        let mut object = Object::from_value(event).unwrap();
        from_hub(&mut object);
        assert_eq!(object.into_value(), json!({"metadata": {}}));
    }

    #[test]
    fn an_event_only_counts_on_where_the_newer_version_is_written() {
        let event = |change: Value| {
            let mut event = json!({"reason": "a", "count": 1, "eventTime": "2024-01-01T00:00:00.000001Z",
                "reportingComponent": "c"});
            for (field, value) in change.as_object().unwrap() {
                event[field] = value.clone();
            }
            Object::from_value(event).unwrap()
        };
        let old = event(json!({}));
        let said = |change: Value| -> Vec<String> {
            review(&event(change), Some(&old), Wrong::new()).iter().map(FieldError::message).collect()
        };
        let seen = "2024-01-01T00:00:01.000000Z";
        assert_eq!(said(json!({"series": {"count": 2, "lastObservedTime": seen}})), [""; 0]);
        assert_eq!(said(json!({"eventTime": "2024-01-01T00:00:00.000001999Z"})), [""; 0]);
        assert_eq!(
            said(
                json!({"series": {"count": 1}, "reason": "b", "count": 2, "eventTime": seen, "reportingComponent": "d"})
            ),
            [
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
                "reason: Invalid value: \"b\": field is immutable",
                "count: Invalid value: 2: field is immutable",
                "reason: Invalid value: \"b\": field is immutable",
                "eventTime: Invalid value: \"2024-01-01T00:00:01.000000Z\": field is immutable",
                "reportingController: Invalid value: \"d\": field is immutable",
            ]
        );
    }
}
