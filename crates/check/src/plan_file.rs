use std::path::{Path, PathBuf};

use coracle_scenario::parse::{Problem, hash};
use serde_json::json;

use crate::Error;
use crate::plan::Plan;
use crate::plan_document::{COMPONENT, PlanDocument, PlanSpec, PlanSubject, read_document};

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A plan, and the run in which it broke a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFile {
    /// The plan.
    pub(crate) plan: Plan,
    /// The name of the controller, or of the component of a scenario.
    pub(crate) component: String,
    /// The path of the scenario, relative to the file; `None` for a plan of a program.
    pub(crate) scenario: Option<PathBuf>,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// The word of the check that failed.
    pub(crate) check: String,
    /// What was wrong.
    pub(crate) what: String,
    /// The version of the program that found it.
    pub(crate) coracle: Option<String>,
    /// The hash of the objects of the work.
    pub(crate) work: Option<String>,
    /// The hash of the event log, for a run that a seed decides.
    pub(crate) log: Option<String>,
    /// The writes of the run.
    pub(crate) trace: Vec<String>,
}

impl PlanFile {
    /// Reads a plan. `path` is for messages, and for the scenario, which the plan names relative to it.
    ///
    /// # Errors
    /// All problems: if the text is not a plan of this version, only the first place that shows it; otherwise the first one
    /// of each fault.
    pub fn read(path: &Path, text: &str) -> Result<Self, Vec<Problem>> {
        let document = read_document(path, text)?;
        let problems = document.problems(path, text);
        if problems.is_empty() { Ok(Self::of(document)) } else { Err(problems) }
    }

    /// Whether it is of a scenario, and can be replayed without a program.
    pub fn is_of_scenario(&self) -> bool {
        self.scenario.is_some()
    }

    /// The name of the controller, or of the component of the scenario.
    pub fn component(&self) -> &str {
        &self.component
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether one seed gives one event log: that of a controller in the process of the search.
    pub fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// What it recorded, a line each: the version and the seed, the check and what was wrong, and each fault.
    pub fn recorded(&self) -> Vec<String> {
        let version = self.coracle.as_ref().map(|version| format!(" by Coracle {version}")).unwrap_or_default();
        let found = format!("found{version} with seed {}", self.seed);
        let finding = (!self.check.is_empty()).then(|| format!("{}: {}", self.check, self.what));
        [found].into_iter().chain(finding).chain(self.plan.lines()).collect()
    }

    /// The plan, if it is of this controller.
    fn of_controller(self, name: &str) -> Option<Plan> {
        (self.component == name && self.scenario.is_none()).then_some(self.plan)
    }

    fn of(document: PlanDocument) -> Self {
        let PlanSpec { of, finds, faults, writes } = document.spec;
        let PlanSubject { component, scenario, coracle, seed, work, log } = of.value;
        Self {
            plan: Plan { faults: faults.value },
            component: component.map_or_else(|| COMPONENT.to_owned(), |component| component.value),
            scenario: scenario.map(|scenario| scenario.value),
            seed,
            check: finds.check.map(|check| check.value).unwrap_or_default(),
            what: finds.what.unwrap_or_default(),
            coracle,
            work,
            log,
            trace: writes,
        }
    }
}

/// The hash of an event log.
pub(crate) fn log_hash(log: &coracle_journal::Events) -> String {
    let lines: Vec<String> = log.entries.iter().map(|entry| json!(entry).to_string()).collect();
    hash(&lines.join("\n"))
}

/// The plans of a folder, in the order of their names. A folder that does not exist has none.
///
/// # Errors
/// If a file cannot be read, or is not a plan.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<PlanFile>, Error> {
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path);
        parse(path, &text.map_err(|error| Error::Input(format!("{}: {error}", path.display())))?)
    };
    paths.iter().map(read).collect()
}

/// The plans of a folder for a controller.
///
/// # Errors
/// Those of [`files_in`].
pub(crate) fn read_all(folder: &Path, component: &str) -> Result<Vec<Plan>, Error> {
    Ok(files_in(folder)?.into_iter().filter_map(|file| file.of_controller(component)).collect())
}

/// The plans in these texts that are of a component.
///
/// # Errors
/// If a text is not a plan.
pub(crate) fn parse_all(texts: &[String], component: &str) -> Result<Vec<Plan>, Error> {
    let path = Path::new("a plan that was given");
    let plans: Result<Vec<Option<Plan>>, Error> = texts.iter().map(|text| parse_of(path, text, component)).collect();
    Ok(plans?.into_iter().flatten().collect())
}

fn parse_of(path: &Path, text: &str, component: &str) -> Result<Option<Plan>, Error> {
    Ok(parse(path, text)?.of_controller(component))
}

/// Like [`PlanFile::read`], with the first problem.
pub(crate) fn parse(path: &Path, text: &str) -> Result<PlanFile, Error> {
    PlanFile::read(path, text).map_err(|problems| {
        let problem = problems.first().map(ToString::to_string);
        Error::Input(problem.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use coracle_scenario::parse::API_VERSION;

    use super::*;

    const OF: &str = "  of: {component: operator, seed: 7}\n";
    const FAULT: &str = "  faults: [{when: {by: operator, verb: create, nth: 1}, do: {lose: answer}}]\n";

    fn text(spec: &str) -> String {
        format!("apiVersion: {API_VERSION}\nkind: Plan\nspec:\n{spec}")
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let fault = json!({"when": {"by": "operator", "verb": "create", "nth": 1}, "do": {"lose": "answer"}});
        let (path, text) = (Path::new("a.yaml"), text(&format!("{OF}{FAULT}")));
        assert_eq!(parse_of(path, &text, "operator").unwrap(), Some(Plan::of([fault])));
        assert_eq!(parse_of(path, &text, "another").unwrap(), None);
        assert_eq!(parse(path, &text).unwrap().seed, 7);
    }

    #[test]
    fn what_is_no_plan_is_refused_with_its_place_and_the_nearest_word() {
        let with = |of: &str, faults: &str| text(&format!("{of}{faults}"));
        for (text, why) in [
            ("kind: Plan".to_owned(), "a.yaml:1:1: it is not a Plan of coracle.dev/v1alpha1"),
            (
                "apiVersion: coracle.dev/v9\nkind: Plan".to_owned(),
                "a.yaml:1:13: it is not a Plan of coracle.dev/v1alpha1, but one of coracle.dev/v9",
            ),
            ("a: [".to_owned(), "a.yaml:"),
            (with(OF, "  faults: []\n"), "a.yaml:5:11: a plan has at least one fault"),
            (with(OF, ""), "a.yaml:4:3: missing field `faults`"),
            (with("  of: {seed: 1}\n", FAULT), "a.yaml:4:7: `of` names a `component`, or a `scenario`"),
            (with("  of: {componentt: a}\n", FAULT), "a.yaml:4:8: unknown field `componentt`"),
            (with(OF, "  faults: [{do: {kil: a}}]\n"), "a.yaml:5:18: unknown fault `kil`"),
            (
                with(OF, "  faults: [{when: {verb: creat, resource: foos}, do: {lose: answer}}]\n"),
                "a.yaml:5:26: unknown verb `creat`",
            ),
            (with(OF, &format!("  finds: {{check: hot-lop}}\n{FAULT}")), "a.yaml:5:18: unknown check `hot-lop`"),
            (
                with("  of: {scenario: none.yaml}\n", FAULT),
                "a.yaml:4:18: the scenario none.yaml of this plan cannot be read",
            ),
        ] {
            let found = parse(Path::new("a.yaml"), &text).unwrap_err().to_string();
            assert!(found.starts_with(why), "{text}\n{found}");
        }
    }

    #[test]
    fn each_fault_has_a_problem_of_its_own_and_kinds_of_the_program_are_none() {
        let faults = "  faults:\n  - {do: {kil: operator}}\n  - {do: {lag: 5s, kind: Foo, to: operator}}\n  - {do: {lag: soon}}\n";
        let problems = PlanFile::read(Path::new("a.yaml"), &text(&format!("{OF}{faults}"))).unwrap_err();
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [6, 8], "{problems:?}");
    }
}
