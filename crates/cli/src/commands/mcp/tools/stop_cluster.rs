use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::commands::mcp::answer::{Answer, Refusal};
use crate::commands::mcp::session::{Session, running};
use crate::commands::mcp::tool::{Effect, Tool};

/// Stops the cluster.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopCluster {}

impl Tool for StopCluster {
    const NAME: &'static str = "stop_cluster";
    const ABOUT: &'static str = "Stop the cluster, with its snapshots and its exercise. Nothing of it is kept.";
    const EFFECT: Effect = Effect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<Answer, Refusal> {
        let Self {} = self;
        running(session)?;
        if let Some(stopped) = session.take() {
            stopped.end().await;
        }
        Ok(Answer::Json(json!({"stopped": true})))
    }
}
