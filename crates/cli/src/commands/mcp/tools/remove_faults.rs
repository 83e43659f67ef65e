use coracle_control::FAULTS_PATH;
use coracle_meta::percent;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Removes faults.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveFaultsTool {
    /// The number or the name of one fault; all faults by default.
    fault: Option<String>,
}

impl Tool for RemoveFaultsTool {
    const NAME: &'static str = "remove_faults";
    const ABOUT: &'static str = "End a fault, or all faults, and return what was removed.";
    const EFFECT: ToolEffect = ToolEffect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let path = match &self.fault {
            Some(fault) => format!("{FAULTS_PATH}/{}", percent::component(fault)),
            None => FAULTS_PATH.to_owned(),
        };
        Ok(ToolAnswer::Json(running(session)?.ask(Ask::of(Method::DELETE, path)).await?))
    }
}
