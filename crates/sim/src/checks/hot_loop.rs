use std::collections::BTreeMap;
use std::time::Duration;

use super::check::{Check, Grade, Violation};
use super::run::Run;

/// The time for which a loop has to last.
const WINDOW: Duration = Duration::from_secs(30);
/// The number of equal requests within that time: ten a second.
const MOST: usize = 300;

pub(super) const HOT_LOOP: Check = Check {
    word: "hot-loop",
    grade: Grade::Broken,
    title: "loops without a pause",
    about: "The component sends more than ten equal requests a second for 30 seconds.",
    except: "Retries with a back-off, which become rare before that.",
    find: |run, _| loops(run),
};

fn loops(run: &Run) -> Vec<Violation> {
    let mut equal: BTreeMap<(&str, &str, &str), Vec<usize>> = BTreeMap::new();
    for (index, request) in run.log.requests.iter().enumerate().filter(|(_, request)| *request.user == *run.user) {
        equal.entry((&request.verb, &request.subject, &request.subresource)).or_default().push(index);
    }
    let first = |indices: &Vec<usize>| {
        let at = |index: usize| run.log.requests[index].at;
        indices.windows(MOST).find(|window| at(window[MOST - 1]) - at(window[0]) < WINDOW).map(|window| window[0])
    };
    let violation = |((verb, subject, _), indices): (&(&str, &str, &str), &Vec<usize>)| {
        let request = &run.log.requests[first(indices)?];
        Some(Violation::at(request.entry, format!("{verb} {subject} more than ten times a second")))
    };
    equal.iter().filter_map(violation).collect()
}
