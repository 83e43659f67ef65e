use coracle_scenario::parse::API_VERSION;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// A condition that must hold.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// What is claimed, in words.
    name: String,
    /// An expression in CEL about the lists of all objects, such as pods.filter(p, p.status.phase == 'Running').size() == 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    cel: Option<String>,
    /// A part of an object that must exist, with apiVersion and kind; instead of an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Map<String, Value>>,
}

/// Decides claims.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckTool {
    /// The claims.
    #[schemars(length(min = 1))]
    claims: Vec<Claim>,
    /// The namespace of resources that name none; default by default.
    namespace: Option<String>,
}

impl Tool for CheckTool {
    const NAME: &'static str = "check";
    const ABOUT: &'static str = "Decide claims about the cluster as it is: which hold, and what was found where one does not. \
        For the claims of an exercise, use check_exercise.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let namespace = self.namespace.as_deref().unwrap_or("default");
        let scenario = json!({
            "apiVersion": API_VERSION,
            "kind": "Scenario",
            "metadata": {"name": "check"},
            "spec": {"namespace": namespace, "steps": [], "eventually": self.claims},
        });
        let ask = Ask::of(Method::POST, "/coracle/v1/check").json(&scenario);
        Ok(ToolAnswer::Json(running(session)?.ask(ask).await?))
    }
}
