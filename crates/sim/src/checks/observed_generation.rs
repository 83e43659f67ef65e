use super::check::{Check, Grade, Violation};
use super::generations::{late, number, observed};
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

fn behind(run: &Run, faultless: &[&Run]) -> Vec<Violation> {
    // Whether a kind has such a status at all is known from runs without a fault.
    if faultless.is_empty() {
        return Vec::new();
    }
    let is_new = |subject: &str| faultless.iter().all(|run| !run.late().contains(subject));
    let existed = |subject: &str| faultless.iter().any(|run| is_there(run, subject));
    let rest = run.settled.map(|rest| late(&run.log, rest)).unwrap_or_default();
    let late = rest.into_iter().filter(|(subject, _)| is_new(subject) && existed(subject));
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
