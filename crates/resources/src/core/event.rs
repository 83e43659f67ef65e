use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use serde_json::Value;

use crate::cells::since;
use crate::checks::{Wrong, each_invalid};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `events`. In Kubernetes: `pkg/registry/core/event`.
pub(crate) const EVENT: Rules = Rules {
    // Names are not looked at, as in Kubernetes.
    name: |_| Vec::new(),
    validate_create: wrong,
    time_to_live: Some(3600),
    selectable: &[
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
    ],
    field,
    columns: columns::EVENT,
    cells,
    ..Rules::of("", "v1", "events")
};

/// What events of all versions have to be. In Kubernetes: `legacyValidateEvent`.
fn wrong(object: &Object) -> Wrong {
    const TEXT_MOST: usize = 128;
    const MESSAGE_MOST: usize = 1024;
    let mut wrong = Wrong::new();
    let (own, about) = (object.namespace(), object.text(&["involvedObject", "namespace"]));
    // Events in the newer style may stand elsewhere than what they are about.
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
    let controller = object.text(&["reportingComponent"]);
    if controller.is_empty() {
        wrong.push(FieldError::required(CONTROLLER, ""));
    }
    wrong.extend(each_invalid(CONTROLLER, controller, names::qualified_name(controller)));
    for field in ["reportingInstance", "action", "reason"] {
        let text = object.text(&[field]);
        if text.is_empty() {
            wrong.push(FieldError::required(field, ""));
        }
        if text.len() > TEXT_MOST {
            wrong.push(FieldError::invalid(field, "", format!("can have at most {TEXT_MOST} characters")));
        }
    }
    if object.text(&["message"]).len() > MESSAGE_MOST {
        wrong.push(FieldError::invalid("message", "", format!("can have at most {MESSAGE_MOST} characters")));
    }
    wrong
}

/// Who reports, in the words of `v1`.
pub(crate) const CONTROLLER: &str = "reportingComponent";

fn field(object: &Object, name: &str) -> Option<String> {
    let source = object.text(&["source", "component"]);
    match name {
        "source" if source.is_empty() => Some(object.text(&["reportingComponent"]).to_owned()),
        "source" => Some(source.to_owned()),
        _ => None,
    }
}

pub(crate) fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let first = match object.at("firstTimestamp") {
        Value::Null => since(object.at("eventTime"), now),
        first => since(first, now),
    };
    let series = object.at("series");
    let (last, count) = match (series.is_null(), object.at("lastTimestamp"), object.int("count")) {
        (false, _, _) => (since(series.at("lastObservedTime"), now), series.int("count")),
        (true, Value::Null, count) => (first.clone(), count.max(1)),
        (true, last, count) => (since(last, now), count.max(1)),
    };
    let about = object.at("involvedObject");
    let kind = about.text("kind").to_lowercase();
    let target = if about.text("name").is_empty() { kind } else { format!("{kind}/{}", about.text("name")) };
    vec![
        last.into(),
        object.text(&["type"]).into(),
        object.text(&["reason"]).into(),
        target.into(),
        about.text("fieldPath").into(),
        source(object).into(),
        object.text(&["message"]).trim().into(),
        first.into(),
        count.into(),
        object.name().into(),
    ]
}

/// The component, and the host after a comma if there is one.
fn source(object: &Object) -> String {
    let first_of = |old: &str, new: &str| {
        let old = object.at("source").text(old);
        if old.is_empty() { object.text(&[new]).to_owned() } else { old.to_owned() }
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
    fn an_event_stands_where_what_it_is_about_stands() {
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
