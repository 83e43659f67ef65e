use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::Cluster;
use coracle_journal::{EntryId, Events, Recorder, Stage};
use coracle_scenario::{Check, Mode, Options, Report, Scenario, Wiring, execute_until, parse_faults};
use coracle_sim::checks::{Run, RunLog, STAGES};
use coracle_sim::{Latency, Senders, Wire, settle};
use tokio::time::sleep;

use super::deviation::Verdict;
use super::requesters::{is_of, requesters};
use crate::Error;
use crate::observed_wire::ObservedWire;
use crate::pace::Pace;
use crate::plan::Plan;
use crate::rest::at_rest;

/// How many entries of a run are kept.
const ENTRIES: usize = 2_000_000;
/// How long a step waits at least: longer than each delay that a fault causes.
const PATIENCE: Duration = Duration::from_secs(1800);
/// How long a cluster is left alone that never settles without a fault, such as one with a CronJob: longer than each
/// fault lasts.
const LEFT_ALONE: Duration = Duration::from_secs(700);

/// What all runs of a search have in common.
#[derive(Clone)]
pub(super) struct ScenarioSetup {
    /// The scenario.
    pub(super) scenario: Scenario,
    /// Its file.
    pub(super) path: PathBuf,
    /// The component that is checked.
    pub(super) component: String,
    /// Whether the cluster settles after the last step, if no fault strikes.
    pub(super) settles: bool,
    /// Whether the event logs of runs are kept.
    pub(super) keeps_logs: bool,
}

/// How a run went.
pub(super) struct ScenarioOutcome {
    /// What the checks read. The requests of all parts of the component have its name.
    pub(super) run: Run,
    /// Who sent each request of the log.
    pub(super) requesters: Vec<Arc<str>>,
    /// The entry with which the first step began.
    pub(super) began: EntryId,
    /// How the steps ended.
    pub(super) verdict: Verdict,
    /// What is said of each fault that did not strike.
    pub(super) missed: Vec<String>,
    /// The event log, if logs are kept.
    pub(super) log: Option<Arc<Events>>,
}

/// One run on this thread.
///
/// # Errors
/// If the plan is not valid, or the cluster does not start.
pub(super) fn scenario_trial(setup: &ScenarioSetup, seed: u64, plan: &Plan) -> Result<ScenarioOutcome, Error> {
    let scenario = disturbed(setup, plan)?;
    let wire = Wire::keeping_sent();
    let latency = &scenario.spec.cluster.latency;
    let latency = Latency { request: latency.request, watch: latency.watch };
    for rule in latency.rules(Senders::Components) {
        wire.add(rule);
    }
    let observed = ObservedWire::new(&wire, &setup.component);
    let wiring = Some(Wiring { wire: wire.clone(), layer: observed.layer() });
    let options = Options { mode: Some(Mode::Virtual), seed: Some(seed), ..Options::default() };
    let end = async |cluster: &Cluster| {
        let mut run = Run::of(&setup.component, &setup.component);
        Ended { cluster, wire: &wire, setup }.rest_and_restart(&mut run).await;
        Ok((run, cluster.recorder().clone()))
    };
    let path = &setup.path;
    let (report, ended) = execute_until(&scenario, path, &options, wiring, |_| Recorder::ring(ENTRIES), end)?;
    let (mut run, recorder) = ended;
    (run.shown, run.senders) = observed.take();
    Ok(outcome(setup, &scenario, &report, run, &recorder))
}

fn disturbed(setup: &ScenarioSetup, plan: &Plan) -> Result<Scenario, Error> {
    if plan.faults.is_empty() {
        return Ok(setup.scenario.clone());
    }
    let faults = parse_faults(Path::new("plan"), &plan.text()).map_err(|problem| Error::Input(problem.to_string()))?;
    Ok(setup.scenario.with_faults(faults, PATIENCE))
}

fn outcome(
    setup: &ScenarioSetup,
    scenario: &Scenario,
    report: &Report,
    mut run: Run,
    recorder: &Recorder,
) -> ScenarioOutcome {
    let stages = [&STAGES[..], &[Stage::SyncWrite, Stage::StepStart]].concat();
    let entries = recorder.entries_of(EntryId(0), &stages);
    run.log = RunLog::of(&entries);
    let requesters = requesters(&entries, &run.log);
    let component: Arc<str> = Arc::from(setup.component.as_str());
    for (request, requester) in run.log.requests.iter_mut().zip(&requesters) {
        let is_own = is_of(requester, &component) || is_of(&request.user, &component);
        request.user = if is_own { Arc::clone(&component) } else { Arc::clone(requester) };
    }
    let began = entries.iter().find(|entry| entry.stage == Stage::StepStart).map_or(EntryId(0), |entry| entry.id);
    let is_missed = |check: &&Check| !check.held && check.name.starts_with("fault ");
    let missed = report.checks.iter().filter(is_missed).map(|check| format!("{} did not strike", check.name)).collect();
    let log = setup.keeps_logs.then(|| Arc::new(report.events().clone()));
    ScenarioOutcome { run, requesters, began, verdict: Verdict::of(scenario, report), missed, log }
}

/// A cluster in which all steps were taken.
struct Ended<'c> {
    cluster: &'c Cluster,
    wire: &'c Wire,
    setup: &'c ScenarioSetup,
}

impl Ended<'_> {
    async fn rest_and_restart(&self, run: &mut Run) {
        run.settled = self.rest(run).await;
        if run.unsettled.is_some() {
            return;
        }
        let (handle, component) = (self.cluster.handle(), &self.setup.component);
        // A scenario may end with a component that is stopped.
        if self.setup.settles && handle.kill_component(component, None) {
            handle.start_component(component, None);
            run.restarted = self.rest(run).await;
        }
    }

    /// Waits until the cluster is at rest, and returns the last entry before.
    async fn rest(&self, run: &mut Run) -> Option<EntryId> {
        if !self.setup.settles {
            sleep(LEFT_ALONE).await;
            return Some(self.cluster.recorder().last());
        }
        let settled = async || {
            let settled = settle(self.cluster, Pace::VIRTUAL.at_rest).await;
            settled.map(drop).map_err(|not_settled| not_settled.to_string())
        };
        at_rest(run, self.wire, self.cluster.recorder(), settled).await
    }
}
