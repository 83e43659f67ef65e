use std::path::Path;

use coracle_cluster::{Cluster, Error};
use coracle_journal::{Entry, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::{Difference, Parting};

use crate::change::{Change, Fate};
use crate::execute::{Options, execute, execute_until};
use crate::file::Scenario;
use crate::fork::{Moment, execute_from, spliced};
use crate::mode::Mode;
use crate::report::Report;

/// A run, and the same run with a step put into it.
#[derive(Clone, Debug)]
pub struct Rerun {
    /// The log as it was.
    pub was: Events,
    /// What became of that run; absent where its log was read from a file.
    pub old: Option<Report>,
    /// What became of the run with the step in it, which is [`Fate::Taken`] or [`Fate::Refused`].
    pub new: Report,
    /// Where they part, which is after the step's event.
    pub parting: Parting,
    /// The revision at which the store was forked, where the clock could not be turned back: then the second run is the first up to
    /// the event, and from there on a new cluster, whose controllers, scheduler and nodes began anew.
    pub fork: Option<i64>,
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum NotChanged {
    /// The run has no such event.
    #[error("the run has no event #{}; the nearest for a step to go in is #{}", .at.0, .nearest.0)]
    NoSuchEvent {
        /// The event.
        at: EntryId,
        /// The nearest at which a step can go in.
        nearest: EntryId,
    },
    /// The event is there, but the cluster is still starting then.
    #[error("event #{} is before the cluster is ready; the first event for a step to go in is #{}", .at.0, .first.0)]
    TooEarly {
        /// The event.
        at: EntryId,
        /// The first at which a step can go in: the one before the first step.
        first: EntryId,
    },
    /// The event is there, but the steps are over by then.
    #[error("by event #{} the steps are over; the last event for a step to go in is #{}", .at.0, .last.0)]
    TooLate {
        /// The event.
        at: EntryId,
        /// The last at which a step can go in.
        last: EntryId,
    },
    /// The log that the run was to be compared with is of another run.
    #[error("the events are of another run: {}", listed(.differences))]
    OtherRun {
        /// What their first line says that the first line of this run does not.
        differences: Vec<Difference>,
    },
    /// The run did not go as it went, even before the step.
    #[error("up to event #{} the run was to go as it went, and did not: the first entry that differs is {}", .at.0, first(.parting))]
    Drifted {
        /// The event.
        at: EntryId,
        /// Where it went another way.
        parting: Box<Parting>,
    },
    /// In real or scaled time the store itself is needed, which no log holds.
    #[error("in real or scaled time a new cluster continues from the store, which an events file does not hold")]
    NoStore,
    /// In real or scaled time: controllers that are disturbed begin anew, and would not be.
    #[error("in real or scaled time a new cluster continues, and nothing disturbs it; leave the disturbance out")]
    Disturbed,
    /// In real or scaled time: the store has compacted its history, and does not know what was then.
    #[error("the store has forgotten what was at event #{}; the first event of which it has not is #{}", .at.0, .first.0)]
    Compacted {
        /// The event.
        at: EntryId,
        /// The first of whose revision the store knows.
        first: EntryId,
    },
    /// The recorder has forgotten the beginning of a run, which cannot be compared without it.
    #[error("the run has more events than are kept, of which #{} is the first", .first.0)]
    Forgotten {
        /// The first that is still there.
        first: EntryId,
    },
    /// The cluster could not be run.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// Runs a scenario with a step put into it, and compares it with the run without, which is run first or was `against`. Up to the
/// step's event both are the same, byte for byte.
///
/// In real and scaled time the clock cannot be turned back. There a new cluster begins with the store as it was at the event's
/// revision, the step is put into that, and no later step is taken.
///
/// `make_recorder` is asked for each run; the first line of the changed one names the change.
///
/// # Errors
/// If there is no such event, it is too early or too late for a step, the runs are not the same up to it, or a cluster does not start.
///
/// ```
/// use coracle::journal::{EntryId, Recorder};
/// use coracle::scenario::{BuiltIn, Fate, Options, parse, parse_change, rerun};
/// use std::path::Path;
///
/// let (path, words) = (Path::new("time-passes.yaml"), BuiltIn::default());
/// let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: time-passes}\n\
///             spec: {cluster: {nodes: 0}, steps: [{name: wait, try: [{sleep: {duration: 3s}}]}]}\n";
/// let scenario = parse::parse(path, text, &words).unwrap();
/// let step = "create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}";
/// let change = parse_change(Path::new("step.yaml"), step, EntryId(1500), &scenario, &words).unwrap();
/// let both = rerun(&scenario, path, &Options::default(), &change, None, |_| Recorder::ring(100_000)).unwrap();
/// assert_eq!(both.new.fate, Some(Fate::Taken));
/// assert!(both.parting.same >= 1500);
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
        return match against {
            None => anew((scenario, path), &without, change, make_recorder),
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
    let parting = Parting::of(&was, new.events());
    if let Some(Fate::TooLate { last }) = new.fate {
        return Err(NotChanged::TooLate { at: change.at, last });
    }
    let others: Vec<Difference> = parting.headers.iter().filter(|word| !is_own(word)).cloned().collect();
    if !others.is_empty() {
        return Err(NotChanged::OtherRun { differences: others });
    }
    whole(new.events())?;
    if parting.same <= place {
        return Err(NotChanged::Drifted { at: change.at, parting: Box::new(parting) });
    }
    Ok(Rerun { was, old, new, parting, fork: None })
}

/// In real time: a new cluster goes on from a fork of the store.
fn anew(
    (scenario, path): (&Scenario, &Path),
    options: &Options,
    change: &Change,
    make_recorder: impl Fn(&Header) -> Recorder,
) -> Result<Rerun, NotChanged> {
    let (old, store) = execute_until(scenario, path, options, &make_recorder, Cluster::keep_store)?;
    let place = place(old.events(), change.at)?;
    let compacted = |first: Option<EntryId>| NotChanged::Compacted { at: change.at, first: first.unwrap_or(change.at) };
    let moment = Moment::of(old.events(), place, &store).map_err(compacted)?;
    let fork = Some(moment.revision);
    let mut new = execute_from(moment, scenario, options, change, &make_recorder)?;
    whole(new.events())?;
    new.log = spliced(old.events(), place, new.events()).into();
    let parting = Parting::of(old.events(), new.events());
    Ok(Rerun { was: old.events().clone(), old: Some(old), new, parting, fork })
}

/// A log from a file; that of a changed run is of another.
fn unchanged(was: Events) -> Result<Events, NotChanged> {
    if let Some(change) = was.header.change {
        let differences = vec![Difference { field: "change".to_owned(), one: Some(change), other: None }];
        return Err(NotChanged::OtherRun { differences });
    }
    Ok(was)
}

/// Where an event is in a log, at which a step can go in.
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

/// The last event at which a step can surely go in: what comes later are the verdicts on the whole run and the cluster's end.
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

/// Whether a word of the first line tells the changed run from the other: that it was changed.
fn is_own(word: &Difference) -> bool {
    word.field == "change" && word.one.is_none()
}

fn listed(differences: &[Difference]) -> String {
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let each =
        differences.iter().map(|one| format!("{} is {} and not {}", one.field, said(&one.one), said(&one.other)));
    each.collect::<Vec<_>>().join(", ")
}

fn first(parting: &Parting) -> String {
    let id = parting.first.as_ref().and_then(|parted| parted.one.or(parted.other));
    id.map_or_else(|| "none".to_owned(), |id| format!("#{}", id.0))
}
