use coracle_meta::percent;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Keeps the state of the cluster.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotTool {
    /// The name of the snapshot. An earlier one of this name is replaced.
    name: String,
}

impl Tool for SnapshotTool {
    const NAME: &'static str = "snapshot";
    const ABOUT: &'static str = "Keep the state of the cluster under a name, in memory, for reset.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        if self.name.is_empty() {
            return Err(Refusal::new("name: a snapshot needs a name"));
        }
        let session = running(session)?;
        let path = format!("/coracle/v1/snapshots/{}", percent::component(&self.name));
        let answer = session.ask(Ask::of(Method::PUT, path)).await?;
        let cluster = session.controlled().clone();
        if let Some(episode) = &mut session.episode {
            episode.keep(&self.name, &cluster).await?;
        }
        Ok(ToolAnswer::Json(answer))
    }
}
