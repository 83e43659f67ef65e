use std::path::Path;

use coracle_cluster::{Cluster, Error};
use coracle_journal::{Entry, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::{Difference, Divergence};

use crate::change::{Change, ChangeOutcome};
use crate::execute::{Options, Wiring, execute, execute_until, wire};
use crate::file::Scenario;
use crate::fork::{Moment, execute_from, spliced};
use crate::mode::Mode;
use crate::report::Report;

/// A run, and the same run with an inserted step.
#[derive(Clone, Debug)]
pub struct Rerun {
    /// The log of the original run.
    pub was: Events,
    /// The report of that run; absent if its log was read from a file.
    pub old: Option<Report>,
    /// The report of the changed run, whose fate is [`ChangeOutcome::Taken`] or [`ChangeOutcome::Refused`].
    pub new: Report,
    /// Where the runs diverge, which is after the event of the step.
    pub divergence: Divergence,
    /// The revision at which the store was forked, if the clock could not be reset. Then the second run equals the
    /// first one up to the event, and continues in a new cluster whose controllers, scheduler and nodes start from
    /// scratch.
    pub fork: Option<i64>,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum NotChanged {
    /// The run has no such event.
    #[error("the run has no event #{}; the nearest for a step to go in is #{}", .at.0, .nearest.0)]
    NoSuchEvent {
        /// The event.
        at: EntryId,
        /// The nearest event after which a step can be inserted.
        nearest: EntryId,
    },
    /// At the event, the cluster is still starting.
    #[error("event #{} is before the cluster is ready; the first event for a step to go in is #{}", .at.0, .first.0)]
    TooEarly {
        /// The event.
        at: EntryId,
        /// The first event after which a step can be inserted: the one before the first step.
        first: EntryId,
    },
    /// At the event, the steps are complete.
    #[error("by event #{} the steps are over; the last event for a step to go in is #{}", .at.0, .last.0)]
    TooLate {
        /// The event.
        at: EntryId,
        /// The last event after which a step can be inserted.
        last: EntryId,
    },
    /// The given log belongs to another run.
    #[error("the events are of another run: {}", listed(.differences))]
    OtherRun {
        /// The fields of its first line that differ from this run.
        differences: Vec<Difference>,
    },
    /// The second run differs from the first one before the step.
    #[error("up to event #{} the run was to go as it went, and did not: the first entry that differs is {}", .at.0, first(.divergence))]
    Drifted {
        /// The event.
        at: EntryId,
        /// Where it differs.
        divergence: Box<Divergence>,
    },
    /// In real or scaled time the store itself is needed, which a log does not hold.
    #[error("in real or scaled time a new cluster continues from the store, which an events file does not hold")]
    NoStore,
    /// In real or scaled time the controllers of the new cluster are not disturbed.
    #[error("in real or scaled time a new cluster continues, and nothing disturbs it; leave the disturbance out")]
    Disturbed,
    /// In real or scaled time the new cluster does not have the faults of the scenario.
    #[error("in real or scaled time a new cluster continues, without the faults of the scenario; leave them out")]
    Faulty,
    /// In real or scaled time: the store has compacted the revision of the event.
    #[error("the store has forgotten what was at event #{}; the first event of which it has not is #{}", .at.0, .first.0)]
    Compacted {
        /// The event.
        at: EntryId,
        /// The first event whose revision the store still has.
        first: EntryId,
    },
    /// The recorder has dropped the beginning of a run, which the comparison needs.
    #[error("the run has more events than are kept, of which #{} is the first", .first.0)]
    Forgotten {
        /// The first event that it still has.
        first: EntryId,
    },
    /// The cluster could not run.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// Runs a scenario with an inserted step, and compares it with the run without it, which is run first unless its log is
/// given in `against`. Up to the event of the step both are equal, byte for byte.
///
/// In real and scaled time the clock cannot be reset. There a new cluster starts with the store at the event's revision
/// and takes the step; no later step is taken.
///
/// `make_recorder` is called for each run; the first line of the changed run names the change.
///
/// # Errors
/// If there is no such event, if it is too early or too late for a step, if the runs differ before it, or if a cluster
/// does not start.
///
/// ```
/// use coracle::journal::{EntryId, Recorder};
/// use coracle::scenario::{BuiltIn, ChangeOutcome, Options, parse, parse_change, rerun};
/// use std::path::Path;
///
/// let (path, words) = (Path::new("time-passes.yaml"), BuiltIn::default());
/// let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: time-passes}\n\
///             spec: {cluster: {nodes: 0}, steps: [{name: wait, try: [{sleep: {duration: 3s}}]}]}\n";
/// let scenario = parse::parse(path, text, &words).unwrap();
/// let step = "create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}";
/// let change = parse_change(Path::new("step.yaml"), step, EntryId(1700), &scenario, &words).unwrap();
/// let both = rerun(&scenario, path, &Options::default(), &change, None, |_| Recorder::ring(100_000)).unwrap();
/// assert_eq!(both.new.fate, Some(ChangeOutcome::Taken));
/// assert!(both.divergence.same >= 1700);
/// ```
pub fn rerun(
    scenario: &Scenario,
    path: &Path,
    options: &Options,
    change: &Change,
    against: Option<Events>,
    make_recorder: impl Fn(&Header) -> Recorder,
) -> Result<Rerun, NotChanged> {
    let without = Options { change: None, ..options.clone() };
    if options.settle(scenario).0 != Mode::Virtual {
        if options.disturbance.is_some() {
            return Err(NotChanged::Disturbed);
        }
        if !scenario.spec.faults.is_empty() {
            return Err(NotChanged::Faulty);
        }
        return match against {
            None => on_fork(scenario, path, &without, change, make_recorder),
            Some(_) => Err(NotChanged::NoStore),
        };
    }
    let (was, old) = match against {
        Some(was) => (unchanged(was)?, None),
        None => {
            let old = execute(scenario, path, &without, &make_recorder)?;
            (old.events().clone(), Some(old))
        }
    };
    let place = place(&was, change.at)?;
    let with = Options { change: Some(change.clone()), ..options.clone() };
    let new = execute(scenario, path, &with, &make_recorder)?;
    let divergence = Divergence::of(&was, new.events());
    if let Some(ChangeOutcome::TooLate { last }) = new.fate {
        return Err(NotChanged::TooLate { at: change.at, last });
    }
    let others: Vec<Difference> = divergence.headers.iter().filter(|word| !is_own(word)).cloned().collect();
    if !others.is_empty() {
        return Err(NotChanged::OtherRun { differences: others });
    }
    whole(new.events())?;
    if divergence.same <= place {
        return Err(NotChanged::Drifted { at: change.at, divergence: Box::new(divergence) });
    }
    Ok(Rerun { was, old, new, divergence, fork: None })
}

/// In real time: a new cluster continues from a fork of the store.
fn on_fork(
    scenario: &Scenario,
    path: &Path,
    options: &Options,
    change: &Change,
    make_recorder: impl Fn(&Header) -> Recorder,
) -> Result<Rerun, NotChanged> {
    let (mode, _) = options.settle(scenario);
    let wiring = wire(scenario, options, mode).map(Wiring::of);
    let take = async |cluster: &Cluster| cluster.keep_store();
    let (old, store) = execute_until(scenario, path, options, wiring, &make_recorder, take)?;
    let place = place(old.events(), change.at)?;
    let compacted = |first: Option<EntryId>| NotChanged::Compacted { at: change.at, first: first.unwrap_or(change.at) };
    let moment = Moment::of(old.events(), place, &store).map_err(compacted)?;
    let fork = Some(moment.revision);
    let mut new = execute_from(moment, scenario, options, change, &make_recorder)?;
    whole(new.events())?;
    new.log = spliced(old.events(), place, new.events()).into();
    let divergence = Divergence::of(old.events(), new.events());
    Ok(Rerun { was: old.events().clone(), old: Some(old), new, divergence, fork })
}

/// A log from a file; the log of a changed run is rejected.
fn unchanged(was: Events) -> Result<Events, NotChanged> {
    if let Some(change) = was.header.change {
        let differences = vec![Difference { field: "change".to_owned(), one: Some(change), other: None }];
        return Err(NotChanged::OtherRun { differences });
    }
    Ok(was)
}

/// The index of an event in a log, if a step can be inserted after it.
fn place(was: &Events, at: EntryId) -> Result<usize, NotChanged> {
    whole(was)?;
    let place = coracle_viewer::place(&was.entries, at)
        .map_err(|_| NotChanged::NoSuchEvent { at, nearest: last(&was.entries) })?;
    let begins = was.entries.iter().position(|entry| entry.stage == Stage::StepStart).unwrap_or_default();
    match begins.checked_sub(1) {
        Some(first) if place < first => Err(NotChanged::TooEarly { at, first: was.entries[first].id }),
        _ => Ok(place),
    }
}

/// The last event after which a step can certainly be inserted. Later events are verdicts on the whole run and the
/// cluster's shutdown.
fn last(entries: &[Entry]) -> EntryId {
    let is_of_a_step = |entry: &Entry| match entry.stage {
        Stage::StepEnd => true,
        Stage::CheckFail => !entry.data.contains_key("throughout"),
        _ => false,
    };
    let is_of_the_end = |entry: &Entry| match entry.stage {
        Stage::CheckPass | Stage::CheckFail => entry.data.contains_key("throughout"),
        stage => stage == Stage::ComponentStop,
    };
    let steps = entries.iter().rposition(is_of_a_step).map_or(0, |step| step + 1);
    let ended = entries[steps..].iter().position(is_of_the_end).map_or(entries.len(), |end| steps + end);
    entries[..ended].last().map_or(EntryId(0), |last| last.id)
}

fn whole(events: &Events) -> Result<(), NotChanged> {
    match events.entries.first() {
        Some(first) if first.id != EntryId(1) => Err(NotChanged::Forgotten { first: first.id }),
        _ => Ok(()),
    }
}

/// Whether a difference of the first lines is the change itself.
fn is_own(word: &Difference) -> bool {
    word.field == "change" && word.one.is_none()
}

fn listed(differences: &[Difference]) -> String {
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let each =
        differences.iter().map(|one| format!("{} is {} and not {}", one.field, said(&one.one), said(&one.other)));
    each.collect::<Vec<_>>().join(", ")
}

fn first(divergence: &Divergence) -> String {
    let id = divergence.first.as_ref().and_then(|parted| parted.one.or(parted.other));
    id.map_or_else(|| "none".to_owned(), |id| format!("#{}", id.0))
}
