//! `events.k8s.io/v1`: the same objects as `v1` events, with other field names.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names, parse_time};
use coracle_registry::{KindSpec, unknown_finalizer};
use serde_json::Value;

use crate::config::Config;
use crate::core::event::{self, CONTROLLER};
use crate::field_checks::{IMMUTABLE, Wrong, each_invalid, same};

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

/// The field names in core `v1` and in `events.k8s.io/v1`.
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
    // The older version always prints these fields, the newer one only if they are not empty.
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
    let Some(old) = old else {
        let is_name = |field: &str| field == "metadata.name" || field == "metadata.generateName";
        let of_metadata = wrong_metadata_of_new(object);
        if !of_metadata.is_empty() {
            // The general rules for names apply only to names that are valid here.
            wrong.retain(|error| !is_name(&error.field));
        }
        wrong.extend(of_metadata);
        wrong.extend(wrong_of_new(object));
        return wrong;
    };
    wrong.extend(wrong_of_change(object, old));
    wrong
}

const REPORTER: &str = "reportingController";

/// The fields of an event that are immutable in the newer version. In Kubernetes: `ValidateEventUpdate`.
fn wrong_of_change(new: &Object, old: &Object) -> Wrong {
    const BEFORE_TIME: [(&str, Of); 9] = [
        ("involvedObject", Of::Struct(&REFERENCE)),
        ("reason", Of::Text),
        ("message", Of::Text),
        ("source", Of::Struct(&SOURCE)),
        ("firstTimestamp", Of::Pointer),
        ("lastTimestamp", Of::Pointer),
        ("count", Of::Number),
        ("reason", Of::Text),
        ("type", Of::Text),
    ];
    const AFTER_TIME: [(&str, Of); 4] = [
        ("action", Of::Text),
        ("related", Of::Struct(&REFERENCE)),
        (CONTROLLER, Of::Text),
        ("reportingInstance", Of::Text),
    ];
    let immutable = |(field, of): &(&'static str, Of)| of.immutable(new, old, field);
    let mut wrong = wrong_finalizers(new);
    if !same(new.at("series"), old.at("series")) {
        wrong.extend(wrong_series(new));
    }
    wrong.extend(BEFORE_TIME.iter().filter_map(immutable));
    // Clients may have truncated the time to microseconds.
    let moment = |event: &Object| parse_time(event.text("eventTime")).map(|time| time.as_microsecond());
    if moment(new) != moment(old) {
        wrong.extend(Of::Pointer.immutable(new, old, "eventTime"));
    }
    wrong.extend(AFTER_TIME.iter().filter_map(immutable));
    for error in wrong.iter_mut().filter(|error| error.field == CONTROLLER) {
        error.field = REPORTER.to_owned();
    }
    wrong
}

/// The errors of an event's series. In Kubernetes: `validateV1EventSeries`.
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

/// The additional errors of the newer version, with field names of the older one. In Kubernetes: `ValidateEventCreate`.
fn wrong_of_new(object: &Object) -> Wrong {
    let mut wrong = wrong_series(object);
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

/// The errors of names and finalizers in the newer version. In Kubernetes: `ValidateObjectMeta` with
/// `NameIsDNSSubdomain`.
fn wrong_metadata_of_new(object: &Object) -> Wrong {
    let (base, name) = (object.text("metadata.generateName"), object.name());
    let mut wrong = Wrong::new();
    if !base.is_empty() {
        // A prefix may end in a dash, because a suffix follows.
        let masked = base.strip_suffix('-').map_or_else(|| base.to_owned(), |start| format!("{start}a"));
        wrong.extend(each_invalid("metadata.generateName", base, names::dns1123_subdomain(&masked)));
    }
    if name.is_empty() {
        wrong.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else {
        wrong.extend(each_invalid("metadata.name", name, names::dns1123_subdomain(name)));
    }
    wrong.extend(wrong_finalizers(object));
    wrong
}

/// The older version takes any.
fn wrong_finalizers(object: &Object) -> Wrong {
    let finalizers = object.finalizers().into_iter().enumerate();
    finalizers.filter_map(|(at, name)| unknown_finalizer(&format!("metadata.finalizers[{at}]"), &name)).collect()
}

/// The fields of Go's `ObjectReference` and `EventSource`, in their order and as JSON names them.
const REFERENCE: [(&str, &str); 7] = [
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
];
const SOURCE: [(&str, &str); 2] = [("Component", "component"), ("Host", "host")];

/// What a field is in Go: how it is printed, and what it is where it is absent.
#[derive(Clone, Copy)]
enum Of {
    Text,
    Number,
    Pointer,
    Struct(&'static [(&'static str, &'static str)]),
}

impl Of {
    /// The errors of a field that may not change.
    fn immutable(self, new: &Object, old: &Object, field: &str) -> Option<FieldError> {
        let (new, old) = (self.value(new.at(field)), self.value(old.at(field)));
        if same(&new, &old) {
            return None;
        }
        let printed = self.printed(&new);
        let error = FieldError::invalid(field, new, IMMUTABLE);
        Some(match printed {
            Some(printed) => error.printed_as(printed),
            None => error,
        })
    }

    /// The value with what Go has where nothing is said.
    fn value(self, value: &Value) -> Value {
        match (self, value) {
            (Self::Text, Value::Null) => "".into(),
            (Self::Number, Value::Null) => 0.into(),
            (_, value) => value.clone(),
        }
    }

    /// A struct as Go's own JSON prints it: the internal types name no fields.
    fn printed(self, value: &Value) -> Option<String> {
        let Self::Struct(fields) = self else { return None };
        if value.is_null() {
            return None;
        }
        let fields = fields.iter().map(|(go, json)| format!("\"{go}\":{}", Value::from(value.text(json))));
        Some(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")))
    }
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
    fn a_round_trip_loses_nothing() {
        let event = json!({"involvedObject": {"name": "a"}, "message": "b", "count": 2, "related": {"name": "c"}});
        let mut object = Object::from_value(event.clone()).unwrap();
        from_hub(&mut object);
        assert_eq!(object.text("note"), "b");
        to_hub(&mut object);
        assert_eq!(object.into_value(), event);
    }

    #[test]
    fn the_newer_version_reads_names_and_finalizers_and_prints_what_may_not_change_as_go_does() {
        let event = |metadata: Value, rest: Value| {
            let mut event = json!({"metadata": metadata, "eventTime": "2024-01-01T00:00:00.000000Z", "type": "Normal"});
            for (field, value) in rest.as_object().unwrap() {
                event[field] = value.clone();
            }
            Object::from_value(event).unwrap()
        };
        let named = |metadata: Value| -> Vec<String> {
            let slash = FieldError::invalid("metadata.name", "x/y", "may not contain '/'");
            let wrong = review(&event(metadata, json!({})), None, vec![slash]);
            wrong.iter().map(|error| error.message().chars().take(60).collect()).collect()
        };
        let name = "a lowercase RFC 1123 subdomain must consist";
        assert_eq!(
            named(json!({"name": "x/y"})),
            [format!("metadata.name: Invalid value: \"x/y\": {name}").chars().take(60).collect::<String>()]
        );
        assert_eq!(
            named(json!({"name": "A_1", "generateName": "A_"})),
            [
                "metadata.generateName: Invalid value: \"A_\": a lowercase RFC ",
                "metadata.name: Invalid value: \"A_1\": a lowercase RFC 1123 su"
            ]
        );
        assert_eq!(named(json!({})), ["metadata.name: Required value: name or generateName is requi"]);
        assert_eq!(
            named(json!({"name": "x", "finalizers": ["abc"]})),
            ["metadata.finalizers[0]: Invalid value: \"abc\": name is neithe"]
        );
        let changed = |old: Value, new: Value| -> Vec<String> {
            let (old, new) = (event(json!({"name": "x"}), old), event(json!({"name": "x"}), new));
            review(&new, Some(&old), Wrong::new()).iter().map(FieldError::message).collect()
        };
        assert_eq!(
            changed(
                json!({"reportingComponent": "", "reportingInstance": "", "count": 0, "source": {}}),
                json!({"action": "", "message": "", "involvedObject": {}})
            ),
            [""; 0]
        );
        assert_eq!(
            changed(
                json!({"involvedObject": {"kind": "Pod", "name": "p"}, "action": "b", "count": 2}),
                json!({"involvedObject": {"name": "q", "namespace": "n"}, "source": {"component": "q"}, "related": {"kind": "X"}})
            ),
            [
                "involvedObject: Invalid value: {\"Kind\":\"\",\"Namespace\":\"n\",\"Name\":\"q\",\"UID\":\"\",\"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field is immutable",
                "source: Invalid value: {\"Component\":\"q\",\"Host\":\"\"}: field is immutable",
                "count: Invalid value: 0: field is immutable",
                "action: Invalid value: \"\": field is immutable",
                "related: Invalid value: {\"Kind\":\"X\",\"Namespace\":\"\",\"Name\":\"\",\"UID\":\"\",\"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field is immutable",
            ]
        );
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
