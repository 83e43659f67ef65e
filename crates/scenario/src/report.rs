use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coracle_journal::Events;
use coracle_viewer::{Counts, WriteError};

use crate::change::ChangeOutcome;
use crate::end_state::EndState;
use crate::log::Log;
use crate::mode::Mode;

/// The result of a scenario.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scenario's name.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The state at the end, by which two runs can be compared.
    pub end_state: EndState,
    /// The checks, in the order of the file.
    pub checks: Vec<Check>,
    /// The seed with which the run can be repeated.
    pub seed: u64,
    /// The mode of the clock.
    pub mode: Mode,
    /// How long it took on the cluster's clock.
    pub cluster_time: Duration,
    /// How long it took on the machine's clock.
    pub wall_time: Duration,
    /// The steps that were not reached.
    pub skipped: Vec<String>,
    /// The file of the scenario, for messages; absent if only an inserted step was taken.
    pub(crate) file: Option<PathBuf>,
    /// The outcome of the inserted step; absent if there was none.
    pub fate: Option<ChangeOutcome>,
    pub(crate) log: Log,
}

/// How a scenario ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were taken and every check held.
    Passed,
    /// A check did not hold, or the API refused an operation.
    Failed(Failure),
    /// A condition was not met in time.
    NotInTime(Failure),
    /// All checks held, but a fault did not strike.
    NothingMatched(Failure),
}

/// What was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub line: Option<u64>,
    /// The requester that wrote what was found, as far as the log shows it.
    pub written_by: Option<String>,
}

/// One check and its result.
#[derive(Clone, Debug)]
pub struct Check {
    /// The sentence from the file.
    pub name: String,
    /// Whether it held.
    pub held: bool,
    /// The revision at which it held or broke; the last one for a check of all revisions.
    pub revision: i64,
    /// The time, measured from the cluster's start.
    pub at: Duration,
    /// Whether it had to hold throughout.
    pub throughout: bool,
    /// Why it was vacuous, if so: it would have passed in any case.
    pub vacuous: Option<String>,
}

impl Report {
    /// The header of the run and its event log, including the cluster's shutdown, as far as memory holds it.
    pub fn events(&self) -> &Events {
        self.log.events()
    }

    /// Like [`events`](Self::events), consuming the report.
    pub fn into_events(self) -> Events {
        self.log.into_events()
    }

    /// Counts of the events.
    pub fn counts(&self) -> Counts {
        self.log.counts()
    }

    /// Whether everything held.
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// Writes a report to a file: the page as `.html`, the summary as `.json`, JUnit as `.xml`, Markdown for a pull
    /// request as `.md`, a trace with causes as `.perfetto.json`. The report depends only on the event log, so equal
    /// seeds give equal files.
    ///
    /// # Errors
    /// If the extension is another one, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        coracle_viewer::write(self.events(), path)
    }

    /// Writes the page with the run in it, with any file name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_html(&self, path: &Path) -> Result<(), WriteError> {
        coracle_viewer::write_html(self.events(), path)
    }

    /// The summary that a terminal shows after a scenario.
    pub fn block(&self) -> String {
        let mut text = String::new();
        let word = if self.passed() { "PASS" } else { "FAIL" };
        let name = &self.name;
        let (cluster, wall) = (seconds(self.cluster_time), seconds(self.wall_time));
        let vacuous = match self.checks.iter().filter(|check| check.vacuous.is_some()).count() {
            0 => String::new(),
            1 => "   1 vacuous check".to_owned(),
            count => format!("   {count} vacuous checks"),
        };
        let (clock, seed) = (self.clock_word(), self.seed);
        let _ = writeln!(text, " {word}  {name:<32} {cluster} {clock}   {wall} wall   seed {seed}{vacuous}");
        for check in &self.checks {
            let mark = if check.held { '✓' } else { '✗' };
            let place = match (check.held, check.throughout) {
                (true, true) => format!("at every revision up to {}", check.revision),
                (true, false) => format!("at rev {}, {} after the start", check.revision, seconds(check.at)),
                (false, _) if check.vacuous.is_some() => format!("checked nothing up to rev {}", check.revision),
                (false, _) => format!("broken at rev {}, {} after the start", check.revision, seconds(check.at)),
            };
            let _ = writeln!(text, "       {mark} {:<55}  {place}", check.name);
            if let Some(why) = &check.vacuous {
                let _ = writeln!(text, "         vacuous: {why}");
            }
        }
        for step in &self.skipped {
            let _ = writeln!(text, "       · {step:<55}  not reached");
        }
        let ended = match &self.outcome {
            Outcome::Passed => None,
            Outcome::Failed(failure) => Some(("failed:", failure)),
            Outcome::NotInTime(failure) => Some(("not in time:", failure)),
            Outcome::NothingMatched(failure) => Some(("nothing matched:", failure)),
        };
        if let Some((word, failure)) = ended {
            let _ = writeln!(text, "       {word} {}", failure.what);
            let _ = writeln!(text, "         expected   {}", failure.expected);
            let _ = writeln!(text, "         found      {}", failure.found);
            let place = self.file.as_ref().zip(failure.line);
            let place = place.map(|(file, line)| format!(", {}:{line}", file.display())).unwrap_or_default();
            let _ = writeln!(text, "         at         rev {}{place}", failure.revision);
            if let Some(who) = &failure.written_by {
                let _ = writeln!(text, "         written by {who}");
            }
        }
        let Counts { revisions, syncs, merged, retried, relists } = self.counts();
        let _ = writeln!(
            text,
            "       {revisions} revisions   {syncs} syncs ({merged} merged, {retried} retried)   {relists} relists"
        );
        text
    }

    fn clock_word(&self) -> String {
        match self.mode {
            Mode::Virtual => "virtual".to_owned(),
            Mode::Real => "real".to_owned(),
            Mode::Scaled(factor) => format!("at {factor} times real speed"),
        }
    }
}

fn seconds(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.3} s"),
        seconds => format!("{:.1} ms", seconds * 1000.0),
    }
}
