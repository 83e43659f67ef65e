use std::collections::BTreeMap;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::LoggedRequest;

/// The seconds for which a loop has to last.
const SECONDS: usize = 30;
/// How many equal requests a second has at most.
const MOST: usize = 10;

pub(super) const HOT_LOOP: Check = Check {
    word: "hot-loop",
    grade: Grade::Broken,
    title: "loops without a pause",
    about: "The component sends more than ten equal requests in each of 30 successive seconds.",
    except: "Retries with a back-off, which become rare before that, and what it sends while a fault lasts: it may wait \
             for what a fault keeps from it.",
    find: |run, _| loops(run),
};

fn loops(run: &Run) -> Vec<Violation> {
    let mut equal: BTreeMap<(&str, &str, &str), BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    let counts =
        |request: &LoggedRequest| *request.user == *run.user && run.calm.is_none_or(|calm| request.entry > calm);
    for (index, request) in run.log.requests.iter().enumerate().filter(|(_, request)| counts(request)) {
        let seconds = equal.entry((&request.verb, &request.subject, &request.subresource)).or_default();
        seconds.entry(request.at.as_secs()).or_default().push(index);
    }
    let violation = |((verb, subject, _), seconds): (&(&str, &str, &str), &BTreeMap<u64, Vec<usize>>)| {
        let request = &run.log.requests[first_of_a_loop(seconds)?];
        Some(Violation::at(request.entry, format!("{verb} {subject} more than ten times a second")))
    };
    equal.iter().filter_map(violation).collect()
}

/// The first request of a loop, of equal requests by the second in which they were sent.
fn first_of_a_loop(seconds: &BTreeMap<u64, Vec<usize>>) -> Option<usize> {
    let busy: Vec<(&u64, &Vec<usize>)> = seconds.iter().filter(|(_, requests)| requests.len() > MOST).collect();
    let last_of = |first: &u64| first + SECONDS as u64 - 1;
    let is_loop = |window: &&[(&u64, &Vec<usize>)]| *window[SECONDS - 1].0 == last_of(window[0].0);
    busy.windows(SECONDS).find(is_loop).and_then(|window| window[0].1.first().copied())
}
