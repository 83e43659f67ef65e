//! Sorts the flow schemas, and says whether each names a priority level that is there.
//! In Kubernetes: `configController` of `apiserver/pkg/util/flowcontrol`, as far as it writes statuses.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status, format_time};
use coracle_registry::{Patch, PatchKind, Registry, Request, Verb};
use serde_json::{Value, json};

use super::{FlowTable, GROUP};
use crate::controllers::{Controller, list};

/// As whom the conditions are applied.
const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";

/// Keeps the condition `Dangling` of flow schemas, and the table by which requests are sorted.
pub(crate) struct Dangling {
    pub(crate) flows: Arc<FlowTable>,
}

fn flow_schemas() -> GroupVersionResource {
    GroupVersionResource::new(GROUP, "v1", "flowschemas")
}

fn priority_levels() -> GroupVersionResource {
    GroupVersionResource::new(GROUP, "v1", "prioritylevelconfigurations")
}

#[async_trait]
impl Controller for Dangling {
    async fn reads(&self, _registry: &Registry) -> Result<Vec<GroupVersionResource>, Status> {
        Ok(vec![flow_schemas(), priority_levels()])
    }

    async fn sync(&self, registry: &Registry) -> Result<(), Status> {
        let levels = list(registry, &priority_levels()).await?;
        let schemas = list(registry, &flow_schemas()).await?;
        self.flows.replace(schemas.clone(), &levels);
        let levels: BTreeSet<&str> = levels.iter().map(|level| level.name()).collect();
        for schema in schemas {
            let Some([status, reason, message]) = outdated(&schema, &levels) else { continue };
            let now = registry.ambient().clock.now();
            let condition = json!({
                "type": "Dangling", "status": status, "reason": reason, "message": message,
                "lastTransitionTime": format_time(now),
            });
            let config = json!({
                "apiVersion": schema.api_version(), "kind": schema.kind(),
                "metadata": {"name": schema.name()}, "status": {"conditions": [condition]},
            });
            let about = Request::new(Verb::Patch, flow_schemas(), now).object("", schema.name()).subresource("status");
            let request = Request { field_manager: MANAGER.to_owned(), ..about };
            let patch = Patch { kind: PatchKind::Apply { force: true }, body: config.to_string().into() };
            match registry.patch(&request, &patch).await {
                Err(status) if !status.is_not_found() => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Status, reason and message of the condition as it should be, if it is not so.
fn outdated(schema: &Object, levels: &BTreeSet<&str>) -> Option<[String; 3]> {
    let level = schema.text(&["spec", "priorityLevelConfiguration", "name"]);
    let references = format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?}");
    let wanted = if levels.contains(level) {
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
        schema.set(&["spec", "priorityLevelConfiguration", "name"], "low");
        let none = BTreeSet::new();
        let [status, reason, message] = outdated(&schema, &none).unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("True", "NotFound"));
        let condition = json!({"type": "Dangling", "status": status, "reason": reason, "message": message});
        schema.set(&["status", "conditions"], json!([condition]));
        assert_eq!(outdated(&schema, &none), None);
        assert_eq!(outdated(&schema, &BTreeSet::from(["low"])).unwrap()[0], "False");
    }
}
