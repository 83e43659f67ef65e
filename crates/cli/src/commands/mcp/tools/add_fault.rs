use coracle_control::FAULTS_PATH;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Adds a fault.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddFaultTool {
    /// A fault in the format of scenarios, such as {"do": {"node": {"stop": "node-1"}}, "for": "10m"}, {"do": {"lag":
    /// "5s", "kind": "Pod", "to": "controller-manager"}} or {"when": {"verb": "create", "resource": "pods"}, "do":
    /// {"refuse": 500}}. Without `for`, a node that stops starts again at once.
    fault: Map<String, Value>,
}

impl Tool for AddFaultTool {
    const NAME: &'static str = "add_fault";
    const ABOUT: &'static str = "Cause a fault: stop or cut off a node, delay or expire watches, refuse or lose requests, pause \
        or kill a component. Returns its number and its name.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let ask = Ask::of(Method::POST, FAULTS_PATH).json(&Value::Object(self.fault));
        Ok(ToolAnswer::Json(running(session)?.ask(ask).await?))
    }
}
