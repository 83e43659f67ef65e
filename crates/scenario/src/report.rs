use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use coracle_journal::Events;
use coracle_viewer::{Counts, WriteError};

use crate::change::Fate;
use crate::end_state::EndState;
use crate::log::Log;
use crate::mode::Mode;

/// What became of a scenario.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scenario's name.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What there was at the end. Two runs can be compared by it.
    pub end_state: EndState,
    /// What was checked, in the order of the file.
    pub checks: Vec<Check>,
    /// The seed by which the run can be repeated.
    pub seed: u64,
    /// How the clock ran.
    pub mode: Mode,
    /// How long it took on the cluster's clock.
    pub cluster_time: Duration,
    /// How long it took on the machine's clock.
    pub wall_time: Duration,
    /// What became of the step that was put in; absent if there was none.
    pub fate: Option<Fate>,
    pub(crate) log: Log,
}

/// How a scenario ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were taken and every check held.
    Passed,
    /// A check did not hold, or the API refused an operation.
    Failed(Failure),
    /// Something that was waited for did not come.
    NotInTime(Failure),
    /// All that was checked held, but the disturbance that was asked for did not come to pass.
    NothingMatched(Failure),
}

/// What was expected and what was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The step or the check.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// What was there.
    pub found: String,
    /// At which revision.
    pub revision: i64,
    /// Who wrote what was there, as far as the log says.
    pub written_by: Option<String>,
}

/// One check and what became of it.
#[derive(Clone, Debug)]
pub struct Check {
    /// The sentence from the file.
    pub name: String,
    /// Whether it held.
    pub held: bool,
    /// At which revision it held (or broke); the last one for what had to hold throughout.
    pub revision: i64,
    /// When, since the cluster's start.
    pub at: Duration,
    /// Whether it had to hold throughout.
    pub throughout: bool,
    /// Why it checked nothing, if it did: it would have passed whatever happened.
    pub vacuous: Option<String>,
}

impl Report {
    /// What was run, and the event log, the cluster's end included, as far as it is kept in memory.
    pub fn events(&self) -> &Events {
        self.log.events()
    }

    /// The same, and nothing else.
    pub fn into_events(self) -> Events {
        self.log.into_events()
    }

    /// How often what happened.
    pub fn counts(&self) -> Counts {
        self.log.counts()
    }

    /// Whether everything held.
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// Writes a report into a file: the page with the run in it as `.html`, the summary as `.json`, JUnit as `.xml`, a page of a pull request as `.md`, a trace with
    /// causes as `.perfetto.json`. All of it is read off the event log alone, so that the same seed writes the same file.
    ///
    /// # Errors
    /// If the name ends otherwise, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        coracle_viewer::write(self.events(), path)
    }

    /// Writes the page with the run in it, whatever the file is called.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_html(&self, path: &Path) -> Result<(), WriteError> {
        coracle_viewer::write_html(self.events(), path)
    }

    /// The block that a terminal shows when a scenario is over.
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
            let _ = writeln!(text, "       {mark} {:<56} {place}", check.name);
            if let Some(why) = &check.vacuous {
                let _ = writeln!(text, "         vacuous: {why}");
            }
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
            let _ = writeln!(text, "         at         rev {}", failure.revision);
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
