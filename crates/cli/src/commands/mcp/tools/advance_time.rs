use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::commands::mcp::answer::{Answer, Refusal};
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Effect, Tool};

/// Advances the clock.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdvanceTime {
    /// How far, such as 90s, 1h30m or 24h.
    duration: String,
}

impl Tool for AdvanceTime {
    const NAME: &'static str = "advance_time";
    const ABOUT: &'static str = "Advance the clock of a cluster in stepped time. All timers up to then fire in their order: \
        probes, back-offs, evictions, CronJobs.";
    const EFFECT: Effect = Effect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<Answer, Refusal> {
        let ask = Ask::of(Method::POST, "/coracle/v1/clock/advance").json(&json!({"duration": self.duration}));
        Ok(Answer::Json(running(session)?.ask(ask).await?))
    }
}
