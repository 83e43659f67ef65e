//! The same bugs, found by `coracle::check`: no fault is given, and a property to two of them only.
//!
//! `found/` has a plan of each bug, which the tests repeat. With `CORACLE_PLANS=300` they search for it instead, and
//! with `CORACLE_WRITE_PLANS=1`, too, they write it.

use std::path::PathBuf;

use coracle::ControllerCheck;
use coracle::check::{CheckReport, Connection};
use coracle::runtime::controller::Process;

use super::trial::{OPERATOR, Searched, Twin, definition, service_account};

/// Shows that a search finds a bug with a check, and nothing wrong with the fixed twin.
pub(super) fn find<B: Searched>(bug: &str, check: &str) {
    let plans = std::env::var("CORACLE_PLANS").ok().and_then(|plans| plans.parse::<usize>().ok());
    let (buggy, fixed) = match plans {
        Some(plans) => searched::<B>(bug, plans),
        None => repeated::<B>(bug),
    };
    let found = buggy.found.iter().find(|found| found.finding.check.word == check);
    let is_found = found.is_some() || buggy.without_faults.iter().any(|finding| finding.check.word == check);
    assert!(is_found, "the buggy one: {check} is expected\n{buggy}");
    for found in &buggy.found {
        assert!(found.plan.faults.len() <= 2 && found.shrinking_runs <= 50, "a plan that is not short: {found}");
    }
    assert!(!fixed.fails(), "the fixed one:\n{fixed}");
    let (number, faults) = found.map_or((0, 0), |found| (found.number.unwrap_or_default(), found.plan.faults.len()));
    println!("| {bug} | {check} | {number} | {faults} | {} |", fixed.tried.plans);
}

fn searched<B: Searched>(bug: &str, plans: usize) -> (CheckReport, CheckReport) {
    let buggy = subject::<B>(Twin::Buggy).plans(plans).until_found();
    let writes = std::env::var_os("CORACLE_WRITE_PLANS").is_some();
    let buggy = if writes { buggy.out(folder(bug)) } else { buggy }.search().unwrap();
    let plans = if writes { buggy.tried.plans } else { plans };
    (buggy, subject::<B>(Twin::Fixed).plans(plans).search().unwrap())
}

fn repeated<B: Searched>(bug: &str) -> (CheckReport, CheckReport) {
    let files = std::fs::read_dir(folder(bug)).into_iter().flatten();
    let known: Vec<String> = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let repeat = |twin: Twin| {
        let subject = subject::<B>(twin).plans(known.len());
        known.iter().fold(subject, ControllerCheck::plan).search().unwrap()
    };
    (repeat(Twin::Buggy), repeat(Twin::Fixed))
}

fn folder(bug: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "bugs", "found", bug].iter().collect()
}

fn subject<B: Searched>(twin: Twin) -> ControllerCheck {
    let run = move |connection: Connection| {
        let Connection { ambient, recorder, .. } = &connection;
        B::controller(Process::new(OPERATOR, &connection.client(), ambient, recorder), twin)
    };
    let subject = coracle::check(run).given(service_account().to_string());
    let subject = B::KINDS.iter().fold(subject, |subject, kind| subject.crd(definition(kind).to_string()));
    let subject = B::GIVEN.iter().fold(subject, |subject, objects| subject.given(*objects));
    B::check(B::SAMPLES.iter().fold(subject, |subject, sample| subject.sample(*sample)), twin)
}
