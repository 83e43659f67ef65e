use coracle_control::START;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Starts the cluster again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResetTool {
    /// The snapshot; by default `start`: the new cluster, or the broken one of an exercise.
    snapshot: Option<String>,
}

impl Tool for ResetTool {
    const NAME: &'static str = "reset";
    const ABOUT: &'static str =
        "Set the cluster back to a snapshot: its objects, its nodes and its clock. Faults are removed.";
    const EFFECT: ToolEffect = ToolEffect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let name = self.snapshot.as_deref().unwrap_or(START);
        let answer = session.ask(Ask::of(Method::POST, "/coracle/v1/reset").json(&json!({"snapshot": name}))).await?;
        let cluster = session.controlled().clone();
        if let Some(episode) = &mut session.episode {
            episode.restart(name, &cluster).await?;
        }
        Ok(ToolAnswer::Json(answer))
    }
}
