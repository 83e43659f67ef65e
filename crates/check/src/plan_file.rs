use std::path::{Path, PathBuf};

use coracle_scenario::parse::{Problem, hash};
use serde_json::json;

use crate::Error;
use crate::plan::Plan;
use crate::plan_document::{PlanDocument, PlanSpec, PlanSubject, read_document};
use crate::scenario_words::COMPONENT;

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

/// The plans of a folder for a component, in the order of their names. A folder that does not exist has none.
///
/// # Errors
/// If a file cannot be read, or is not a plan.
pub(crate) fn read_all(folder: &Path, component: &str) -> Result<Vec<Plan>, Error> {
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    let plans: Result<Vec<Option<Plan>>, Error> = paths.iter().map(|path| read(path, component)).collect();
    Ok(plans?.into_iter().flatten().collect())
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

/// A plan from a file; `None` if it is of another component.
fn read(path: &Path, component: &str) -> Result<Option<Plan>, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::Input(format!("{}: {error}", path.display())))?;
    parse_of(path, &text, component)
}

fn parse_of(path: &Path, text: &str, component: &str) -> Result<Option<Plan>, Error> {
    let file = parse(path, text)?;
    Ok((file.component == component && file.scenario.is_none()).then_some(file.plan))
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
    use super::*;
    use crate::plan_document::API_VERSION;

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
