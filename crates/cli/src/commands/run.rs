use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use coracle_check::PlanFile;
use coracle_journal::Recorder;
use coracle_release::Release;
use coracle_scenario::{BuiltIn, Disturbance, Mode, Options, Outcome, Report, Scenario, parse};
use coracle_viewer::{Format, JunitReport, Picture, RunPair, differ, lanes, sentence};

use super::plan_files::is_plan;
use super::replay::{check_plans, replay};
use super::what_if::{Output, Put};
use crate::excerpt::with_excerpt;
use crate::exit;
use crate::live_view::LiveView;
use crate::output::{self, note, out};
use crate::progress::Progress;
use crate::reports;
use crate::screen::Screen;
use crate::seeds::Seeds;
use crate::shell::quoted;
use crate::terminal::plain;
use crate::yaml_files::yaml_files;

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
    /// The Kubernetes release of the cluster, such as 1.36; several run each scenario in each, and the first event that
    /// differs is shown
    #[arg(long, value_name = "VERSION,...", value_delimiter = ',', value_parser = Release::named, env = "CORACLE_KUBERNETES")]
    kubernetes: Vec<Release>,
    /// The seed of all randomness
    #[arg(long, env = "CORACLE_SEED")]
    seed: Option<u64>,
    /// Run each scenario with each of these seeds: the first and the last, such as 1..100
    #[arg(long, value_name = "FIRST..LAST", conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// A disturbance of the controllers: kill@N, pause@N or double@N after N revisions, or late
    #[arg(long, value_name = "DISTURBANCE")]
    disturb: Option<Disturbance>,
    /// Write the event log to this file; compressed if the name ends with .gz (one scenario only)
    #[arg(long)]
    events: Option<PathBuf>,
    /// Write a report to this file; the extension selects the format: .html, .json, .xml (JUnit), .md or .perfetto.json
    /// (may be repeated; of several runs only .xml)
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

/// The exit code of an outcome.
fn code_of(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Passed => exit::PASS,
        Outcome::Failed(_) => exit::CHECK_FAILED,
        Outcome::NotInTime(_) => exit::NOT_IN_TIME,
        Outcome::NothingMatched(_) => exit::NOTHING_MATCHED,
    }
}

/// Shows how far a scenario is that has no picture.
fn progress_of(name: &str, recorder: &Recorder) -> Progress {
    let (name, recorder) = (name.to_owned(), recorder.clone());
    Progress::changing(move || {
        let last = recorder.entries(recorder.last()).pop();
        let at = last.map_or(0.0, |entry| entry.at.as_secs_f64());
        format!("running {name}  t {at:.1} s")
    })
}

impl Run {
    pub(crate) fn run(self) -> Result<u8> {
        let files = yaml_files(&self.paths)?;
        if files.is_empty() {
            note!(
                "coracle: no scenario in {}",
                self.paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
            );
            return Ok(exit::NOTHING_MATCHED);
        }
        let seeds: Vec<Option<u64>> = match &self.seeds {
            Some(seeds) => seeds.each().map(Some).collect(),
            None => vec![self.seed],
        };
        self.fits_runs(files.len() * seeds.len() * self.kubernetes.len().max(1))?;
        reports::check(&self.report)?;
        if let Some(path) = &self.events {
            reports::check_folder("--events", path)?;
        }
        // All scenarios are parsed before the first one runs, so that a typo in the last one is found at once.
        let vocabulary = BuiltIn::default();
        let mut scenarios = Vec::new();
        let (mut plans, mut is_wrong) = (Vec::new(), false);
        for file in files {
            let text = match parse::read_text(&file) {
                Ok(text) => text,
                Err(problem) => {
                    note!("{problem}");
                    is_wrong = true;
                    continue;
                }
            };
            if is_plan(&file, &text) {
                match PlanFile::read(&file, &text) {
                    Ok(plan) => plans.push((file, plan)),
                    Err(problems) => {
                        problems.iter().for_each(|problem| note!("{}", plain(&with_excerpt(problem, &text))));
                        is_wrong = true;
                    }
                }
                continue;
            }
            match parse::parse_all(&file, &text, &vocabulary) {
                Ok(scenario) => scenarios.push((file, scenario)),
                Err(problems) => {
                    problems.iter().for_each(|problem| note!("{}", plain(&with_excerpt(problem, &text))));
                    is_wrong = true;
                }
            }
        }
        if is_wrong {
            return Ok(exit::USAGE);
        }
        self.fits_plans(&plans)?;
        let mut worst = if scenarios.is_empty() { exit::PASS } else { self.each(&scenarios, &seeds)? };
        for (file, plan) in &plans {
            worst = worst.max(replay(file, plan, self.quiet, self.screen())?);
        }
        Ok(worst)
    }

    /// A plan has a seed and a mode of its own, and needs no program.
    fn fits_plans(&self, plans: &[(PathBuf, PlanFile)]) -> Result<(), exit::Usage> {
        let Some((first, _)) = plans.first() else { return Ok(()) };
        let others = [
            ("--mode", self.mode.is_some()),
            ("--kubernetes", self.kubernetes.len() > 1),
            ("--seeds", self.seeds.is_some()),
            ("--disturb", self.disturb.is_some()),
            ("--events", self.events.is_some()),
            ("--report", !self.report.is_empty()),
            ("--strict", self.strict),
            ("--at", self.put.is_wanted()),
        ];
        if let Some((option, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return Err(exit::Usage(format!("{option} does not apply to {}, which is a plan", first.display())));
        }
        check_plans(plans, self.seed)
    }

    /// Some options need a single run.
    fn fits_runs(&self, runs: usize) -> Result<(), exit::Usage> {
        let is_joined = |path: &PathBuf| Format::of(path).is_ok_and(|format| format == Format::Junit);
        let single = [
            ("--events", self.events.is_some()),
            ("--at", self.put.is_wanted()),
            ("--report with another ending than .xml", !self.report.iter().all(is_joined)),
        ];
        match single.into_iter().find(|(_, is_given)| runs > 1 && *is_given) {
            Some((option, _)) => Err(exit::Usage(format!("{option} takes one run, but there are {runs}"))),
            None => Ok(()),
        }
    }

    /// Runs each scenario with each seed.
    fn each(&self, scenarios: &[(PathBuf, Scenario)], seeds: &[Option<u64>]) -> Result<u8> {
        let runs = scenarios.len() * seeds.len();
        let mut joined = (runs > 1 && !self.report.is_empty()).then(JunitReport::default);
        let (mut worst, mut failed) = (exit::PASS, Vec::new());
        for (file, scenario) in scenarios {
            for seed in seeds {
                let code = self.one(file, scenario, *seed, joined.as_mut())?;
                if code != exit::PASS {
                    let seed = self.seeds.as_ref().and(*seed).map_or(String::new(), |seed| format!(" --seed {seed}"));
                    failed.push(format!("{}{seed}", quoted(file)));
                }
                worst = worst.max(code);
            }
        }
        if let Some(joined) = joined {
            for path in &self.report {
                std::fs::write(path, joined.document()).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        if runs > 1 && !self.quiet {
            let verdict = match failed.len() {
                0 => "all passed".to_owned(),
                count => format!("{} passed, {count} not:\n  {}", runs - count, failed.join("\n  ")),
            };
            let what = if self.seeds.is_some() { "runs" } else { "scenarios" };
            out!("\n{runs} {what}, {verdict}")?;
        }
        Ok(worst)
    }

    fn one(&self, file: &Path, scenario: &Scenario, seed: Option<u64>, joined: Option<&mut JunitReport>) -> Result<u8> {
        let (mode, disturbance, strict) = (self.mode, self.disturb, self.strict);
        let kubernetes = self.kubernetes.first().cloned();
        let options = Options { mode, seed, disturbance, strict, kubernetes, ..Options::default() };
        if self.kubernetes.len() > 1 {
            return self.in_each_release(file, scenario, &options, joined);
        }
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
        let report = self.recorded(file, scenario, &options)?;
        match joined {
            Some(joined) => {
                let suffix = self.seeds.as_ref().and(seed).map(|seed| format!("seed {seed}"));
                joined.add(report.events(), suffix.as_deref());
            }
            None => self.report.iter().try_for_each(|path| report.write(path))?,
        }
        self.print(file, &report)?;
        Ok(code_of(&report.outcome))
    }

    /// Runs a scenario in each release, and compares the event log of each later one with that of the first.
    fn in_each_release(
        &self,
        file: &Path,
        scenario: &Scenario,
        options: &Options,
        mut joined: Option<&mut JunitReport>,
    ) -> Result<u8> {
        let (mut worst, mut first) = (exit::PASS, None::<(&Release, Report)>);
        for release in &self.kubernetes {
            let options = Options { kubernetes: Some(release.clone()), ..options.clone() };
            let report = self.recorded(file, scenario, &options)?;
            worst = worst.max(code_of(&report.outcome));
            if let Some(joined) = &mut joined {
                joined.add(report.events(), Some(&format!("Kubernetes {release}")));
            }
            output::shown_on(self.screen(), &format!(" Kubernetes {release}\n{}", report.block()))?;
            let Some((other, before)) = &first else {
                first = Some((release, report));
                continue;
            };
            let names = [other.version(), release.version()];
            output::shown(&format!("\n{}\n", differ(&RunPair::of(before.events(), report.events(), names))))?;
        }
        Ok(worst)
    }

    /// Runs a scenario, shows it while it runs, and writes its event log.
    fn recorded(&self, file: &Path, scenario: &Scenario, options: &Options) -> Result<Report> {
        let (unwritable, recorder, progress) = (OnceCell::new(), OnceCell::new(), Cell::default());
        let live = LiveView::for_terminal(!self.quiet && !self.verbose, self.screen());
        let report = coracle_scenario::execute(scenario, file, options, |header| {
            let made = match &self.events {
                Some(path) => Recorder::file(path, KEPT_ENTRIES, header),
                None => Ok(Recorder::ring(KEPT_ENTRIES)),
            };
            let made = made.unwrap_or_else(|error| {
                let _ = unwritable.set(error);
                Recorder::ring(KEPT_ENTRIES)
            });
            live.follow(&scenario.metadata.name, &made);
            if !live.is_shown() {
                progress.set(Some(progress_of(&scenario.metadata.name, &made)));
            }
            recorder.get_or_init(|| made).clone()
        });
        live.end();
        drop(progress);
        if let (Some(recorder), Some(path)) = (recorder.get(), &self.events) {
            recorder.close().with_context(|| format!("cannot write {}", path.display()))?;
        }
        let report = report?;
        match unwritable.into_inner() {
            Some(error) => Err(error.into()),
            None => Ok(report),
        }
    }

    fn screen(&self) -> Screen {
        let screen = Screen::of_output();
        if self.plain { screen.plain() } else { screen }
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
            output::shown_on(self.screen(), &format!("{}\n", report.block().lines().next().unwrap_or_default()))?;
            return Ok(());
        }
        let Picture { lanes, legend } = lanes(&report.events().entries, self.screen().width(), 12);
        let screen = self.screen();
        if !lanes.is_empty() {
            let lanes: String = lanes.iter().map(|lane| screen.lane(lane) + "\n").collect();
            output::text(&lanes)?;
            output::shown_on(screen, &format!(" {legend}\n\n"))?;
        }
        output::shown_on(self.screen(), &report.block())?;
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
        let release = self.kubernetes.first().map(|release| format!(" --kubernetes {release}")).unwrap_or_default();
        let how = format!("--seed {seed} --mode {mode}{release}{disturb}{strict}");
        format!("coracle run {} {how} --report {name}.html", quoted(file))
    }
}
