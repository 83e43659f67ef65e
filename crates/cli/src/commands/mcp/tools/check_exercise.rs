use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::session::{Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Decides whether the cluster of an exercise is repaired.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckExerciseTool {
    /// Show hints: one more for each check that fails.
    #[serde(default)]
    hints: bool,
}

impl Tool for CheckExerciseTool {
    const NAME: &'static str = "check_exercise";
    const ABOUT: &'static str = "Decide whether the cluster of the exercise is repaired: all claims hold, about its state now, \
        and about each revision since it was broken. Time does not advance: call settle or wait before.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let cluster = session.controlled().clone();
        let none = || Refusal::new("this cluster is no exercise: call stop_cluster, and then start_exercise");
        let mut verdict = session.episode.as_mut().ok_or_else(none)?.check(&cluster).await?;
        let claims = verdict["claims"].as_array().cloned().unwrap_or_default();
        verdict["repaired"] = claims.iter().all(|claim| claim["holds"] == true).into();
        if let Some(fields) = verdict.as_object_mut().filter(|_| !self.hints) {
            fields.remove("hints");
        }
        Ok(ToolAnswer::Json(verdict))
    }
}
