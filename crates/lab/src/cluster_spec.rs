use std::path::PathBuf;

use coracle_lesson::Exercise;
use coracle_release::Release;
use coracle_scenario::{BuiltIn, Options, Scenario, parse};
use serde::Deserialize;

use crate::error::LabError;
use crate::exercise_list::exercise_named;

/// The nodes of a cluster for which the page asks for none.
const NODES: usize = 2;

/// The cluster that a page wants.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The Kubernetes release; absent for that of the scenario, or the newest.
    kubernetes: Option<String>,
    /// The number of nodes; a scenario has its own.
    nodes: Option<usize>,
    /// The seed; absent for that of the scenario, or 1.
    seed: Option<u64>,
    /// The text of a scenario, for its nodes, images and faults.
    scenario: Option<String>,
    /// The file of that text, for messages.
    path: Option<PathBuf>,
    /// The name of an exercise.
    exercise: Option<String>,
}

/// A cluster that can be started.
pub(crate) struct ClusterSpec {
    pub(crate) scenario: Scenario,
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) exercise: Option<Exercise>,
}

impl ClusterSpec {
    pub(crate) fn of(wanted: Wanted) -> Result<Self, LabError> {
        let Wanted { kubernetes, nodes, seed, scenario, path, exercise } = wanted;
        let kubernetes = kubernetes.map(|version| release("kubernetes", &version)).transpose()?;
        let options = Options { seed, kubernetes, ..Options::default() };
        if let Some(name) = exercise {
            if scenario.is_some() || nodes.is_some() {
                return Err(LabError::new("an exercise has a cluster of its own: leave `scenario` and `nodes` out"));
            }
            let exercise = exercise_named(&name)?;
            let path = PathBuf::from(format!("exercises/{name}.yaml"));
            return Ok(Self { scenario: exercise.scenario(), path, options, exercise: Some(exercise) });
        }
        if scenario.is_some() && nodes.is_some() {
            return Err(LabError::new("a scenario has nodes of its own: leave `nodes` out"));
        }
        let (path, text) = match scenario {
            Some(text) => (path.unwrap_or_else(|| PathBuf::from("scenario.yaml")), text),
            None => (PathBuf::from("lab.yaml"), empty(nodes.unwrap_or(NODES))),
        };
        let scenario = parse::parse_all(&path, &text, &BuiltIn::default())?;
        Ok(Self { scenario, path, options, exercise: None })
    }

    /// The text of its path.
    pub(crate) fn file(&self) -> String {
        self.path.display().to_string()
    }
}

/// A scenario without steps.
fn empty(nodes: usize) -> String {
    format!(
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: lab}}\n\
         spec: {{cluster: {{nodes: {nodes}, metricsServer: true}}, steps: []}}\n"
    )
}

/// The release with a version.
pub(crate) fn release(field: &str, version: &str) -> Result<Release, LabError> {
    Release::named(version).map_err(|why| LabError::new(format!("{field}: {why}")))
}
