use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Disturbance, Mode, Options, Outcome, Report, Scenario, parse};
use coracle_viewer::{Picture, lanes, sentence};

use super::what_if::{Output, Put};
use crate::exit;
use crate::live_view::LiveView;
use crate::output::{self, note, out};
use crate::reports;
use crate::shell::quoted;
use crate::terminal::plain;

/// The number of event log entries that are kept in memory for the report.
const KEPT_ENTRIES: usize = 1_000_000;

/// Runs scenarios.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario files, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The clock: real, scaled=N or virtual
    #[arg(long)]
    mode: Option<Mode>,
    /// The seed of all randomness
    #[arg(long, env = "CORACLE_SEED")]
    seed: Option<u64>,
    /// A disturbance of the controllers: kill@N, pause@N or double@N after N revisions, or late
    #[arg(long, value_name = "DISTURBANCE")]
    disturb: Option<Disturbance>,
    /// Write the event log to this file; compressed if the name ends with .gz (one scenario only)
    #[arg(long)]
    events: Option<PathBuf>,
    /// Write a report to this file; the extension selects the format: .html, .json, .xml (JUnit), .md or .perfetto.json
    /// (one scenario only; may be repeated)
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// Fail if a check is vacuous, which means that it would have passed whatever happened
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    put: Put,
    /// Print only the verdict of each scenario
    #[arg(short, long)]
    quiet: bool,
    /// Print every entry of the event log as a sentence; with --put, print complete chains of causes
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    /// Print line by line, without colours and redrawing
    #[arg(long)]
    plain: bool,
}

impl Run {
    pub(crate) fn run(self) -> Result<u8> {
        let files = self.files()?;
        if files.is_empty() {
            note!(
                "coracle: no scenario in {}",
                self.paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
            );
            return Ok(exit::NOTHING_MATCHED);
        }
        if self.events.is_some() && files.len() > 1 {
            return Err(exit::Usage(format!("--events takes one scenario, but {} are given", files.len())).into());
        }
        if !self.report.is_empty() && files.len() > 1 {
            return Err(exit::Usage(format!("--report takes one scenario, but {} are given", files.len())).into());
        }
        if self.put.is_wanted() && files.len() > 1 {
            return Err(exit::Usage(format!("--at takes one scenario, but {} are given", files.len())).into());
        }
        reports::check(&self.report)?;
        if let Some(path) = &self.events {
            reports::check_folder("--events", path)?;
        }
        // All scenarios are parsed before the first one runs, so that a typo in the last one is found at once.
        let vocabulary = BuiltIn::default();
        let mut scenarios = Vec::new();
        let mut problems = 0;
        for file in files {
            match parse::read(&file, &vocabulary) {
                Ok(scenario) => scenarios.push((file, scenario)),
                Err(problem) => {
                    note!("{problem}");
                    problems += 1;
                }
            }
        }
        if problems > 0 {
            return Ok(exit::USAGE);
        }
        let mut worst = exit::PASS;
        for (file, scenario) in &scenarios {
            worst = worst.max(self.one(file, scenario)?);
        }
        if scenarios.len() > 1 && !self.quiet {
            out!(
                "\n{} scenarios, {}",
                scenarios.len(),
                if worst == exit::PASS { "all passed" } else { "not all passed" }
            )?;
        }
        Ok(worst)
    }

    fn one(&self, file: &Path, scenario: &Scenario) -> Result<u8> {
        let (mode, seed, disturbance, strict) = (self.mode, self.seed, self.disturb, self.strict);
        let options = Options { mode, seed, disturbance, strict, ..Options::default() };
        if self.put.is_wanted() {
            let output = Output {
                kept_entries: KEPT_ENTRIES,
                events: self.events.as_deref(),
                reports: &self.report,
                is_quiet: self.quiet,
                is_verbose: self.verbose,
            };
            return self.put.run(file, scenario, &options, &output);
        }
        let (unwritable, recorder) = (OnceCell::new(), OnceCell::new());
        let live =
            LiveView::for_terminal(!self.plain && !self.quiet && !self.verbose && std::io::stdout().is_terminal());
        let report = coracle_scenario::execute(scenario, file, &options, |header| {
            let made = match &self.events {
                Some(path) => Recorder::file(path, KEPT_ENTRIES, header),
                None => Ok(Recorder::ring(KEPT_ENTRIES)),
            };
            let made = made.unwrap_or_else(|error| {
                let _ = unwritable.set(error);
                Recorder::ring(KEPT_ENTRIES)
            });
            live.follow(&scenario.metadata.name, &made);
            recorder.get_or_init(|| made).clone()
        });
        live.end();
        if let (Some(recorder), Some(path)) = (recorder.get(), &self.events) {
            recorder.close().with_context(|| format!("cannot write {}", path.display()))?;
        }
        let report = report?;
        if let Some(error) = unwritable.into_inner() {
            return Err(error.into());
        }
        for path in &self.report {
            report.write(path)?;
        }
        self.print(file, &report)?;
        Ok(match report.outcome {
            Outcome::Passed => exit::PASS,
            Outcome::Failed(_) => exit::CHECK_FAILED,
            Outcome::NotInTime(_) => exit::NOT_IN_TIME,
            Outcome::NothingMatched(_) => exit::NOTHING_MATCHED,
        })
    }

    fn print(&self, file: &Path, report: &Report) -> Result<()> {
        if self.verbose {
            for entry in &report.events().entries {
                let revision = entry.revision.map_or(String::new(), |revision| revision.to_string());
                let at = entry.at.as_secs_f64();
                out!("{at:>10.4} s {revision:>6}  {:<34} {}", plain(&entry.actor), plain(&sentence(entry)))?;
            }
        }
        if self.quiet {
            out!("{}", plain(report.block().lines().next().unwrap_or_default()))?;
            return Ok(());
        }
        let Picture { lanes, legend } = lanes(&report.events().entries, 110, 12);
        if !lanes.is_empty() {
            out!("{}\n {legend}\n", plain(&lanes.join("\n")))?;
        }
        output::text(&plain(&report.block()))?;
        for path in &self.report {
            out!("       report {}", path.display())?;
        }
        if self.report.is_empty() && !report.passed() {
            out!("       next: {}", self.again(file, report))?;
        }
        if let Some(events) = &self.events {
            out!("       events {}   next: coracle story {}", events.display(), events.display())?;
        }
        Ok(())
    }

    /// The command line that repeats a scenario with the same result, and writes its report.
    fn again(&self, file: &Path, report: &Report) -> String {
        let (name, seed, mode) = (&report.name, report.seed, report.mode);
        let disturb = self.disturb.map(|how| format!(" --disturb {how}")).unwrap_or_default();
        let strict = if self.strict { " --strict" } else { "" };
        format!("coracle run {} --seed {seed} --mode {mode}{disturb}{strict} --report {name}.html", quoted(file))
    }

    /// The given files, and those in the given folders, sorted by name.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for path in &self.paths {
            if path.is_dir() {
                let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
                    .map_err(|error| exit::Usage(format!("{}: {error}", path.display())))?
                    .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                    .filter(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml"))
                    .collect();
                inside.sort();
                files.extend(inside);
            } else {
                files.push(path.clone());
            }
        }
        Ok(files)
    }
}
