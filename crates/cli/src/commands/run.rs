use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Disturbance, LEGEND, Mode, Options, Outcome, Report, Scenario, lanes, parse};

use crate::exit;
use crate::live::Live;

/// Entries of the event log that are kept in memory for the report.
const KEPT_ENTRIES: usize = 1_000_000;

/// Runs scenarios.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario files, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How the clock runs: real, scaled=N or virtual
    #[arg(long)]
    mode: Option<Mode>,
    /// The seed of all randomness
    #[arg(long, env = "CORACLE_SEED")]
    seed: Option<u64>,
    /// What happens to the controllers meanwhile: kill@N, pause@N or double@N after N revisions, or late
    #[arg(long, value_name = "DISTURBANCE")]
    disturb: Option<Disturbance>,
    /// Write the event log here, as JSON lines (one scenario only)
    #[arg(long)]
    events: Option<PathBuf>,
    /// Only the verdict of each scenario
    #[arg(short, long)]
    quiet: bool,
    /// Every entry of the event log, as a sentence
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    /// No colours, no redrawing, one line at a time
    #[arg(long)]
    plain: bool,
}

impl Run {
    pub(crate) fn run(self) -> Result<u8> {
        let files = self.files()?;
        if files.is_empty() {
            eprintln!(
                "coracle: no scenario in {}",
                self.paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
            );
            return Ok(exit::NOTHING_MATCHED);
        }
        if self.events.is_some() && files.len() > 1 {
            return Err(exit::Usage(format!("--events takes one scenario, and there are {}", files.len())).into());
        }
        // All are read before the first is run: a typo in the last must not show after minutes.
        let vocabulary = BuiltIn::default();
        let mut scenarios = Vec::new();
        let mut problems = 0;
        for file in files {
            match parse::read(&file, &vocabulary) {
                Ok(scenario) => scenarios.push((file, scenario)),
                Err(problem) => {
                    eprintln!("{problem}");
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
            println!(
                "\n{} scenarios, {}",
                scenarios.len(),
                if worst == exit::PASS { "all passed" } else { "not all passed" }
            );
        }
        Ok(worst)
    }

    fn one(&self, file: &Path, scenario: &Scenario) -> Result<u8> {
        let options = Options { mode: self.mode, seed: self.seed, disturbance: self.disturb, ..Options::default() };
        let unwritable = std::cell::OnceCell::new();
        let live = Live::for_terminal(!self.plain && !self.quiet && !self.verbose && std::io::stdout().is_terminal());
        let report = coracle_scenario::execute(scenario, file, &options, || {
            let made = match &self.events {
                Some(path) => Recorder::file(path, KEPT_ENTRIES),
                None => Ok(Recorder::ring(KEPT_ENTRIES)),
            };
            let made = made.unwrap_or_else(|error| {
                let _ = unwritable.set(error);
                Recorder::ring(KEPT_ENTRIES)
            });
            live.follow(&scenario.metadata.name, &made);
            made
        })?;
        live.end();
        if let Some(error) = unwritable.into_inner() {
            return Err(error.into());
        }
        self.print(&report);
        Ok(match report.outcome {
            Outcome::Passed => exit::PASS,
            Outcome::Failed(_) => exit::CHECK_FAILED,
            Outcome::NotInTime(_) => exit::NOT_IN_TIME,
        })
    }

    fn print(&self, report: &Report) {
        if self.verbose {
            for entry in &report.entries {
                let revision = entry.revision.map_or(String::new(), |revision| revision.to_string());
                let at = entry.at.as_secs_f64();
                println!("{at:>10.4} s {revision:>6}  {:<34} {}", entry.actor, coracle_scenario::sentence(entry));
            }
        }
        if self.quiet {
            println!("{}", report.block().lines().next().unwrap_or_default());
            return;
        }
        let drawn = lanes(&report.entries, 110, 12);
        if !drawn.is_empty() {
            println!("{}\n {LEGEND}\n", drawn.join("\n"));
        }
        print!("{}", report.block());
        if let Some(events) = &self.events {
            println!("       events {}   next: coracle story {}", events.display(), events.display());
        }
    }

    /// The files named, and those in the folders named, in the order of their names.
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
