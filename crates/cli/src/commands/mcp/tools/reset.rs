use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::commands::mcp::answer::{Answer, Refusal};
use crate::commands::mcp::episode::START;
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Effect, Tool};

/// Starts the cluster again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reset {
    /// The snapshot; by default `start`: the new cluster, or the broken one of an exercise.
    snapshot: Option<String>,
}

impl Tool for Reset {
    const NAME: &'static str = "reset";
    const ABOUT: &'static str =
        "Set the cluster back to a snapshot: its objects, its nodes and its clock. Faults are removed.";
    const EFFECT: Effect = Effect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<Answer, Refusal> {
        let session = running(session)?;
        let name = self.snapshot.as_deref().unwrap_or(START);
        let answer = session.ask(Ask::of(Method::POST, "/coracle/v1/reset").json(&json!({"snapshot": name}))).await?;
        let cluster = session.controlled().clone();
        if let Some(episode) = &mut session.episode {
            episode.restart(name, &cluster).await?;
        }
        Ok(Answer::Json(answer))
    }
}
