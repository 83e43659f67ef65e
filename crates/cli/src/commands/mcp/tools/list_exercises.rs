use coracle_lesson::{Exercise, exercises};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::mcp::session::Session;
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Lists the exercises.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListExercisesTool {}

impl Tool for ListExercisesTool {
    const NAME: &'static str = "list_exercises";
    const ABOUT: &'static str = "List the exercises: broken clusters to repair, each with the report of a user.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn run(self, _: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let Self {} = self;
        let all: Vec<Value> = exercises().iter().map(described).collect();
        Ok(ToolAnswer::Json(json!({"exercises": all})))
    }
}

/// The subject of an exercise, and what a user reports.
pub(super) fn described(exercise: &Exercise) -> Value {
    let spec = &exercise.spec;
    json!({"name": exercise.metadata.name, "number": spec.number, "title": spec.title, "report": spec.report})
}
