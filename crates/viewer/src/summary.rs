use coracle_journal::{Entry, EntryId, Events, Stage};
use serde::Serialize;
use serde_json::Value;

use crate::Counts;
use crate::requester::Requesters;
use crate::sentence::word;

/// The result of a run, from its log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name; empty if none was run.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The checks, in the order in which they were decided.
    pub checks: Vec<Check>,
    /// The first expectation that was not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The steps that were not reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Counts of the events.
    pub counts: Counts,
    /// The first step; the entries before it are the start of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<EntryId>,
    /// From the first step to the end of the log, in nanoseconds of the cluster's clock.
    pub nanos: u64,
    /// How many entries the log has.
    pub entries: usize,
    /// The newest revision.
    pub revision: i64,
    /// The options with which `coracle run FILE` repeats the run; absent if no scenario was run. The file is identified
    /// by its hash only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All checks held.
    Passed,
    /// A check did not hold, or the API refused an operation.
    Failed,
    /// A condition was not met in time.
    NotInTime,
    /// All checks held, but a fault did not strike.
    NothingMatched,
    /// There was no check: no scenario was run.
    Unchecked,
}

impl Outcome {
    /// The text for users.
    pub fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotInTime => "not in time",
            Self::NothingMatched => "nothing matched",
            Self::Unchecked => "nothing checked",
        }
    }
}

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The sentence from the file.
    pub name: String,
    /// Whether it held.
    pub held: bool,
    /// Whether it had to hold at every revision.
    pub throughout: bool,
    /// Whether it was waited for and not met in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Why it checked nothing, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacuous: Option<String>,
    /// Whether it is a fault that did not strike.
    #[serde(skip)]
    pub unmatched: bool,
    /// The revision at which it held or broke; the last revision for a check of all revisions.
    pub revision: i64,
    /// The entry that records it.
    pub entry: EntryId,
    /// When, in nanoseconds since the log began.
    pub at: u64,
    /// What was expected, if it broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// What was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The step or the check.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// At which revision.
    pub revision: i64,
    /// The line of the operation or the check in the file of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The requester that wrote what was found, as far as the log shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_by: Option<String>,
}

impl Summary {
    /// The result of a run, from its log.
    pub fn of(events: &Events) -> Self {
        let Events { header, entries } = events;
        let decided = |entry: &&Entry| matches!(entry.stage, Stage::CheckPass | Stage::CheckFail);
        let checks: Vec<Check> = entries.iter().filter(decided).map(|entry| Check::of(entry, entries)).collect();
        let failed = checks.iter().find(|check| !check.held);
        let outcome = match failed {
            None if checks.is_empty() && header.scenario.is_none() => Outcome::Unchecked,
            None => Outcome::Passed,
            Some(first) if first.late => Outcome::NotInTime,
            Some(first) if first.unmatched => Outcome::NothingMatched,
            Some(_) => Outcome::Failed,
        };
        let skipped = entries.iter().filter(|entry| entry.stage == Stage::StepSkip);
        let failure = failed.and_then(|check| check.failure.clone());
        let begins = entries.iter().find(|entry| entry.stage == Stage::StepStart);
        let beginning = begins.map_or(0, nanos);
        Self {
            name: header.scenario.clone().unwrap_or_default(),
            outcome,
            checks,
            failure,
            skipped: skipped.map(|entry| word(entry, "name")).collect(),
            counts: Counts::of(entries),
            begins: begins.map(|entry| entry.id),
            nanos: entries.last().map_or(0, nanos).saturating_sub(beginning),
            entries: entries.len(),
            revision: entries.iter().filter_map(|entry| entry.revision).max().unwrap_or_default(),
            options: header.seed.map(|seed| {
                let mode = header.mode.as_deref().unwrap_or("virtual");
                let disturb = header.disturb.as_ref().map(|how| format!(" --disturb {how}")).unwrap_or_default();
                let event = header.change.as_ref().and_then(|change| change.split(' ').next());
                let change = event.map(|event| format!(" --at '{event}' --put STEP")).unwrap_or_default();
                format!("--seed {seed} --mode {mode}{disturb}{change}")
            }),
        }
    }
}

impl Check {
    fn of(entry: &Entry, entries: &[Entry]) -> Self {
        let revision = entry.revision.unwrap_or_default();
        let held = entry.stage == Stage::CheckPass;
        let failure = (!held).then(|| Failure {
            what: word(entry, "name"),
            expected: word(entry, "expected"),
            found: word(entry, "found"),
            revision,
            line: entry.data.get("line").and_then(Value::as_u64),
            written_by: if entry.data.contains_key("vacuous") { None } else { author(entries, revision) },
        });
        Self {
            name: word(entry, "name"),
            held,
            throughout: entry.data.contains_key("throughout"),
            late: entry.data.contains_key("late"),
            vacuous: entry.data.contains_key("vacuous").then(|| word(entry, "vacuous")),
            unmatched: entry.data.contains_key("unmatched"),
            revision,
            entry: entry.id,
            at: nanos(entry),
            failure,
        }
    }
}

/// The time of an entry, in nanoseconds since the log began.
pub(crate) fn nanos(entry: &Entry) -> u64 {
    u64::try_from(entry.at.as_nanos()).unwrap_or(u64::MAX)
}

/// The requester that wrote a revision, as far as the log shows it: the user, and the part of a component.
pub fn author(entries: &[Entry], revision: i64) -> Option<String> {
    let commit = entries.iter().find(|entry| entry.stage == Stage::StoreCommit && entry.revision == Some(revision))?;
    let requesters = Requesters::of(entries);
    let request = requesters.request(commit)?;
    Some(format!("{} ({} {})", requesters.requester(request), word(request, "verb"), request.subject))
}
