use schemars::JsonSchema;
use serde::Deserialize;

use super::list_exercises::described;
use super::start_cluster::Common;
use crate::commands::exercise::built_in;
use crate::commands::mcp::episode::Episode;
use crate::commands::mcp::session::{Session, none_runs};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Starts an exercise.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StartExerciseTool {
    /// The name or the number of the exercise.
    name: String,
    #[serde(flatten)]
    common: Common,
}

impl Tool for StartExerciseTool {
    const NAME: &'static str = "start_exercise";
    const ABOUT: &'static str = "Start a cluster and break it, as an exercise says. Returns what a user reports. Repair it with \
        the other tools, then call check_exercise. The broken cluster is the snapshot `start`.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        none_runs(session)?;
        let exercise = built_in(&self.name).map_err(Refusal::new)?;
        let mut started = Session::start(self.common.options(exercise.nodes())?).await?;
        let begun = Episode::begin(exercise, started.controlled()).await;
        let episode = match begun {
            Ok(episode) => episode,
            Err(refusal) => {
                started.end().await;
                return Err(refusal);
            }
        };
        let mut answer = started.described().await?;
        answer["exercise"] = described(episode.exercise());
        started.episode = Some(episode);
        *session = Some(started);
        Ok(ToolAnswer::Json(answer))
    }
}
