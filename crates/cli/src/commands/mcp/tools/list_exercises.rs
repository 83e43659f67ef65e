use coracle_lesson::{Exercise, exercises};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::mcp::answer::{Answer, Refusal};
use crate::commands::mcp::session::Session;
use crate::commands::mcp::tool::{Effect, Tool};

/// Lists the exercises.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListExercises {}

impl Tool for ListExercises {
    const NAME: &'static str = "list_exercises";
    const ABOUT: &'static str = "List the exercises: broken clusters to repair, each with the report of a user.";
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, _: &mut Option<Session>) -> Result<Answer, Refusal> {
        let Self {} = self;
        let all: Vec<Value> = exercises().iter().map(described).collect();
        Ok(Answer::Json(json!({"exercises": all})))
    }
}

/// The subject of an exercise, and what a user reports.
pub(super) fn described(exercise: &Exercise) -> Value {
    let spec = &exercise.spec;
    json!({"name": exercise.metadata.name, "number": spec.number, "title": spec.title, "report": spec.report})
}
