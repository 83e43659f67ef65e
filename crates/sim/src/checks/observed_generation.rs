use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::LoggedWrite;

pub(super) const OBSERVED_GENERATION: Check = Check {
    word: "observed-generation",
    grade: Grade::Broken,
    title: "reports a wrong generation",
    about: "`status.observedGeneration` is ahead of `metadata.generation`, goes back within one object, or is behind at \
            rest.",
    except: "A generation that is behind, or that has no status, in a run without a fault, too.",
    find: |run, faultless| {
        let mut found: Vec<Violation> = run.log.writes_of(&run.user).filter_map(wrong).collect();
        found.extend(behind(run, faultless));
        found
    },
};

fn number(object: Option<&Value>, pointer: &str) -> Option<i64> {
    object?.pointer(pointer)?.as_i64()
}

fn observed(object: Option<&Value>) -> Option<i64> {
    number(object, "/status/observedGeneration")
}

fn wrong(write: &LoggedWrite) -> Option<Violation> {
    let (before, after) = (write.before.as_deref(), write.after.as_deref());
    let (now, generation) = (observed(after)?, number(after, "/metadata/generation")?);
    let subject = &write.subject;
    if now > generation {
        return Some(Violation::at(write.entry, format!("{subject} has generation {generation}, and observed {now}")));
    }
    let was = observed(before).filter(|was| *was > now)?;
    Some(Violation::at(write.entry, format!("{subject} observed {was}, and then {now}")))
}

/// The objects at rest whose generation is not the observed one.
fn late(run: &Run) -> BTreeMap<&str, &LoggedWrite> {
    let Some(rest) = run.settled else { return BTreeMap::new() };
    let mut objects = run.log.objects_at(rest);
    objects.retain(|_, write| {
        let after = write.after.as_deref();
        number(after, "/metadata/generation").is_some_and(|generation| observed(after) != Some(generation))
    });
    objects
}

fn behind(run: &Run, faultless: &[Run]) -> Vec<Violation> {
    // Whether a kind has such a status at all is known from runs without a fault.
    if faultless.is_empty() {
        return Vec::new();
    }
    let expected: Vec<_> = faultless.iter().map(late).collect();
    let is_new = |subject: &str| expected.iter().all(|late| !late.contains_key(subject));
    let existed = |subject: &str| faultless.iter().any(|run| is_there(run, subject));
    let late = late(run).into_iter().filter(|(subject, _)| is_new(subject) && existed(subject));
    late.map(|(subject, write)| {
        let after = write.after.as_deref();
        let generation = number(after, "/metadata/generation").unwrap_or_default();
        let seen = observed(after).map_or_else(|| "none".to_owned(), |seen| seen.to_string());
        Violation::at(write.entry, format!("{subject} rests with generation {generation}, and observed {seen}"))
    })
    .collect()
}

fn is_there(run: &Run, subject: &str) -> bool {
    run.settled.is_some_and(|rest| run.log.objects_at(rest).contains_key(subject))
}
