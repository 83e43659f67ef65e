use schemars::JsonSchema;
use serde::Deserialize;

use super::list_exercises::described;
use super::start_cluster::Common;
use crate::commands::exercise::built_in;
use crate::commands::mcp::answer::{Answer, Refusal};
use crate::commands::mcp::episode::Episode;
use crate::commands::mcp::session::{Session, none_runs};
use crate::commands::mcp::tool::{Effect, Tool};

/// Starts an exercise.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StartExercise {
    /// The name or the number of the exercise.
    name: String,
    #[serde(flatten)]
    common: Common,
}

impl Tool for StartExercise {
    const NAME: &'static str = "start_exercise";
    const ABOUT: &'static str = "Start a cluster and break it, as an exercise says. Returns what a user reports. Repair it with \
        the other tools, then call check_exercise. The broken cluster is the snapshot `start`.";
    const EFFECT: Effect = Effect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<Answer, Refusal> {
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
        Ok(Answer::Json(answer))
    }
}
