use std::fmt;
use std::path::Path;
use std::sync::Arc;

use coracle_journal::Events;
use coracle_viewer::{RunPair, where_they_part};

use crate::plan::Plan;
use crate::plan_file::{PlanFile, VERSION, log_hash};
use crate::trace::first_difference;

/// A plan from a file, which was tried again.
#[derive(Debug)]
pub struct Replayed {
    /// The name of the file.
    pub file: String,
    /// The word of the check that it made fail.
    pub check: String,
    /// Whether it does so still.
    pub is_found_again: bool,
    /// What has changed since, a sentence each.
    pub changes: Vec<String>,
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, check, is_found_again, changes } = self;
        let again = if *is_found_again { "still fails" } else { "does not fail any more" };
        writeln!(f, "{file}: {check} {again}")?;
        changes.iter().try_for_each(|change| writeln!(f, "    {change}"))
    }
}

/// A run of a plan that was found before.
#[derive(Clone, Debug)]
pub(crate) struct KnownRun {
    /// The plan.
    pub(crate) plan: Plan,
    /// The words of the checks that failed.
    pub(crate) words: Vec<String>,
    /// The writes of the run.
    pub(crate) trace: Vec<String>,
    /// Its event log, if logs are kept.
    pub(crate) log: Option<Arc<Events>>,
    /// What is said of each fault that did not strike.
    pub(crate) missed: Vec<String>,
}

/// How the plans of files went. `work` is the hash of the objects of the work.
pub(crate) fn replayed(files: &[(String, PlanFile)], runs: &[KnownRun], work: &str) -> Vec<Replayed> {
    // Two files may have the same plan.
    let mut left: Vec<&KnownRun> = runs.iter().collect();
    let of = |(name, file): &(String, PlanFile)| {
        let run = left.remove(left.iter().position(|run| run.plan == file.plan)?);
        let is_found_again = run.words.contains(&file.check);
        let changes = changes(Path::new(name), file, run, work);
        Some(Replayed { file: name.clone(), check: file.check.clone(), is_found_again, changes })
    };
    files.iter().filter_map(of).collect()
}

/// What has changed since a plan was found.
fn changes(path: &Path, file: &PlanFile, run: &KnownRun, work: &str) -> Vec<String> {
    let mut changes = Vec::new();
    if let Some(version) = file.coracle.as_ref().filter(|version| *version != VERSION) {
        changes.push(format!("it was found by Coracle {version}, and this is Coracle {VERSION}"));
    }
    if file.work.as_ref().is_some_and(|other| other != work) {
        changes.push(match file.scenario {
            Some(_) => "its scenario has changed".to_owned(),
            None => "its definitions, given objects or samples are not those of this check".to_owned(),
        });
    }
    changes.extend(run.missed.iter().cloned());
    if !file.trace.is_empty() {
        changes.extend(first_difference(&file.trace, &run.trace));
    }
    if let (Some(was), Some(log)) = (&file.log, &run.log)
        && *was != log_hash(log)
    {
        match first_event_that_differs(path, was, log) {
            Some(event) => changes.push(event),
            None if changes.is_empty() => changes.push("the event log differs, but no write does".to_owned()),
            None => {}
        }
    }
    changes
}

/// The first event in which a run differs from the one on the page next to a plan; `None` if there is no page of the run
/// whose log has this hash.
fn first_event_that_differs(plan: &Path, hash: &str, is: &Events) -> Option<String> {
    let was = coracle_viewer::read(&plan.with_extension("html")).ok()?.events;
    let is_of_the_plan = log_hash(&was) == hash;
    let both = RunPair::of(&was, is, ["recorded", "replayed"]);
    let text = where_they_part(&both).trim_end().replace('\n', "\n    ");
    is_of_the_plan.then(|| format!("the event log differs; {text}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(words: &[&str], trace: &[&str]) -> KnownRun {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let plan = Plan::of([json!({"do": {"kill": "a"}})]);
        KnownRun { plan, words: texts(words), trace: texts(trace), log: None, missed: Vec::new() }
    }

    fn file(trace: &[&str]) -> (String, PlanFile) {
        let KnownRun { plan, trace, .. } = run(&[], trace);
        let (check, work) = ("leaves-behind".to_owned(), Some("w".to_owned()));
        ("f.yaml".to_owned(), PlanFile { plan, check, work, trace, ..PlanFile::default() })
    }

    #[test]
    fn a_replay_shows_whether_the_check_fails_again_and_the_first_write_that_differs() {
        let again = replayed(&[file(&["a", "b"])], &[run(&["leaves-behind"], &["a", "b"])], "w");
        assert_eq!(again[0].to_string(), "f.yaml: leaves-behind still fails\n");
        let gone = replayed(&[file(&["a", "b"])], &[run(&["hot-loop"], &["a", "c"])], "other");
        assert_eq!(
            gone[0].to_string(),
            "f.yaml: leaves-behind does not fail any more\n    \
             its definitions, given objects or samples are not those of this check\n    \
             write 2 is `c` instead of `b`\n"
        );
    }
}
