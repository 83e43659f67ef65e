use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Error;
use crate::check_report::Found;
use crate::plan::Plan;
use crate::trial::Setup;

/// The version of the format.
const API_VERSION: &str = "coracle.dev/v1alpha1";

/// Writes a plan into a folder, and returns the path. A plan of the same check and faults has the same name.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(folder: &Path, setup: &Setup, found: &Found) -> Result<PathBuf, Error> {
    let cannot = |path: &Path, error: std::io::Error| Error::Input(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let document = document(setup, found);
    let text = coracle_yaml::to_yaml(&document);
    let free = |number: usize| folder.join(format!("{}-{number}.yaml", found.finding.check.word));
    let mut number = 1;
    loop {
        let path = free(number);
        match std::fs::read_to_string(&path) {
            Ok(other) if other == text => return Ok(path),
            Ok(_) => number += 1,
            Err(_) => {
                std::fs::write(&path, &text).map_err(|error| cannot(&path, error))?;
                return Ok(path);
            }
        }
    }
}

fn document(setup: &Setup, found: &Found) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "metadata": {"name": format!("{}-{}", setup.name, found.finding.check.word)},
        "spec": {
            "of": {"component": setup.name, "seed": found.seed},
            "finds": {"check": found.finding.check.word, "what": found.finding.violation.what},
            "faults": found.plan.faults,
        },
    })
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
    let plans: Result<Vec<Option<Plan>>, String> = texts.iter().map(|text| parse(text, component)).collect();
    Ok(plans.map_err(|why| Error::Input(format!("a plan that was given: {why}")))?.into_iter().flatten().collect())
}

/// A plan from a file; `None` if it is of another component.
fn read(path: &Path, component: &str) -> Result<Option<Plan>, Error> {
    let bad = |why: String| Error::Input(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    parse(&text, component).map_err(bad)
}

fn parse(text: &str, component: &str) -> Result<Option<Plan>, String> {
    let document: Value = serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())?;
    let field = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if (field("/apiVersion"), field("/kind")) != (API_VERSION, "Plan") {
        return Err(format!("it is not a Plan of {API_VERSION}"));
    }
    let faults = document.pointer("/spec/faults").and_then(Value::as_array);
    let faults = faults.filter(|faults| !faults.is_empty()).ok_or("its `spec.faults` is not a list of faults")?;
    Ok((field("/spec/of/component") == component).then(|| Plan { faults: faults.clone() }))
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
        assert_eq!(parse(&text, "operator"), Ok(Some(Plan { faults: faults.as_array().unwrap().clone() })));
        assert_eq!(parse(&text, "another"), Ok(None));
        let mut empty = document.clone();
        empty["spec"]["faults"] = json!([]);
        for (text, why) in [
            ("kind: Plan".to_owned(), "it is not a Plan of coracle.dev/v1alpha1"),
            (coracle_yaml::to_yaml(&empty), "its `spec.faults` is not a list of faults"),
        ] {
            assert_eq!(parse(&text, "operator"), Err(why.to_owned()));
        }
        assert!(parse("a: [", "operator").is_err());
    }
}
