use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::mcp::resources::Resources;
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// What happens to the objects that an object owns.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
enum Propagation {
    /// They are deleted after it.
    #[default]
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// Deletes an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteTool {
    /// The resource as kubectl takes it: pods, deployments.apps.
    resource: String,
    /// The name of the object.
    name: String,
    /// The namespace; default by default.
    namespace: Option<String>,
    /// The grace period of a pod, in seconds.
    grace_period_seconds: Option<u32>,
    /// What happens to the objects that it owns; Background by default.
    #[serde(default)]
    propagation_policy: Propagation,
}

impl Tool for DeleteTool {
    const NAME: &'static str = "delete";
    const ABOUT: &'static str = "Delete an object, and do not wait until it is gone: use wait with absent for that.";
    const EFFECT: ToolEffect = ToolEffect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let resources = Resources::of(session).await?;
        let resource = resources.named(&self.resource)?;
        let path = resource.path(self.namespace.as_deref(), Some(&self.name));
        let policy = format!("{:?}", self.propagation_policy);
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
        if let Some(seconds) = self.grace_period_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let answer: Value = session.ask(Ask::of(Method::DELETE, path).json(&options)).await?;
        let is_there = answer["metadata"]["deletionTimestamp"].is_string();
        let result = if is_there { "deletion has begun" } else { "deleted" };
        Ok(ToolAnswer::Json(json!({"kind": resource.kind, "name": self.name, "result": result})))
    }
}
