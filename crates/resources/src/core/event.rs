use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Column, KindSpec, TableColumn};
use serde_json::Value;

use crate::built_in::built_in;
use crate::cells::since;
use crate::config::Config;
use crate::field_checks::{Wrong, each_invalid};

/// `events`. In Kubernetes: `pkg/registry/core/event`.
pub(crate) fn kind(config: &Config) -> KindSpec {
    let release = &config.release;
    KindSpec {
        // Names are not validated, as in Kubernetes.
        name: |_| Vec::new(),
        validate: |object, _| wrong(object),
        time_to_live: Some(config.event_seconds),
        selectable: Some(&[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ]),
        field,
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(release, "", "v1", "events")
    }
}

/// The errors of events of all versions. In Kubernetes: `legacyValidateEvent`.
fn wrong(object: &Object) -> Wrong {
    const TEXT_MOST: usize = 128;
    const MESSAGE_MOST: usize = 1024;
    let mut wrong = Wrong::new();
    let (own, about) = (object.namespace(), object.text("involvedObject.namespace"));
    // Events in the newer style can be in another namespace than their object.
    let is_new_style = !object.at("eventTime").is_null();
    let fits = match (about.is_empty(), is_new_style) {
        (true, true) => ["default", "kube-system"].contains(&own),
        (true, false) => own == "default",
        (false, true) => true,
        (false, false) => about == own,
    };
    if !fits {
        wrong.push(FieldError::invalid("involvedObject.namespace", about, "does not match event.namespace"));
    }
    if !is_new_style {
        return wrong;
    }
    let controller = object.text("reportingComponent");
    if controller.is_empty() {
        wrong.push(FieldError::required(CONTROLLER, ""));
    }
    wrong.extend(each_invalid(CONTROLLER, controller, names::qualified_name(controller)));
    for field in ["reportingInstance", "action", "reason"] {
        let text = object.text(field);
        if text.is_empty() {
            wrong.push(FieldError::required(field, ""));
        }
        if text.len() > TEXT_MOST {
            wrong.push(FieldError::invalid(field, "", format!("can have at most {TEXT_MOST} characters")));
        }
    }
    if object.text("message").len() > MESSAGE_MOST {
        wrong.push(FieldError::invalid("message", "", format!("can have at most {MESSAGE_MOST} characters")));
    }
    wrong
}

/// The field of the reporting controller in `v1`.
pub(crate) const CONTROLLER: &str = "reportingComponent";

fn field(object: &Object, name: &str) -> Option<String> {
    let source = object.text("source.component");
    match name {
        "source" if source.is_empty() => Some(object.text("reportingComponent").to_owned()),
        "source" => Some(source.to_owned()),
        _ => None,
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::new(
            Column::new("Last Seen", "string", "The time at which the most recent occurrence of this event was recorded."),
            |object, now| last_seen(object, now).into(),
        ),
        TableColumn::text(
            "Type",
            "Type of this event (Normal, Warning), new types could be added in the future",
            |object| object.text("type").into(),
        ),
        TableColumn::text(
            "Reason",
            "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
            |object| object.text("reason").into(),
        ),
        TableColumn::text("Object", "The object that this event is about.", |object| target(object).into()),
        TableColumn::text(
            "Subobject",
            "If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: \"spec.containers{name}\" (where \"name\" refers to the name of the container that triggered the event) or if no container name is specified \"spec.containers[2]\" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.",
            |object| object.text("involvedObject.fieldPath").into(),
        ).wide(),
        TableColumn::text(
            "Source",
            "The component reporting this event. Should be a short machine understandable string.",
            |object| source(object).into(),
        ).wide(),
        TableColumn::text(
            "Message",
            "A human-readable description of the status of this operation.",
            |object| object.text("message").trim().into(),
        ),
        TableColumn::new(
            Column::new("First Seen", "string", "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)"),
            |object, now| first_seen(object, now).into(),
        ).wide(),
        TableColumn::text(
            "Count",
            "The number of times this event has occurred.",
            |object| count(object).into(),
        ).wide(),
        TableColumn::name().wide(),
    ]
}

fn first_seen(object: &Object, now: Timestamp) -> String {
    match object.at("firstTimestamp") {
        Value::Null => since(object.at("eventTime"), now),
        first => since(first, now),
    }
}

fn last_seen(object: &Object, now: Timestamp) -> String {
    let series = object.at("series");
    match (series.is_null(), object.at("lastTimestamp")) {
        (false, _) => since(series.at("lastObservedTime"), now),
        (true, Value::Null) => first_seen(object, now),
        (true, last) => since(last, now),
    }
}

fn count(object: &Object) -> i64 {
    let series = object.at("series");
    if series.is_null() { object.int("count").max(1) } else { series.int("count") }
}

fn target(object: &Object) -> String {
    let about = object.at("involvedObject");
    let kind = about.text("kind").to_lowercase();
    if about.text("name").is_empty() { kind } else { format!("{kind}/{}", about.text("name")) }
}

/// The component, and after a comma the host, if there is one.
fn source(object: &Object) -> String {
    let first_of = |old: &str, new: &str| {
        let old = object.at("source").text(old);
        if old.is_empty() { object.text(new).to_owned() } else { old.to_owned() }
    };
    let component = first_of("component", "reportingComponent");
    let instance = first_of("host", "reportingInstance");
    if instance.is_empty() { component } else { format!("{component}, {instance}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_in_the_namespace_of_its_object() {
        let event = |about: &str, own: &str| {
            let event = json!({"metadata": {"namespace": own}, "involvedObject": {"namespace": about}});
            wrong(&Object::from_value(event).unwrap()).len()
        };
        assert_eq!((event("a", "a"), event("", "default"), event("", "a"), event("a", "b")), (0, 0, 1, 1));
        let new_style = json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": "b"},
            "eventTime": "2024-01-01T00:00:00.000000Z", "reportingComponent": "c", "reportingInstance": "c-1",
            "action": "Bind", "reason": "Bound"});
        assert!(wrong(&Object::from_value(new_style).unwrap()).is_empty(), "the newer style may stand elsewhere");
    }
}
