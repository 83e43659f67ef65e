use std::path::{Path, PathBuf};

use coracle_scenario::file::{Metadata, Spec as ScenarioSpec};
use coracle_scenario::parse::{self, API_VERSION, DocumentKind, Problem, hash, read_text, yaml};
use coracle_scenario::{BuiltIn, Scenario, Workload, file_schema};
use coracle_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::plan::{Wrong, known_word};

/// An exercise file: a cluster that a scenario breaks, and claims that hold when it is repaired.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exercise {
    /// `coracle.dev/v1alpha1`.
    #[schemars(with = "String")]
    pub api_version: Spanned<String>,
    /// `Exercise`.
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// The name.
    pub metadata: Metadata,
    /// The contents of the exercise.
    pub spec: ExerciseSpec,
    /// The file.
    #[serde(skip)]
    path: PathBuf,
    /// The hash of the file's text.
    #[serde(skip)]
    hash: String,
}

/// The contents of an exercise.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExerciseSpec {
    /// Its position in the list, from 1.
    pub number: u32,
    /// Its subject, in one line.
    pub title: String,
    /// How many minutes it takes.
    pub minutes: u32,
    /// What is wrong, as a user would report it.
    pub report: String,
    /// What helps, one after the other.
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub hints: Spanned<Vec<String>>,
    /// What was wrong, for learners who have repaired it.
    pub explanation: String,
    /// The steps that break the cluster. Its nodes are those of the cluster. `eventually` has to hold in the repaired
    /// cluster, and `always` and `never` from the first step on.
    #[schemars(with = "ScenarioSpec", extend("required" = ["eventually"]))]
    pub scenario: Spanned<ScenarioSpec>,
}

impl Exercise {
    /// Its work in a cluster that exists.
    pub fn workload(&self) -> Workload {
        Workload::of(self.scenario(), &self.path)
    }

    /// The number of nodes of its cluster.
    pub fn nodes(&self) -> usize {
        self.spec.scenario.value.cluster.nodes.value.shapes().len()
    }

    /// The scenario that breaks the cluster, with the claims.
    pub fn scenario(&self) -> Scenario {
        Scenario {
            api_version: self.api_version.clone(),
            kind: Spanned { value: "Scenario".to_owned(), ..self.kind.clone() },
            metadata: self.metadata.clone(),
            spec: self.spec.scenario.value.clone(),
            hash: self.hash.clone(),
        }
    }
}

/// The JSON Schema of exercise files.
pub fn exercise_schema() -> Value {
    file_schema::<Exercise>(DocumentKind::Exercise)
}

/// Reads and checks an exercise file.
///
/// # Errors
/// The error, with file, line and column.
pub fn read_exercise(path: &Path) -> Result<Exercise, Problem> {
    parse_exercise(path, &read_text(path)?)
}

/// Like [`read_exercise`], for a text that was read already; `path` is for messages.
///
/// ```
/// let text = "apiVersion: coracle.dev/v1alpha1\nkind: Exercise\nmetadata: {name: a}\nspec: {titel: b}\n";
/// let problem = coracle_lesson::parse_exercise("a.yaml".as_ref(), text).unwrap_err();
/// assert_eq!((problem.line, problem.column), (4, 8));
/// ```
///
/// # Errors
/// As [`read_exercise`].
pub fn parse_exercise(path: &Path, text: &str) -> Result<Exercise, Problem> {
    DocumentKind::Exercise.expect(path, text)?;
    let mut exercise: Exercise = yaml(path, text)?;
    let problem = |(place, message): Wrong| Problem {
        file: path.to_owned(),
        line: place.line(),
        column: place.column(),
        message,
    };
    known_word(&exercise.api_version, &[API_VERSION], "apiVersion").map_err(problem)?;
    known_word(&exercise.kind, &[DocumentKind::Exercise.name()], "kind").map_err(problem)?;
    checked(&exercise.spec).map_err(problem)?;
    (exercise.path, exercise.hash) = (path.to_owned(), hash(text));
    parse::check(path, text, &exercise.scenario(), &BuiltIn::default())?;
    Ok(exercise)
}

/// Checks what the format of the file cannot express.
fn checked(spec: &ExerciseSpec) -> Result<(), Wrong> {
    if spec.hints.value.is_empty() {
        return Err((spec.hints.location, "there are no hints, expected at least one".to_owned()));
    }
    let scenario = &spec.scenario.value;
    if scenario.eventually.is_empty() {
        let why = "nothing has to hold in the repaired cluster, expected at least one claim in `eventually`";
        return Err((spec.scenario.location, why.to_owned()));
    }
    if !scenario.requests.is_empty() {
        return Err((spec.scenario.location, "`requests`: an exercise counts no requests".to_owned()));
    }
    Ok(())
}
