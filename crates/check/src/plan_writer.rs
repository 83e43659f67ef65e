use std::path::{Path, PathBuf};

use coracle_scenario::parse::{API_VERSION, DocumentKind};
use coracle_viewer::{RunPair, write_pair};
use serde_json::{Value, json};

use crate::Error;
use crate::check_report::Found;
use crate::plan_file::{PlanFile, log_hash, parse};
use crate::plan_origin::PlanOrigin;

/// The names of the runs on a page.
const CALLED: [&str; 2] = ["without the fault", "with the fault"];

/// Writes each plan into the folder, and notes its file.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write_all(folder: &Path, origin: &PlanOrigin, found: &mut [Found], pages: bool) -> Result<(), Error> {
    for found in found {
        found.file = Some(write(folder, origin, found, pages)?);
    }
    Ok(())
}

/// Writes a plan into a folder, and returns the path. A plan of the same check and faults has the same name. With `pages`,
/// a page with both runs, with and without the faults, is written next to it.
///
/// # Errors
/// If a file cannot be written.
fn write(folder: &Path, origin: &PlanOrigin, found: &Found, pages: bool) -> Result<PathBuf, Error> {
    let cannot = |path: &Path, error: std::io::Error| Error::Input(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let text = coracle_yaml::to_yaml(&document(folder, origin, found));
    let path = free_path(folder, origin, found);
    std::fs::write(&path, &text).map_err(|error| cannot(&path, error))?;
    if let (true, Some((faultless, faulty))) = (pages, &found.logs) {
        let both = RunPair::of(faultless, faulty, CALLED);
        write_pair(&both, &path.with_extension("html")).map_err(|error| Error::Input(error.to_string()))?;
    }
    Ok(path)
}

/// The path of the file with the same check and faults, or else one that is free.
fn free_path(folder: &Path, origin: &PlanOrigin, found: &Found) -> PathBuf {
    let check = found.finding.check.word;
    let is_taken = |path: &PathBuf| {
        let Ok(text) = std::fs::read_to_string(path) else { return false };
        let is_plan = matches!(DocumentKind::of(path, &text), Ok(Some(DocumentKind::Plan)));
        let is_same = |file: PlanFile| file.check == check && file.plan == found.plan && origin.is_of(folder, &file);
        parse(path, &text).is_ok_and(|file| !is_same(file)) || !is_plan
    };
    let paths = (1..).map(|number| folder.join(format!("{check}-{number}.yaml")));
    paths.into_iter().find(|path| !is_taken(path)).unwrap_or_default()
}

fn document(folder: &Path, origin: &PlanOrigin, found: &Found) -> Value {
    let mut of = origin.document(folder, found.seed);
    if let (true, Some((_, log))) = (origin.has_one_log, &found.logs) {
        of["log"] = json!(log_hash(log));
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "metadata": {"name": origin.name(found.finding.check.word)},
        "spec": {
            "of": of,
            "finds": {"check": found.finding.check.word, "what": found.finding.violation.what},
            "faults": found.plan.faults,
            "writes": found.trace,
        },
    })
}
