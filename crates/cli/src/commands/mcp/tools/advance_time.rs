use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Advances the clock.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdvanceTimeTool {
    /// How far, such as 90s, 1h30m or 24h.
    duration: String,
}

impl Tool for AdvanceTimeTool {
    const NAME: &'static str = "advance_time";
    const ABOUT: &'static str = "Advance the clock of a cluster in stepped time. All timers up to then fire in their order: \
        probes, back-offs, evictions, CronJobs.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let ask = Ask::of(Method::POST, "/coracle/v1/clock/advance").json(&json!({"duration": self.duration}));
        Ok(ToolAnswer::Json(running(session)?.ask(ask).await?))
    }
}
