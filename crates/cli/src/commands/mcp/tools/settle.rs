use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Waits until nothing moves.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleTool {
    /// How long no object may change; 1m by default in stepped time.
    #[serde(skip_serializing_if = "Option::is_none")]
    quiet: Option<String>,
    /// How long to wait at most, in the time of the cluster; 1h by default in stepped time.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
}

impl Tool for SettleTool {
    const NAME: &'static str = "settle";
    const ABOUT: &'static str = "Wait until the cluster has nothing left to do. A stepped clock advances as far as needed. If it \
        does not settle, for example because a container restarts again and again, the answer says what changed last.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let ask = Ask::of(Method::POST, "/coracle/v1/settle").json(&json!(self));
        Ok(ToolAnswer::Json(running(session)?.ask(ask).await?))
    }
}
