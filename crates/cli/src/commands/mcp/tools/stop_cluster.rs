use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::commands::mcp::session::{Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Stops the cluster.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopClusterTool {}

impl Tool for StopClusterTool {
    const NAME: &'static str = "stop_cluster";
    const ABOUT: &'static str = "Stop the cluster, with its snapshots and its exercise. Nothing of it is kept.";
    const EFFECT: ToolEffect = ToolEffect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let Self {} = self;
        running(session)?;
        if let Some(stopped) = session.take() {
            stopped.end().await;
        }
        Ok(ToolAnswer::Json(json!({"stopped": true})))
    }
}
