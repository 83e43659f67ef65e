use std::path::{Path, PathBuf};

use coracle_scenario::parse::hash;
use serde_json::{Value, json};

use crate::Error;
use crate::plan::Plan;

/// The version of the format.
pub(crate) const API_VERSION: &str = "coracle.dev/v1alpha1";
/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A plan, and the run in which it broke a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanFile {
    /// The plan.
    pub(crate) plan: Plan,
    /// The name of the controller.
    pub(crate) component: String,
    /// The word of the check that failed.
    pub(crate) check: String,
    /// The version of the program that found it.
    pub(crate) coracle: Option<String>,
    /// The hash of the objects of the work.
    pub(crate) work: Option<String>,
    /// The hash of the event log, for a run that a seed decides.
    pub(crate) log: Option<String>,
    /// The writes of the run.
    pub(crate) trace: Vec<String>,
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
    let plans: Result<Vec<Option<Plan>>, String> = texts.iter().map(|text| parse_of(text, component)).collect();
    Ok(plans.map_err(|why| Error::Input(format!("a plan that was given: {why}")))?.into_iter().flatten().collect())
}

/// A plan from a file; `None` if it is of another component.
fn read(path: &Path, component: &str) -> Result<Option<Plan>, Error> {
    let bad = |why: String| Error::Input(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    parse_of(&text, component).map_err(bad)
}

fn parse_of(text: &str, component: &str) -> Result<Option<Plan>, String> {
    parse(text).map(|file| (file.component == component).then_some(file.plan))
}

/// Whether a text is a plan of a search, of any version.
pub fn is_plan(text: &str) -> bool {
    let document: Result<Value, _> = serde_saphyr::from_str(text);
    document.is_ok_and(|document| document.get("kind").and_then(Value::as_str) == Some("Plan"))
}

/// Reads a plan.
///
/// # Errors
/// If the text is not a plan of this version.
pub(crate) fn parse(text: &str) -> Result<PlanFile, String> {
    let document: Value = serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())?;
    let field = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let is_kind = field("/kind").as_deref() == Some("Plan");
    if !is_kind || field("/apiVersion").as_deref() != Some(API_VERSION) {
        let found = field("/apiVersion").filter(|_| is_kind);
        let found = found.map(|version| format!(", but one of {version}")).unwrap_or_default();
        return Err(format!("it is not a Plan of {API_VERSION}{found}"));
    }
    let list = |pointer: &str| document.pointer(pointer).and_then(Value::as_array);
    let faults = list("/spec/faults").filter(|faults| !faults.is_empty());
    let faults = faults.ok_or("its `spec.faults` is not a list of faults")?;
    let writes = list("/spec/writes").into_iter().flatten().filter_map(Value::as_str);
    Ok(PlanFile {
        plan: Plan { faults: faults.clone() },
        component: field("/spec/of/component").unwrap_or_default(),
        check: field("/spec/finds/check").unwrap_or_default(),
        coracle: field("/spec/of/coracle"),
        work: field("/spec/of/work"),
        log: field("/spec/of/log"),
        trace: writes.map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written_and_anything_else_is_refused() {
        let faults = json!([{"when": {"by": "operator", "verb": "create", "nth": 1}, "do": {"lose": "answer"}}]);
        let document = json!({
            "apiVersion": API_VERSION, "kind": "Plan", "metadata": {"name": "a"},
            "spec": {"of": {"component": "operator", "seed": 1}, "faults": faults},
        });
        let text = coracle_yaml::to_yaml(&document);
        assert_eq!(parse_of(&text, "operator"), Ok(Some(Plan { faults: faults.as_array().unwrap().clone() })));
        assert_eq!(parse_of(&text, "another"), Ok(None));
        let mut empty = document.clone();
        empty["spec"]["faults"] = json!([]);
        for (text, why) in [
            ("kind: Plan".to_owned(), "it is not a Plan of coracle.dev/v1alpha1"),
            (
                "apiVersion: coracle.dev/v9\nkind: Plan".to_owned(),
                "it is not a Plan of coracle.dev/v1alpha1, but one of coracle.dev/v9",
            ),
            (coracle_yaml::to_yaml(&empty), "its `spec.faults` is not a list of faults"),
        ] {
            assert_eq!(parse_of(&text, "operator"), Err(why.to_owned()));
        }
        assert!(parse_of("a: [", "operator").is_err());
    }
}
