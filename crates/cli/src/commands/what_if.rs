use std::cell::OnceCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use coracle_journal::{EntryId, Events, Recorder};
use coracle_scenario::{
    BuiltIn, ChangeOutcome, NotChanged, Options, Outcome, Report, Rerun, Scenario, read_change, rerun,
};
use coracle_viewer::{Divergence, Format, RunPair, Summary, how_they_differ, where_they_part};

use super::story::whole_run_of;
use crate::exit;
use crate::output::{self, note, out};
use crate::progress::Progress;

/// The names of the runs.
const CALLED: [&str; 2] = ["as it was", "as it is"];
/// The maximum number of lines of the end state.
const MOST: usize = 20;
/// The number of links at either end of a chain that are shown.
const LINKS: usize = 3;

/// A step that is put into a run.
#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Add a step to the run after this event, such as '#412'; everything before it is replayed unchanged, and both
    /// runs are compared
    #[arg(long, value_name = "EVENT", requires = "put")]
    at: Option<Event>,
    /// The step: a YAML file with a step of a scenario, an operation, or a list of them, as in
    /// `delete: {ref: {apiVersion: v1, kind: Pod, labels: {app: web}}, pick: 1}`
    #[arg(long, value_name = "FILE", requires = "at")]
    put: Option<PathBuf>,
    /// Compare with the run in this events file, instead of first running the scenario without the step
    #[arg(long, value_name = "EVENTS", requires = "put")]
    against: Option<PathBuf>,
}

/// The output options of a changed run.
pub(super) struct Output<'a> {
    /// How many entries of a log are kept in memory.
    pub(super) kept_entries: usize,
    /// The events file.
    pub(super) events: Option<&'a Path>,
    /// The report files.
    pub(super) reports: &'a [PathBuf],
    /// Whether only the verdict is printed.
    pub(super) is_quiet: bool,
    /// Whether chains of causes are printed completely.
    pub(super) is_verbose: bool,
}

/// The number of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event(EntryId);

impl FromStr for Event {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix('#').unwrap_or(text).parse().ok().filter(|number| *number > 0);
        number
            .map(|number| Self(EntryId(number)))
            .ok_or_else(|| "expected the number of an event, as in #412".to_owned())
    }
}

impl Put {
    pub(super) fn is_wanted(&self) -> bool {
        self.at.is_some()
    }

    /// Runs a scenario with the added step, and reports the result.
    pub(super) fn run(&self, file: &Path, scenario: &Scenario, options: &Options, output: &Output<'_>) -> Result<u8> {
        let (events, kept) = (output.events, output.kept_entries);
        let (Some(Event(at)), Some(step)) = (self.at, &self.put) else { return Ok(exit::USAGE) };
        let change = match read_change(step, at, scenario, &BuiltIn::default()) {
            Ok(change) => change,
            Err(problem) => {
                note!("{problem}");
                return Ok(exit::USAGE);
            }
        };
        let against = self.against.as_deref().map(whole_run_of).transpose()?;
        let (unwritable, recorder) = (OnceCell::new(), OnceCell::new());
        let running = Progress::of(format!("running {} with the step and without it", scenario.metadata.name));
        let both = rerun(scenario, file, options, &change, against, |header| {
            let Some(path) = events.filter(|_| header.change.is_some()) else { return Recorder::ring(kept) };
            let made = Recorder::file(path, kept, header).unwrap_or_else(|error| {
                let _ = unwritable.set(error);
                Recorder::ring(kept)
            });
            recorder.get_or_init(|| made).clone()
        });
        drop(running);
        if let (Some(recorder), Some(path)) = (recorder.get(), events) {
            recorder.close().with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(error) = unwritable.into_inner() {
            return Err(error.into());
        }
        match both {
            Ok(both) => told(&both, at, &change.step.name, output),
            Err(why) => refused(why),
        }
    }
}

fn refused(why: NotChanged) -> Result<u8> {
    let code = match why {
        NotChanged::Cluster(error) => return Err(error.into()),
        NotChanged::NoSuchEvent { .. }
        | NotChanged::TooEarly { .. }
        | NotChanged::TooLate { .. }
        | NotChanged::Compacted { .. } => exit::NOTHING_MATCHED,
        NotChanged::OtherRun { .. }
        | NotChanged::NoStore
        | NotChanged::Disturbed
        | NotChanged::Faulty
        | NotChanged::Forgotten { .. } => exit::USAGE,
        NotChanged::Drifted { .. } => exit::FAILED,
    };
    note!("coracle: {why}");
    Ok(code)
}

/// Reports the result of the change, and writes the reports.
fn told(both: &Rerun, at: EntryId, step: &str, output: &Output<'_>) -> Result<u8> {
    let Rerun { was, new, divergence, .. } = both;
    if let Some(ChangeOutcome::Refused { why }) = &new.fate {
        out!("{}: refused at #{}: {why}\nthe run stays as it was", new.name, at.0)?;
        for path in output.reports {
            match Format::of(path)? {
                Format::Html => coracle_viewer::write_refused(was, at, why, path)?,
                _ => coracle_viewer::write(was, path)?,
            }
            out!("report {}", path.display())?;
        }
        return Ok(exit::CHECK_FAILED);
    }
    // The first lines of the logs differ only in the change, which is reported here.
    let divergence = Divergence { headers: Vec::new(), ..divergence.clone() };
    let runs = RunPair { one: was, other: new.events(), called: CALLED, divergence };
    if output.is_quiet {
        output::shown(&format!("{}\n", new.block().lines().next().unwrap_or_default()))?;
    } else {
        out!(" {}   seed {}   after #{}: {step}\n {}\n", new.name, new.seed, at.0, way(both))?;
        output::shown(&format!("taken; {}", where_they_part(&runs)))?;
        out!("\nwhat became of it\n  {:<9}  {}\n  {:<9}  {}", CALLED[0], ended(was), CALLED[1], ended(new.events()))?;
        if let Some(old) = &both.old {
            output::shown(&ends(old, new))?;
        }
        output::shown(&format!("\n{}", new.block()))?;
        let links = if output.is_verbose { usize::MAX } else { LINKS };
        output::shown(&how_they_differ(&runs, links))?;
    }
    for path in output.reports {
        match Format::of(path)? {
            Format::Html => coracle_viewer::write_pair(&runs, path)?,
            _ => new.write(path)?,
        }
        if !output.is_quiet {
            out!("       report {}", path.display())?;
        }
    }
    Ok(match new.outcome {
        Outcome::Passed => exit::PASS,
        Outcome::Failed(_) => exit::CHECK_FAILED,
        Outcome::NotInTime(_) => exit::NOT_IN_TIME,
        Outcome::NothingMatched(_) => exit::NOTHING_MATCHED,
    })
}

/// Which of the two ways was used to reproduce the run.
fn way(both: &Rerun) -> String {
    let Some(revision) = both.fork else { return "the same seed runs again, with the step in it".to_owned() };
    let mode = both.new.mode;
    format!(
        "in mode {mode} the clock cannot be turned back: a new cluster continues from a fork of the store at revision {revision};\n \
         its controllers, scheduler and nodes start again, and no later step runs"
    )
}

/// The result of a run, in a line.
fn ended(events: &Events) -> String {
    let summary = Summary::of(events);
    let word = summary.outcome.words();
    let why = summary.failure.map(|failure| {
        format!(
            ": {}, expected {}, found {} at revision {}",
            failure.what, failure.expected, failure.found, failure.revision
        )
    });
    let seconds = std::time::Duration::from_nanos(summary.nanos).as_secs_f64();
    format!("{word} after {seconds:.3} s, at revision {}{}", summary.revision, why.unwrap_or_default())
}

/// The differences between the end states of the runs.
fn ends(old: &Report, new: &Report) -> String {
    let rows = old.end_state.beside(&new.end_state);
    if rows.is_empty() {
        return "at the end there is the same, but for names that were made up\n".to_owned();
    }
    let said = |said: &Option<String>| said.clone().unwrap_or_else(|| "—".to_owned());
    let head = ["at the end", CALLED[0], CALLED[1]].map(str::to_owned);
    let shown = rows.iter().take(MOST).map(|row| [format!("  {}", row.object), said(&row.one), said(&row.other)]);
    let table: Vec<[String; 3]> = [head].into_iter().chain(shown).collect();
    let widest = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (widest(0), widest(1));
    let mut text = String::new();
    for [object, one, other] in &table {
        let _ = writeln!(text, "{object:<first$}   {one:<second$}   {other}");
    }
    if rows.len() > MOST {
        let _ = writeln!(text, "  and {} more", rows.len() - MOST);
    }
    text
}
