use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_scenario::{Mode, Options, Outcome, Report, execute};
use parking_lot::Mutex;

use super::count;
use super::draw::{DELETIONS, Drawn, Operation};
use super::history::History;

/// How a scenario ends: the exit code, and the step or check that ended it, with the revision where that is certain.
#[derive(Debug, PartialEq)]
enum Verdict {
    Passed,
    Failed(String, Option<i64>),
    NotInTime(String),
}

fn step_entry<'e>(entries: &'e [Entry], stage: Stage, name: &str) -> Option<&'e Entry> {
    let is_named = |entry: &&Entry| entry.data.get("name").is_some_and(|found| found == name);
    entries.iter().filter(|entry| entry.stage == stage).find(is_named)
}

/// The verdicts that the history allows: one, unless something was committed at the very instant at which a check began.
fn expected(drawn: &Drawn, entries: &[Entry]) -> Vec<Verdict> {
    let history = History::of(entries);
    let ended = step_end(drawn, entries, &history);
    // What holds throughout is judged when the steps and their last writes are over; the first entry that says so is the end.
    let end = drawn
        .throughout
        .iter()
        .flat_map(|(_, name, _)| [Stage::CheckPass, Stage::CheckFail].map(|stage| step_entry(entries, stage, name)))
        .flatten()
        .map(|entry| entry.id)
        .max()
        .unwrap_or(EntryId(u64::MAX));
    let broken = drawn.throughout.iter().filter_map(|(is_always, name, claim)| {
        let first = history.up_to(end).find(|moment| claim.holds(&moment.objects))?;
        Some((first.revision, !*is_always, name.clone()))
    });
    // Of those that one revision breaks, an `always` is named before a `never`.
    let broken = broken.min_by_key(|(revision, is_never, _)| (*revision, *is_never));
    let with_broken = |verdict: Verdict, at: i64| match &broken {
        Some((revision, _, name)) if matches!(verdict, Verdict::Passed) || *revision <= at => {
            Verdict::Failed(name.clone(), Some(*revision))
        }
        _ => verdict,
    };
    let with_requests = |verdict: Verdict| match drawn.deletions {
        Some(count) if verdict == Verdict::Passed && count != history.deletions("configmaps/default/drawn-") => {
            Verdict::Failed(DELETIONS.to_owned(), None)
        }
        _ => verdict,
    };
    ended.into_iter().map(|(verdict, at)| with_requests(with_broken(verdict, at))).collect()
}

/// How the steps end, and at which revision.
fn step_end(drawn: &Drawn, entries: &[Entry], history: &History) -> Vec<(Verdict, i64)> {
    let mut ends = Vec::new();
    for step in &drawn.steps {
        let Some(begin) = step_entry(entries, Stage::StepStart, &step.name) else { return ends };
        let before = history.before(begin.id);
        let is_there = |name: &String| before.objects.contains(&format!("configmaps/default/{name}"));
        match &step.operation {
            Operation::Create(name) if is_there(name) => {
                ends.push((Verdict::Failed(step.name.clone(), None), before.revision));
                return ends;
            }
            Operation::Delete(name) if !is_there(name) => {
                ends.push((Verdict::Failed(step.name.clone(), None), before.revision));
                return ends;
            }
            Operation::Create(_) | Operation::Delete(_) | Operation::Other(_) => {}
            Operation::Still { claim, wanted, after } => {
                let windows = history.since(begin, Duration::from_millis(*after));
                let holds =
                    windows.iter().map(|window| window.iter().all(|moment| claim.holds(&moment.objects) == *wanted));
                let holds: Vec<_> = holds.collect();
                if holds.contains(&false) {
                    let last = windows[0].last().map_or(0, |moment| moment.revision);
                    ends.push((Verdict::Failed(step.name.clone(), None), last));
                }
                if !holds.contains(&true) {
                    return ends;
                }
            }
            Operation::Check { claim, wanted, timeout, .. } => {
                let windows = history.window(begin, Duration::from_millis(*timeout));
                let holds = windows
                    .each_ref()
                    .map(|window| window.iter().any(|moment| claim.holds(&moment.objects) == *wanted));
                if holds.contains(&false) {
                    let last = windows[0].last().map_or(0, |moment| moment.revision);
                    ends.push((Verdict::NotInTime(step.name.clone()), last));
                }
                if !holds.contains(&true) {
                    return ends;
                }
            }
        }
    }
    ends.push((Verdict::Passed, i64::MAX));
    ends
}

fn found(report: &Report) -> Verdict {
    let what = |failure: &coracle_scenario::Failure| match failure.what.strip_prefix("step `") {
        Some(rest) => rest.split('`').next().unwrap_or_default().to_owned(),
        None => failure.what.clone(),
    };
    match &report.outcome {
        // All that is checked held, and the disturbance did not come to pass before the end.
        Outcome::Passed | Outcome::NothingMatched(_) => Verdict::Passed,
        Outcome::Failed(failure) => {
            let throughout = failure.what.starts_with("throughout").then_some(failure.revision);
            Verdict::Failed(what(failure), throughout)
        }
        Outcome::NotInTime(failure) => Verdict::NotInTime(what(failure)),
    }
}

/// What is wrong with the verdict of a drawn scenario, and how it ended.
fn judge(seed: u64) -> Result<&'static str, String> {
    let drawn = Drawn::of(seed);
    let options = Options { mode: Some(Mode::Virtual), disturbance: drawn.disturbance, ..Options::default() };
    let report = execute(&drawn.scenario, Path::new("drawn.yaml"), &options, |_| Recorder::ring(1_000_000)).unwrap();
    let expected = expected(&drawn, &report.events().entries);
    let found = found(&report);
    let is_unstruck = matches!(report.outcome, Outcome::NothingMatched(_));
    if !expected.contains(&found) || is_unstruck && drawn.disturbance.is_none() {
        let (text, disturbance) = (&drawn.text, drawn.disturbance);
        return Err(format!(
            "seed {seed}, {disturbance:?}: {expected:?} by the history, found {:?}\n{text}",
            report.outcome
        ));
    }
    Ok(match found {
        Verdict::Passed => "passed",
        Verdict::Failed(..) => "failed",
        Verdict::NotInTime(_) => "not in time",
    })
}

#[test]
fn each_verdict_is_the_one_that_the_history_of_the_store_gives() {
    let (next, wanted) = (AtomicU64::new(1), count("CORACLE_DRAWN", 200));
    let (wrong, ends) = (Mutex::new(Vec::new()), Mutex::new(std::collections::BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > wanted {
                        break;
                    }
                    match judge(seed) {
                        Ok(end) => *ends.lock().entry(end).or_insert(0) += 1,
                        Err(why) => wrong.lock().push(why),
                    }
                }
            });
        }
    });
    let (wrong, ends) = (wrong.into_inner(), ends.into_inner());
    assert!(wrong.is_empty(), "{} of {wanted} verdicts are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ends.len() == 3 || wanted < 20, "every verdict is drawn: {ends:?}");
}
