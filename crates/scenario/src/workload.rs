use std::path::{Path, PathBuf};

use coracle_cluster::Cluster;
use coracle_sim::{Invariant, InvariantQuestion, World};
use coracle_yaml::YamlNode;
use serde_json::Value;

use crate::BuiltIn;
use crate::fault_list::PluralsOfKinds;
use crate::faults::Faults;
use crate::file::{Scenario, Step};
use crate::parse::{Checker, DocumentKind, Known, Problem, Vocabulary, yaml};
use crate::path::Position;
use crate::placed::place_in;
use crate::question::{at_rest, invariants};
use crate::report::{Failure, Outcome};
use crate::run::ScenarioRun;
use crate::running_faults::RunningFaults;
use crate::step_memory::StepMemory;

/// The user of steps without one.
const SCENARIO: &str = "scenario";
/// The parts of a scenario that are about a cluster of its own.
const OF_THE_CLUSTER: [(&str, &str); 2] = [
    ("cluster", "a workload has no cluster of its own: `coracle check` starts an API server and controllers"),
    ("requests", "a workload counts no requests: `coracle check` judges them"),
];

/// The work of a user as a scenario, for a cluster that exists already.
#[derive(Clone, Debug)]
pub struct Workload {
    scenario: Scenario,
    path: PathBuf,
    /// The kinds that the cluster serves in addition to the built-in ones.
    custom: PluralsOfKinds,
}

impl Workload {
    /// Reads the text of a scenario; `path` is for messages and for files named in it. `component` can be named in
    /// faults, and `served` are the kinds of the cluster.
    ///
    /// # Errors
    /// What is wrong with it, with its line and column.
    pub fn parse(path: &Path, text: &str, component: &str, served: PluralsOfKinds) -> Result<Self, Problem> {
        DocumentKind::Scenario.expect(path, text)?;
        let scenario: Scenario = yaml(path, text)?;
        let whole: Value = yaml(path, text)?;
        for (part, why) in OF_THE_CLUSTER {
            if whole.pointer(&format!("/spec/{part}")).is_some() {
                let (line, column) = place_of(text, part);
                return Err(Problem { file: path.to_owned(), line, column, message: format!("`{part}`: {why}") });
            }
        }
        let (mut known, built_in) = (Known::of(&scenario, path), BuiltIn::default());
        let is_custom = |(api_version, kind): &(String, String)| built_in.plural(api_version, kind).is_none();
        known.custom.extend(served.into_iter().filter(|(kind, _)| is_custom(kind)));
        known.components.insert(component.to_owned());
        let custom = known.custom.clone();
        let problems = Checker { path, text, vocabulary: &built_in, known }.problems(&scenario);
        match problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(Self { scenario, path: path.to_owned(), custom }),
        }
    }

    /// A scenario that was read and checked, without the cluster that it describes.
    pub fn of(scenario: Scenario, path: &Path) -> Self {
        let custom = Known::of(&scenario, path).custom;
        Self { scenario, path: path.to_owned(), custom }
    }

    /// The same work with this step alone, in a cluster in which its faults have begun.
    #[must_use]
    pub fn only(mut self, step: Step) -> Self {
        self.scenario.spec.faults = Vec::new();
        self.scenario.spec.steps = vec![step];
        self
    }

    /// The namespace of resources without one.
    pub fn namespace(&self) -> &str {
        &self.scenario.spec.namespace
    }

    /// The users of its steps.
    pub fn users(&self) -> Vec<String> {
        let steps = self.scenario.spec.steps.iter();
        let mut users: Vec<String> =
            steps.map(|step| step.user.clone().unwrap_or_else(|| SCENARIO.to_owned())).collect();
        users.sort();
        users.dedup();
        users
    }

    /// What has to hold, or must not hold, at every revision.
    pub fn throughout(&self) -> Vec<Invariant> {
        invariants(&self.scenario)
    }

    /// What has to hold at rest, with its sentence.
    pub fn at_rest(&self) -> Vec<(String, InvariantQuestion)> {
        at_rest(&self.scenario)
    }

    /// Begins it in a cluster. `world` has the objects of the cluster, and `running` are its other faults.
    pub fn begin<'a>(&'a self, cluster: &'a Cluster, world: &World, running: &RunningFaults) -> RunningWorkload<'a> {
        let faults = running.others(self.custom.clone(), world);
        self.scenario.spec.faults.iter().for_each(|fault| faults.plan(&fault.value));
        let run = ScenarioRun::new(&self.scenario, &self.path, cluster, world.clone(), faults.clone());
        RunningWorkload { scenario: &self.scenario, run, faults }
    }
}

/// Where a part of a scenario is.
fn place_of(text: &str, part: &str) -> (u64, u64) {
    let path = ["spec", part].map(|name| Position::Key(name.to_owned()));
    let place = YamlNode::parse(text).ok().and_then(|root| place_in(text, root.location, &path));
    place.map_or((0, 0), |place| (place.line(), place.column()))
}

/// A workload in a cluster.
pub struct RunningWorkload<'a> {
    scenario: &'a Scenario,
    run: ScenarioRun<'a>,
    faults: Faults,
}

impl std::fmt::Debug for RunningWorkload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningWorkload").field("name", &self.scenario.metadata.name).finish_non_exhaustive()
    }
}

impl RunningWorkload<'_> {
    /// Takes the steps. `between` is called after each, and returns whether the next one is taken. `tries_again` is
    /// called after an operation that failed, and returns whether it is tried again.
    ///
    /// # Errors
    /// Why a step failed.
    pub async fn take(
        &mut self,
        mut between: impl AsyncFnMut() -> bool,
        mut tries_again: impl AsyncFnMut() -> bool,
    ) -> Result<(), String> {
        self.faults.begin_run();
        for step in &self.scenario.spec.steps {
            self.run.step_again(step, &mut tries_again).await.map_err(|stopped| why(&stopped))?;
            if !between().await {
                return Ok(());
            }
        }
        self.run.joined().await.map_err(|stopped| why(&stopped))
    }

    /// Continues what steps have left in a memory: names of objects, and toys.
    #[must_use]
    pub fn continuing(mut self, memory: &StepMemory) -> Self {
        self.run.remember(memory);
        self
    }

    /// Takes the steps to the first one that fails.
    ///
    /// # Errors
    /// What failed, with its line in the text of the workload.
    pub async fn take_all(&mut self) -> Result<(), Outcome> {
        self.faults.begin_run();
        for step in &self.scenario.spec.steps {
            self.run.step_again(step, &mut async || false).await?;
        }
        self.run.joined().await
    }

    /// Ends all of its faults.
    pub fn end_faults(&self) {
        self.faults.end_all();
    }
}

/// Why a step ended the scenario.
fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => "it passed".to_owned(),
        Outcome::Failed(Failure { what, expected, found, .. })
        | Outcome::NotInTime(Failure { what, expected, found, .. })
        | Outcome::NothingMatched(Failure { what, expected, found, .. }) => {
            format!("{what}: expected {expected}, found {found}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n";

    fn read(rest: &str) -> Result<Workload, String> {
        let served = PluralsOfKinds::from([(("example.com/v1".to_owned(), "Foo".to_owned()), "foos".to_owned())]);
        let read = Workload::parse(Path::new("w.yaml"), &format!("{HEAD}{rest}"), "operator", served);
        read.map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_workload_knows_the_kinds_of_its_cluster_and_the_component() {
        let foo = "{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}}";
        let workload = read(&format!(
            "  steps:\n  - name: a\n    user: alice\n    try: [{{create: {{resource: {foo}}}}}]\n  - name: b\n    try: []\n  \
             never: [{{name: two, cel: foos.size() > 1}}]\n  eventually: [{{name: one, cel: foos.size() == 1}}]\n  \
             faults: [{{do: {{lag: 1s, kind: Foo, to: operator}}}}, {{do: {{kill: operator}}}}]\n"
        ))
        .unwrap();
        assert_eq!(workload.users(), ["alice", "scenario"]);
        assert_eq!((workload.throughout().len(), workload.at_rest().len()), (1, 1));
    }

    #[test]
    fn what_a_workload_cannot_have_is_refused_with_its_place() {
        for (rest, message) in [
            ("  cluster: {nodes: 2}\n  steps: []\n", "w.yaml:5:3: `cluster`: a workload has no cluster of its own"),
            ("  steps: []\n  requests: []\n", "w.yaml:6:3: `requests`: a workload counts no requests"),
            ("  steps: []\n  eventualy: []\n", "w.yaml:6:3: unknown field `eventualy`"),
            (
                "  steps: []\n  never: [{name: a, cel: fos.size() > 1}]\n",
                "w.yaml:6:26: bad expression: `fos` is neither",
            ),
            (
                "  steps: []\n  eventually: [{name: a, cel: foos.size() > 1, since: b}]\n",
                "w.yaml:6:55: `eventually` is about the end, and takes no `since`",
            ),
            ("  steps: []\n  faults: [{do: {kill: operater}}]\n", "w.yaml:6:18: unknown component `operater`"),
            (
                "  steps:\n  - name: a\n    try: [{create: {resource: {apiVersion: example.com/v1, kind: Fo}}}]\n",
                "w.yaml:7:31: no kind `Fo` in `example.com/v1`; did you mean `Foo`?",
            ),
        ] {
            let found = read(rest).unwrap_err();
            assert!(found.starts_with(message), "{rest}: {found}");
        }
    }
}
