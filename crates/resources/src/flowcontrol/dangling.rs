//! Writes into each flow schema whether its priority level exists.
//! In Kubernetes: the status writes of `configController` of `apiserver/pkg/util/flowcontrol`.

use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status, format_time};
use coracle_registry::{Patch, PatchKind, Registry, Request, Verb};
use serde_json::{Value, json};

use super::flow_schemas;

/// The field manager of the conditions.
const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";

/// A flow schema whose condition `Dangling` differs from the desired one.
#[derive(Debug)]
pub(super) struct Outdated {
    schema: Arc<Object>,
    /// Status, reason and message.
    wanted: [String; 3],
}

impl Outdated {
    pub(super) fn of(schema: &Arc<Object>, is_level: impl Fn(&str) -> bool) -> Option<Self> {
        Some(Self { schema: Arc::clone(schema), wanted: outdated(schema, is_level)? })
    }

    /// Writes the desired condition.
    pub(super) async fn write(&self, registry: &Registry) -> Result<(), Status> {
        let [status, reason, message] = &self.wanted;
        let now = registry.ambient().clock.now();
        let condition = json!({
            "type": "Dangling", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": format_time(now),
        });
        let schema = &self.schema;
        let config = json!({
            "apiVersion": schema.api_version(), "kind": schema.kind(),
            "metadata": {"name": schema.name()}, "status": {"conditions": [condition]},
        });
        let about = Request::new(Verb::Patch, flow_schemas(), now).object("", schema.name()).subresource("status");
        let request = Request { field_manager: MANAGER.to_owned(), ..about };
        let patch = Patch { kind: PatchKind::Apply { force: true }, body: config.to_string().into() };
        match registry.patch(&request, &patch).await {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(()),
        }
    }
}

/// Status, reason and message of the desired condition, if it differs.
fn outdated(schema: &Object, is_level: impl Fn(&str) -> bool) -> Option<[String; 3]> {
    let level = schema.text("spec.priorityLevelConfiguration.name");
    let references = format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?}");
    let wanted = if is_level(level) {
        ["False", "Found", &format!("{references} and it exists")].map(str::to_owned)
    } else {
        ["True", "NotFound", &format!("{references} but there is no such object")].map(str::to_owned)
    };
    let conditions = schema.list("status.conditions");
    let there = conditions.iter().find(|condition| condition.text("type") == "Dangling").unwrap_or(&Value::Null);
    (["status", "reason", "message"].map(|field| there.text(field).to_owned()) != wanted).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_dangles_whose_level_is_not_there() {
        let mut schema = Object::default();
        schema.set("spec.priorityLevelConfiguration.name", "low");
        let [status, reason, message] = outdated(&schema, |_| false).unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("True", "NotFound"));
        let condition = json!({"type": "Dangling", "status": status, "reason": reason, "message": message});
        schema.set("status.conditions", json!([condition]));
        assert_eq!(outdated(&schema, |_| false), None);
        assert_eq!(outdated(&schema, |level| level == "low").unwrap()[0], "False");
    }
}
