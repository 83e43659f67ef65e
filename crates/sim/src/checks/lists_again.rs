use std::collections::BTreeMap;

use super::check::{Check, Grade, Violation};
use super::run::Run;

/// How many lists of a resource there may be for each watch: one before it is opened, and one after it has ended.
const LISTS_OF_A_WATCH: usize = 2;

pub(super) const LISTS_AGAIN: Check = Check {
    word: "lists-again",
    grade: Grade::Wasteful,
    title: "lists what its watch shows",
    about: "The component watches a resource, and lists it more than twice for each watch.",
    except: "Resources that the component does not watch.",
    find: |run, _| again(run),
};

fn again(run: &Run) -> Vec<Violation> {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for request in run.log.requests.iter().filter(|request| *request.user == *run.user) {
        let resource = request.resource();
        match &*request.verb {
            "list" => counts.entry(resource).or_default()[0] += 1,
            "watch" => counts.entry(resource).or_default()[1] += 1,
            _ => {}
        }
    }
    let many = counts.into_iter().filter(|(_, [lists, watches])| *watches > 0 && *lists > LISTS_OF_A_WATCH * watches);
    many.map(|(resource, [lists, watches])| {
        Violation::of_the_run(format!("{resource}: {lists} lists, and {watches} watches"))
    })
    .collect()
}
