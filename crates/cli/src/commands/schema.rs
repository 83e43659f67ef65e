use anyhow::Result;
use clap::{Args, ValueEnum};
use coracle_check::plan_schema;
use coracle_lesson::{exercise_schema, lesson_schema};
use coracle_scenario::scenario_schema;

use crate::exit;
use crate::output::out;

/// Prints the JSON Schema of a kind of files.
#[derive(Debug, Args)]
pub(crate) struct SchemaCommand {
    /// The kind of files
    #[arg(value_enum, value_name = "KIND")]
    kind: FileKind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FileKind {
    /// A cluster, steps, and conditions
    Scenario,
    /// A question and its answers, about the run of a scenario
    Lesson,
    /// The faults of a run that broke a controller
    Plan,
    /// A broken cluster to repair
    Exercise,
}

impl SchemaCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let schema = match self.kind {
            FileKind::Scenario => scenario_schema(),
            FileKind::Lesson => lesson_schema(),
            FileKind::Plan => plan_schema(),
            FileKind::Exercise => exercise_schema(),
        };
        out!("{schema:#}")?;
        Ok(exit::PASS)
    }
}
