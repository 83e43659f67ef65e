//! Replays plans of scenarios: `coracle run PLAN`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use coracle_check::{CheckReport, Error, PlanFile, ScenarioCheck};

use super::check::{NAME, SEED};
use crate::exit;
use crate::output::{self, note};
use crate::progress::Progress;
use crate::screen::Screen;
use crate::shell::quoted;

/// How a plan of a program is replayed, with what the plan recorded.
fn replay_hint(file: &Path, plan: &PlanFile) -> String {
    let name = if plan.component() == NAME { String::new() } else { format!(" --name {}", plan.component()) };
    let seed = if plan.seed() == SEED { String::new() } else { format!(" --seed {}", plan.seed()) };
    let recorded = plan.recorded().join("\n  ");
    let in_rust = if plan.has_log() { "; a controller in Rust replays it in its test, with `replay`" } else { "" };
    format!(
        "{} is a plan of the controller `{}`, and not of a scenario:\n  {recorded}\nreplay it with the program: coracle \
         check --plan {}{name}{seed} -- PROGRAM{in_rust}",
        file.display(),
        plan.component(),
        quoted(file)
    )
}

/// Refuses plans that need a program, and a seed that is not that of a plan.
///
/// # Errors
/// With the command that replays the plan.
pub(super) fn check_plans(plans: &[(PathBuf, PlanFile)], seed: Option<u64>) -> Result<(), exit::Usage> {
    for (file, plan) in plans {
        if !plan.is_of_scenario() {
            return Err(exit::Usage(replay_hint(file, plan)));
        }
        if let Some(seed) = seed.filter(|seed| *seed != plan.seed()) {
            let (file, own) = (file.display(), plan.seed());
            return Err(exit::Usage(format!("{file} is a plan with the seed {own}, and is not replayed with {seed}")));
        }
    }
    Ok(())
}

/// Replays a plan of a scenario, and returns the exit code.
pub(super) fn replay(file: &Path, plan: &PlanFile, is_quiet: bool, screen: Screen) -> Result<u8> {
    let replaying = Progress::of(format!("replaying {}", file.display()));
    let report = ScenarioCheck::of_plan(file, plan.clone()).and_then(ScenarioCheck::search);
    drop(replaying);
    let report = match report {
        Ok(report) => report.check,
        Err(error @ Error::Cluster(_)) => return Err(error.into()),
        Err(error) => return Err(exit::Usage(error.to_string()).into()),
    };
    output::shown_on(screen, &shown(&report, is_quiet))?;
    if report.replayed.is_empty() && report.without_faults.is_empty() {
        note!("coracle: {} was not replayed", file.display());
        return Ok(exit::FAILED);
    }
    Ok(if report.fails() { exit::CHECK_FAILED } else { exit::PASS })
}

/// How a replay went.
fn shown(report: &CheckReport, is_quiet: bool) -> String {
    let without = report.without_faults.iter();
    let mut text: String = without.map(|finding| format!("✗ without a fault: {}\n", finding.violation.what)).collect();
    if !is_quiet {
        text.extend(report.found.iter().map(ToString::to_string));
    }
    text.extend(report.replayed.iter().map(ToString::to_string));
    text
}
