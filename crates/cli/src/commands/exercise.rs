//! `coracle exercise`: broken clusters to repair with kubectl.

use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use coracle_lesson::{Exercise, exercises, read_exercise};
use coracle_scenario::{ClaimVerdict, Workload};
use coracle_sim::World;
use futures_util::future::{Either, select};
use http::StatusCode;
use serde_json::Value;

use super::env::StateArgs;
use super::learn::hint;
use super::up::{RunningCluster, Up};
use crate::cluster_api::get;
use crate::exercise_api::{self, PATH, RunningExercise};
use crate::exit;
use crate::interrupt::interrupted;
use crate::output::{note, out};
use crate::page_socket::{LOOPBACK, address};
use crate::progress::Progress;
use crate::runtime::{runtime, server_ambient};
use crate::snapshot_api::SnapshotApi;
use crate::state::StateFolder;
use crate::terminal::plain;
use crate::yaml_files::is_yaml;

const EXAMPLES: &str = "Examples:
  coracle exercise list
  coracle exercise start selector-typo     then, in another terminal:
  coracle kubectl get pods
  coracle exercise check";

/// Repairs broken clusters.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExerciseCommand {
    #[command(flatten)]
    state: StateArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the exercises, with the minutes that they take
    List,
    /// Start a broken cluster in memory and keep it until Ctrl-C
    Start(Start),
    /// Check whether the cluster is repaired: which claims hold, and what was found where one does not
    Check {
        /// The exercise that must be running [default: whichever runs]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Start {
    /// The exercise: a name, a number or an exercise file
    exercise: String,
    /// Serve a live page of the event log, as `coracle up --view` does
    #[arg(long, value_name = "ADDRESS[:PORT]", num_args = 0..=1, require_equals = true, default_missing_value = LOOPBACK, value_parser = address)]
    view: Option<SocketAddr>,
}

impl ExerciseCommand {
    pub(crate) fn run(self) -> Result<u8> {
        match self.action {
            Action::List => list(),
            Action::Start(start) => {
                let Some(exercise) = wanted(&start.exercise)? else { return Ok(exit::NOTHING_MATCHED) };
                runtime()?.block_on(serve(exercise, self.state, start.view))
            }
            Action::Check { name } => check(&self.state, name.as_deref()),
        }
    }
}

fn list() -> Result<u8> {
    for exercise in exercises() {
        let spec = &exercise.spec;
        out!("{:>3}  {:<20} {:>3} min  {}", spec.number, exercise.metadata.name, spec.minutes, spec.title)?;
    }
    out!("\nNext: coracle exercise start NAME")?;
    Ok(exit::PASS)
}

/// The exercise with a name or a number, or in a file; `None` after a message with the closest name.
fn wanted(text: &str) -> Result<Option<Exercise>> {
    let path = Path::new(text);
    if is_yaml(path) {
        return Ok(Some(read_exercise(path).map_err(|problem| exit::Usage(problem.to_string()))?));
    }
    match built_in(text) {
        Ok(exercise) => Ok(Some(exercise)),
        Err(why) => {
            note!("coracle: {why}");
            Ok(None)
        }
    }
}

/// The built-in exercise with a name or a number.
///
/// # Errors
/// The closest name.
pub(super) fn built_in(text: &str) -> Result<Exercise, String> {
    let all = exercises();
    let is_it = |one: &&Exercise| one.metadata.name == text || one.spec.number.to_string() == text;
    let names: Vec<&str> = all.iter().map(|one| one.metadata.name.as_str()).collect();
    let unknown = || format!("there is no exercise `{text}`; {}", hint(text, &names));
    all.iter().find(is_it).cloned().ok_or_else(unknown)
}

/// Starts the cluster, breaks it, and keeps it until Ctrl-C.
async fn serve(exercise: Exercise, state: StateArgs, view: Option<SocketAddr>) -> Result<u8> {
    let folder = state.folder();
    let up = Up::in_memory(state, exercise.nodes()).viewed_at(view);
    let starting = Progress::of("starting the cluster, and breaking it");
    let running = up.start(&folder, server_ambient()).await?;
    let (workload, cluster) = (exercise.workload(), &running.cluster);
    let world = exercise_api::follow(&workload, cluster);
    let breaking = async {
        match select(pin!(break_cluster(&workload, &running, &world)), pin!(interrupted())).await {
            Either::Left((broken, _)) => broken.map(|()| None),
            Either::Right((code, _)) => Ok(Some(code)),
        }
    };
    let code = cluster.unless_ended(breaking).await?;
    drop(starting);
    let front = SnapshotApi::in_front_of(cluster, &folder);
    let front = coracle_control::faults_in_front_of(front, &running.faults);
    let front = exercise_api::in_front_of(front, &Arc::new(RunningExercise::new(exercise.clone(), workload, world)));
    let serving = tokio::spawn(running.serving.listener.serve(front, std::future::pending()));
    let code = match code {
        Ok(None) => {
            greet(&exercise, &folder, running.page.as_deref())?;
            Ok(running.cluster.unless_ended(interrupted()).await?)
        }
        Ok(Some(code)) => Ok(code),
        Err(why) => Err(why),
    };
    note!("stopping");
    let _stopping = Progress::of("stopping the cluster");
    running.faults.remove(|_| true);
    running.cluster.shutdown().await;
    serving.abort();
    code
}

/// Takes the steps of an exercise in its cluster.
async fn break_cluster(workload: &Workload, running: &RunningCluster, world: &World) -> Result<()> {
    let mut steps = workload.begin(&running.cluster, world, &running.faults);
    let taken = steps.take(async || true, async || false).await;
    taken.map_err(|why| anyhow!("the exercise cannot be prepared: {why}"))
}

/// What is wrong, and how to go on.
fn greet(exercise: &Exercise, folder: &StateFolder, page: Option<&str>) -> Result<()> {
    let (spec, flag) = (&exercise.spec, folder.flag());
    out!("{}. {} ({} min)\n", spec.number, spec.title, spec.minutes)?;
    out!("{}\n", spec.report)?;
    if let Some(link) = page {
        out!(" ✓ page {link}")?;
    }
    out!(" Use    coracle kubectl{flag} get pods        or  eval \"$(coracle env{flag})\"")?;
    out!(" Check  coracle exercise check{flag}           each check that fails shows one more hint")?;
    Ok(())
}

/// Asks the running cluster whether it is repaired.
fn check(state: &StateArgs, name: Option<&str>) -> Result<u8> {
    let server = state.connect(None)?;
    let _checking = Progress::of("checking the claims");
    let (code, body) = runtime()?.block_on(get(&server, PATH))?;
    if code == StatusCode::NOT_FOUND {
        let why = "the cluster that runs is no exercise; start one with `coracle exercise start NAME`";
        return Err(exit::Usage(why.to_owned()).into());
    }
    anyhow::ensure!(code.is_success(), "the cluster answers {code} to {PATH}");
    let answer: Value = serde_json::from_slice(&body).with_context(|| format!("no JSON is at {PATH}"))?;
    let runs = answer["name"].as_str().unwrap_or_default();
    if let Some(name) = name.filter(|name| *name != runs) {
        return Err(exit::Usage(format!("the exercise that runs is `{runs}`, and not `{name}`")).into());
    }
    let claims: Vec<ClaimVerdict> = serde_json::from_value(answer["claims"].clone())?;
    for claim in &claims {
        out!(" {} {}", if claim.holds { "✓" } else { "✗" }, plain(&claim.name))?;
        if !claim.holds {
            out!("     expected  {}", plain(&one_line(&claim.expected)))?;
            out!("     found     {}  at revision {}", plain(&one_line(&claim.found)), claim.revision)?;
        }
    }
    let hold = claims.iter().filter(|claim| claim.holds).count();
    if hold == claims.len() {
        out!("\nRepaired: all {hold} claims hold.\n\n{}", answer["explanation"].as_str().unwrap_or_default())?;
        return Ok(exit::PASS);
    }
    out!("\nNot repaired yet: {hold} of {} claims hold.", claims.len())?;
    for hint in answer["hints"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out!("Hint: {hint}")?;
    }
    Ok(exit::CHECK_FAILED)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
