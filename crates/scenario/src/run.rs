mod judge;
mod lines;
mod operation;
mod requests;
mod stop;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::Cluster;
use coracle_journal::{Detail, EntryId, Header, Recorder, Stage};
use coracle_sim::{Polarity, World};
use coracle_viewer::author;
use coracle_yaml::Spanned;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::stop::{Stop, late};
use crate::broken_controller::BrokenControllers;
use crate::change::{Change, ChangeOutcome};
use crate::end_state::EndState;
use crate::faults::Faults;
use crate::file::{self, Assert, Operation, Scenario, Step};
use crate::log::Log;
use crate::mode::Mode;
use crate::objects::{CATCH_UP, Objects, Refusal};
use crate::question::at_rest;
use crate::report::{Check, Failure, Outcome, Report};
use crate::step_memory::StepMemory;
use crate::vacuous::Baselines;

/// The actor of the scenario in the event log.
const ACTOR: &str = "scenario";

/// A scenario that runs in a cluster.
pub(crate) struct ScenarioRun<'a> {
    scenario: &'a Scenario,
    /// Paths in the scenario are relative to this folder.
    folder: PathBuf,
    cluster: &'a Cluster,
    world: World,
    objects: Arc<Objects>,
    /// The API client of each user of the steps so far.
    users: BTreeMap<Option<String>, Arc<Objects>>,
    /// The objects that steps gave names to, as they were then.
    bound: Arc<Mutex<BTreeMap<String, Arc<coracle_meta::Object>>>>,
    broken_controllers: BrokenControllers,
    faults: Faults,
    /// Drains that run in the background.
    drains: JoinSet<Result<(), Refusal>>,
    recorder: Recorder,
    started: Instant,
    checks: Vec<Check>,
    /// The first entry of each step, for counts that begin there.
    steps: Vec<(String, EntryId)>,
    /// The line of the operation that runs, or ran last, if there is a `file`.
    line: Option<u64>,
    /// The file of the scenario; absent for an inserted step, which is in another file.
    file: Option<PathBuf>,
    /// Whether a vacuous check counts as failed.
    strict: bool,
    /// The vacuous checks, if they count as failed.
    vacuous: Vec<Failure>,
}

/// The options for the end of a run.
pub(crate) struct Ending<'a> {
    pub(crate) header: Header,
    pub(crate) mode: Mode,
    pub(crate) seed: u64,
    /// How long the cluster continues after the last step.
    pub(crate) rest: Duration,
    /// The step to insert.
    pub(crate) change: Option<&'a Change>,
    /// Whether a vacuous check counts as failed.
    pub(crate) strict: bool,
    /// The number of events after which the run ends; absent for no limit.
    pub(crate) most_events: Option<u64>,
}

/// The result of all steps.
struct Ended {
    outcome: Outcome,
    cluster_time: Duration,
    fate: Option<ChangeOutcome>,
    /// The steps that were not reached.
    skipped: Vec<String>,
}

impl<'a> ScenarioRun<'a> {
    pub(crate) fn new(scenario: &'a Scenario, path: &Path, cluster: &'a Cluster, world: World, faults: Faults) -> Self {
        let objects = Arc::new(Objects::new(cluster, &scenario.spec.namespace, None));
        Self {
            scenario,
            folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
            cluster,
            users: BTreeMap::from([(None, Arc::clone(&objects))]),
            objects,
            bound: Arc::default(),
            broken_controllers: BrokenControllers::new(cluster, &scenario.spec.namespace),
            faults,
            drains: JoinSet::new(),
            world,
            recorder: cluster.recorder().clone(),
            started: Instant::now(),
            checks: Vec::new(),
            steps: Vec::new(),
            line: None,
            file: Some(path.to_owned()),
            strict: false,
            vacuous: Vec::new(),
        }
    }

    /// Continues what other steps have left.
    pub(crate) fn remember(&mut self, memory: &StepMemory) {
        (self.bound, self.broken_controllers) = (Arc::clone(&memory.bound), memory.broken_controllers.clone());
    }

    /// Takes all steps, and returns the report of the scenario.
    pub(crate) async fn finish(mut self, ending: Ending<'_>, wall: impl Fn() -> Duration) -> Report {
        let Ending { header, mode, seed, rest, change, strict, most_events } = ending;
        self.strict = strict;
        let recorder = self.recorder.clone();
        let limit = async {
            match most_events {
                None => std::future::pending().await,
                Some(most) => recorder.written(EntryId(most)).await,
            }
        };
        let ended = match select(pin!(self.take_all(change, rest)), pin!(limit)).await {
            Either::Left((ended, _)) => Some(ended),
            Either::Right(((), _)) => None,
        };
        let (mut outcome, cluster_time, fate) = ended.unwrap_or_else(|| {
            let (most, revision) = (most_events.unwrap_or_default(), self.world.revision());
            let expected = format!("to end within {most} events");
            let found = "more events".to_owned();
            let what = "the run".to_owned();
            let failure = Failure { what, expected, found, revision, line: None, written_by: None };
            (Outcome::NotInTime(failure), self.started.elapsed(), change.map(|_| ChangeOutcome::Taken))
        });
        self.judge(&mut outcome).await;
        self.judge_faults(&mut outcome);
        self.judge_panics(&mut outcome);
        let skipped = self.record_skipped();
        self.report(header, mode, seed, Ended { outcome, cluster_time, fate, skipped }, wall())
    }

    /// Takes only the inserted step, and returns the report.
    pub(crate) async fn alone(mut self, ending: Ending<'_>, wall: impl Fn() -> Duration) -> Report {
        let Ending { header, mode, seed, rest, change, strict, most_events: _ } = ending;
        (self.strict, self.file) = (strict, None);
        let taken = match change {
            Some(change) => self.step(&change.step).await,
            None => Ok(()),
        };
        let taken = match taken {
            Ok(()) => self.joined().await,
            stopped => stopped,
        };
        let cluster_time = self.started.elapsed();
        let (mut outcome, fate) = match taken {
            Ok(()) => (Outcome::Passed, ChangeOutcome::Taken),
            Err(Outcome::Failed(refused)) => {
                let fate = ChangeOutcome::Refused { why: refused.found.clone() };
                (Outcome::Failed(refused), fate)
            }
            Err(late) => (late, ChangeOutcome::Taken),
        };
        if fate == ChangeOutcome::Taken {
            tokio::time::sleep(rest).await;
        }
        self.see_all(&mut outcome).await;
        self.judge_throughout(&mut outcome);
        self.judge_vacuous(&mut outcome);
        self.judge_faults(&mut outcome);
        self.judge_panics(&mut outcome);
        self.report(header, mode, seed, Ended { outcome, cluster_time, fate: Some(fate), skipped: Vec::new() }, wall())
    }

    fn report(self, header: Header, mode: Mode, seed: u64, ended: Ended, wall_time: Duration) -> Report {
        let Ended { mut outcome, cluster_time, fate, skipped } = ended;
        let end_state = self.world.look(EndState::of);
        if let Outcome::Failed(failure) | Outcome::NotInTime(failure) = &mut outcome
            && !self.vacuous.contains(failure)
        {
            failure.written_by = author(&self.recorder.entries(EntryId(0)), failure.revision);
        }
        Report {
            name: self.scenario.metadata.name.clone(),
            outcome,
            end_state,
            checks: self.checks,
            seed,
            mode,
            cluster_time,
            wall_time,
            skipped,
            file: self.file,
            fate,
            log: Log::new(header, self.recorder),
        }
    }

    /// Takes all steps, and the inserted step if there is one.
    async fn take_all(
        &mut self,
        change: Option<&Change>,
        rest: Duration,
    ) -> (Outcome, Duration, Option<ChangeOutcome>) {
        match change {
            None => {
                let (outcome, cluster_time) = self.all_steps_and_rest(rest).await;
                (outcome, cluster_time, None)
            }
            Some(change) => self.changed(change, rest).await,
        }
    }

    async fn all_steps_and_rest(&mut self, rest: Duration) -> (Outcome, Duration) {
        let outcome = self.all_steps().await;
        let cluster_time = self.started.elapsed();
        tokio::time::sleep(rest).await;
        (outcome, cluster_time)
    }

    /// Takes all steps and, as soon as its event is recorded, the inserted step. The inserted step is polled here, and
    /// not in a task of its own, so that it does not change the order of tasks before that event.
    async fn changed(&mut self, change: &Change, rest: Duration) -> (Outcome, Duration, Option<ChangeOutcome>) {
        let faults = self.faults.clone();
        let mut inserted = ScenarioRun::new(self.scenario, &change.path, self.cluster, self.world.clone(), faults);
        (inserted.bound, inserted.broken_controllers) = (Arc::clone(&self.bound), self.broken_controllers.clone());
        (inserted.strict, inserted.file) = (self.strict, None);
        let (recorder, started, has_begun) = (self.recorder.clone(), self.started, Cell::new(false));
        let put_in = async {
            recorder.written(change.at).await;
            has_begun.set(true);
            inserted.step(&change.step).await?;
            inserted.joined().await
        };
        let (put_in, (outcome, cluster_time)) = {
            let (mut put_in, mut steps) = (pin!(put_in), pin!(self.all_steps_and_rest(rest)));
            match select(put_in.as_mut(), steps.as_mut()).await {
                Either::Left((Err(Outcome::Failed(refused)), _)) => {
                    let fate = ChangeOutcome::Refused { why: refused.found.clone() };
                    return (Outcome::Failed(refused), started.elapsed(), Some(fate));
                }
                Either::Left((put_in, _)) => (put_in, steps.await),
                Either::Right((ended, _)) => match put_in.as_mut().now_or_never() {
                    Some(put_in) => (put_in, ended),
                    None if !has_begun.get() => {
                        let fate = ChangeOutcome::TooLate { last: recorder.last() };
                        return (ended.0, ended.1, Some(fate));
                    }
                    None => {
                        let put_in = put_in.await;
                        let cluster_time = started.elapsed();
                        tokio::time::sleep(rest).await;
                        (put_in, (ended.0, cluster_time))
                    }
                },
            }
        };
        self.checks.append(&mut inserted.checks);
        self.vacuous.append(&mut inserted.vacuous);
        match put_in {
            Err(Outcome::Failed(refused)) => {
                let fate = ChangeOutcome::Refused { why: refused.found.clone() };
                (Outcome::Failed(refused), cluster_time, Some(fate))
            }
            Err(late) if outcome == Outcome::Passed => (late, cluster_time, Some(ChangeOutcome::Taken)),
            _ => (outcome, cluster_time, Some(ChangeOutcome::Taken)),
        }
    }

    async fn all_steps(&mut self) -> Outcome {
        self.faults.begin_run();
        for step in &self.scenario.spec.steps {
            if let Err(stopped) = self.step(step).await {
                return stopped;
            }
        }
        if let Err(stopped) = self.joined().await {
            return stopped;
        }
        self.eventually().await
    }

    /// Waits for the conditions that have to hold after the last step.
    async fn eventually(&mut self) -> Outcome {
        for (name, question) in at_rest(self.scenario) {
            match self.world.until(&question, Polarity::Always, self.scenario.spec.timeout).await {
                Ok(held) => {
                    let check = self.check(&name, true, held.revision);
                    self.note_held(check);
                }
                Err(not_in_time) => return self.stopped_at(&name, &name, late(not_in_time)).await,
            }
        }
        Outcome::Passed
    }

    /// Takes one step; returns the outcome of the scenario if the step ends it.
    async fn step(&mut self, step: &Step) -> Result<(), Outcome> {
        self.step_again(step, &mut async || false).await
    }

    /// Like [`step`](Self::step). An operation that fails is repeated once, if `tries_again` returns true.
    pub(crate) async fn step_again(
        &mut self,
        step: &Step,
        tries_again: &mut impl AsyncFnMut() -> bool,
    ) -> Result<(), Outcome> {
        let entry =
            self.recorder.record(ACTOR, Stage::StepStart, || Detail::default().with("name", step.name.as_str()));
        self.steps.push((step.name.clone(), entry.unwrap_or(EntryId(0))));
        self.faults.begin_step(&step.name, entry);
        self.objects = self.speaking_as(step.user.as_deref());
        if let Err(stop) = self.begin(step).await {
            return Err(self.stopped(&step.name, "step", stop).await);
        }
        let mut baselines = Baselines::of(step, &self.scenario.spec.namespace, &self.world);
        let mut held = None;
        for (place, operation) in (0..step.times.get()).flat_map(|_| step.operations.iter().enumerate()) {
            self.line = self.file.as_ref().map(|_| operation.location.line());
            let mut taken = self.operation_at(place, &operation.value, &mut baselines).await;
            if taken.is_err() && tries_again().await {
                taken = self.operation_at(place, &operation.value, &mut baselines).await;
            }
            match taken {
                Ok(Some(revision)) => held = Some(revision),
                Ok(None) => {}
                Err(stop) => return Err(self.stopped(&step.name, operation.value.word(), stop).await),
            }
        }
        if let Some(revision) = held {
            self.step_held(&step.name, revision, baselines.reason());
        }
        self.recorder.record(ACTOR, Stage::StepEnd, || Detail::default().with("name", step.name.as_str()));
        Ok(())
    }

    /// Evaluates the checks of the step before the step, and starts what begins with it.
    async fn begin(&mut self, step: &Step) -> Result<(), Stop> {
        let spec = &self.scenario.spec;
        let begins = |invariant: &Spanned<file::Invariant>| {
            invariant.value.since.as_ref().is_some_and(|since| since.value == step.name)
        };
        let checks = step.operations.iter().any(|operation| {
            matches!(operation.value, Operation::Wait(_) | Operation::Assert(_) | Operation::Error(_))
        });
        if checks || spec.always.iter().chain(&spec.never).any(begins) {
            self.world.caught_up(CATCH_UP).await.map_err(late)?;
            self.world.reached(&step.name);
        }
        Ok(())
    }

    /// Executes one operation of a step; a check uses what was evaluated before the step.
    async fn operation_at(
        &mut self,
        place: usize,
        operation: &Operation,
        baselines: &mut Baselines<'_>,
    ) -> Result<Option<i64>, Stop> {
        if baselines.begins_checks(place) {
            self.world.caught_up(CATCH_UP).await.map_err(late)?;
            baselines.begin_checks(place, &self.world);
        }
        let held = match operation {
            Operation::Assert(assert) | Operation::Error(assert) if assert.still => {
                Some(self.still(assert, baselines.lapse(place)).await?)
            }
            other => self.operation(other).await?,
        };
        if let Some(revision) = held {
            baselines.held(place, revision);
        }
        Ok(held)
    }

    /// Decides a `still` check: it failed at the revision of its lapse, or held at all revisions since the step began.
    async fn still(&self, assert: &Assert, lapse: Option<i64>) -> Result<i64, Stop> {
        match lapse {
            None => Ok(self.world.revision()),
            Some(revision) => {
                let what = assert.cel.as_ref().map_or("the object", |cel| &cel.value);
                let expected = format!("{what}, as it was since the step began");
                Err(Stop::Lapsed { expected, revision })
            }
        }
    }

    /// Records that the checks of a step held.
    fn step_held(&mut self, name: &str, revision: i64, vacuous: Option<String>) {
        let check = Check { vacuous, ..self.check(name, true, revision) };
        self.note_held(check);
    }

    /// Waits for what runs in parallel to the steps.
    pub(crate) async fn joined(&mut self) -> Result<(), Outcome> {
        match self.join().await {
            Ok(()) => Ok(()),
            Err(stop) => Err(self.stopped("what runs in parallel to the steps", "drain", stop).await),
        }
    }

    /// The API client of a step's user.
    fn speaking_as(&mut self, user: Option<&str>) -> Arc<Objects> {
        let make = || Arc::new(Objects::new(self.cluster, &self.scenario.spec.namespace, user));
        Arc::clone(self.users.entry(user.map(str::to_owned)).or_insert_with(make))
    }

    async fn stopped(&mut self, step: &str, operation: &str, stop: Stop) -> Outcome {
        self.stopped_at(step, &format!("step `{step}`, {operation}"), stop).await
    }

    /// The outcome of a check or a step that ends the scenario; `what` names it in the report.
    async fn stopped_at(&mut self, name: &str, what: &str, stop: Stop) -> Outcome {
        if let Stop::Refused(_) = stop {
            // The failure names the revision of the refusal. If the world cannot catch up, the verdict names another
            // one.
            let _ = self.world.caught_up(CATCH_UP).await;
        }
        let what = what.to_owned();
        let (outcome, revision): (fn(Failure) -> Outcome, i64) = match &stop {
            Stop::Refused(_) => (Outcome::Failed, self.world.revision()),
            Stop::NotInTime { revision, .. } => (Outcome::NotInTime, *revision),
            Stop::Lapsed { revision, .. } => (Outcome::Failed, *revision),
        };
        let late = matches!(stop, Stop::NotInTime { .. });
        let (expected, found) = match stop {
            Stop::Refused(refusal) => ("the operation to succeed".to_owned(), refusal.to_string()),
            Stop::NotInTime { expected, found, .. } => (expected, found),
            Stop::Lapsed { expected, revision } => (expected, format!("it was not so at revision {revision}")),
        };
        self.checks.push(self.check(name, false, revision));
        let why = if late { "late" } else { "" };
        self.record_failure(name, &expected, &found, revision, why);
        outcome(Failure { what, expected, found, revision, line: self.line_of(name), written_by: None })
    }
}
