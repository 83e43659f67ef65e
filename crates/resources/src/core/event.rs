use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use serde_json::Value;

use crate::cells::since;
use crate::checks::{Wrong, each_invalid, required};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `events`. In Kubernetes: `pkg/registry/core/event`.
pub(crate) const EVENT: Rules = Rules {
    // Names are not looked at, as in Kubernetes.
    name: |_| Vec::new(),
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
    validate: wrong,
    columns: columns::EVENT,
    cells,
    ..Rules::of("", "v1", "events")
};

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

/// In Kubernetes: `legacyValidateEvent`. Unlike Kubernetes: what is written as `events.k8s.io/v1` is held to no more.
fn wrong(object: &Object) -> Wrong {
    const LIMITS: [(&str, usize); 4] =
        [("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)];
    let mut wrong = Wrong::new();
    let (own, about) = (object.namespace(), object.text(&["involvedObject", "namespace"]));
    let is_new_style = object.has("eventTime");
    let is_of_cluster = own == "default" || own == if is_new_style { "kube-system" } else { "" };
    let fits = if about.is_empty() { is_of_cluster } else { is_new_style || about == own };
    if !fits {
        wrong.push(FieldError::invalid("involvedObject.namespace", about, "does not match event.namespace"));
    }
    if is_new_style {
        for field in ["reportingComponent", "reportingInstance", "action", "reason"] {
            wrong.extend(required(object, field, ""));
        }
        let reporter = object.text(&["reportingComponent"]);
        wrong.extend(each_invalid("reportingComponent", reporter, names::qualified_name(reporter)));
        for (field, limit) in LIMITS {
            if object.text(&[field]).len() > limit {
                wrong.push(FieldError::invalid(field, "", format!("can have at most {limit} characters")));
            }
        }
    }
    wrong.extend(each_invalid("namespace", own, names::dns1123_subdomain(own)));
    wrong
}
