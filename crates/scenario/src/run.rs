use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Cluster, Component};
use coracle_expression::Expression;
use coracle_journal::{Detail, Entry, EntryId, Header, Recorder, Stage};
use coracle_sim::{Answer, Invariant, NotInTime, Polarity, Question, World};
use coracle_viewer::{Askers, author};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use serde_saphyr::Spanned;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::change::{Change, Fate};
use crate::end_state::EndState;
use crate::file::{self, Assert, Drain, Joins, Operation, Part, RequestCount, Scenario, Step};
use crate::log::Log;
use crate::maintenance::node_spec;
use crate::mode::Mode;
use crate::objects::{Objects, Refusal, owned};
use crate::report::{Check, Failure, Outcome, Report};
use crate::toy::Toys;
use crate::wait;

/// Who the scenario is in the event log.
const ACTOR: &str = "scenario";

/// A scenario on its way through a running cluster.
pub(crate) struct Run<'a> {
    scenario: &'a Scenario,
    /// The folder that files named in the scenario are relative to.
    folder: PathBuf,
    cluster: &'a Cluster,
    world: World,
    objects: Arc<Objects>,
    /// The API as each user of the steps so far sees it.
    users: BTreeMap<Option<String>, Arc<Objects>>,
    /// The objects that steps gave names to, as they were then.
    bound: Arc<Mutex<BTreeMap<String, Arc<coracle_meta::Object>>>>,
    toys: Toys,
    /// Drains that nobody waits for.
    beside: JoinSet<Result<(), Refusal>>,
    recorder: Recorder,
    started: Instant,
    checks: Vec<Check>,
    /// The first entry of each step, for counts that begin there.
    steps: Vec<(String, EntryId)>,
}

/// How a run ends, beside what becomes of it.
pub(crate) struct Ending<'a> {
    pub(crate) header: Header,
    pub(crate) mode: Mode,
    pub(crate) seed: u64,
    /// How long the cluster is left alone after the last step.
    pub(crate) rest: Duration,
    /// What is put in.
    pub(crate) change: Option<&'a Change>,
}

/// How it ended.
struct Ended {
    outcome: Outcome,
    cluster_time: Duration,
    fate: Option<Fate>,
}

/// Why a step stopped the scenario.
enum Stop {
    Refused(Refusal),
    NotInTime { expected: String, found: String, revision: i64 },
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<'a> Run<'a> {
    pub(crate) fn new(scenario: &'a Scenario, path: &Path, cluster: &'a Cluster, world: World) -> Self {
        let objects = Arc::new(Objects::new(cluster, &scenario.spec.namespace, None));
        Self {
            scenario,
            folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
            cluster,
            users: BTreeMap::from([(None, Arc::clone(&objects))]),
            objects,
            bound: Arc::default(),
            toys: Toys::new(cluster, &scenario.spec.namespace),
            beside: JoinSet::new(),
            world,
            recorder: cluster.recorder().clone(),
            started: Instant::now(),
            checks: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Takes all steps, and says what became of the scenario.
    pub(crate) async fn finish(mut self, ending: Ending<'_>, wall: impl Fn() -> Duration) -> Report {
        let Ending { header, mode, seed, rest, change } = ending;
        let (mut outcome, cluster_time, fate) = match change {
            None => {
                let (outcome, cluster_time) = self.all_steps_and_rest(rest).await;
                (outcome, cluster_time, None)
            }
            Some(change) => self.changed(change, rest).await,
        };
        self.judge_throughout(&mut outcome);
        self.count_requests(&mut outcome);
        self.report(header, (mode, seed), Ended { outcome, cluster_time, fate }, wall())
    }

    /// Takes the step that is put in and no other, and says what became of it.
    pub(crate) async fn alone(mut self, ending: Ending<'_>, wall: impl Fn() -> Duration) -> Report {
        let Ending { header, mode, seed, rest, change } = ending;
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
            Ok(()) => (Outcome::Passed, Fate::Taken),
            Err(Outcome::Failed(refused)) => {
                let fate = Fate::Refused { why: refused.found.clone() };
                (Outcome::Failed(refused), fate)
            }
            Err(late) => (late, Fate::Taken),
        };
        if fate == Fate::Taken {
            tokio::time::sleep(rest).await;
        }
        self.judge_throughout(&mut outcome);
        self.report(header, (mode, seed), Ended { outcome, cluster_time, fate: Some(fate) }, wall())
    }

    fn report(self, header: Header, (mode, seed): (Mode, u64), ended: Ended, wall_time: Duration) -> Report {
        let Ended { mut outcome, cluster_time, fate } = ended;
        let end_state = self.world.look(EndState::of);
        if let Outcome::Failed(failure) | Outcome::NotInTime(failure) = &mut outcome {
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
            fate,
            log: Log::new(header, self.recorder),
        }
    }

    async fn all_steps_and_rest(&mut self, rest: Duration) -> (Outcome, Duration) {
        let outcome = self.all_steps().await;
        let cluster_time = self.started.elapsed();
        tokio::time::sleep(rest).await;
        (outcome, cluster_time)
    }

    /// Takes all steps, and beside them, as soon as its event is written, the one that is put in. A task of its own would take
    /// turns that others have without it; polled here, nothing changes before that event.
    async fn changed(&mut self, change: &Change, rest: Duration) -> (Outcome, Duration, Option<Fate>) {
        let mut beside = Run::new(self.scenario, &change.path, self.cluster, self.world.clone());
        (beside.bound, beside.toys) = (Arc::clone(&self.bound), self.toys.clone());
        let (recorder, started, has_begun) = (self.recorder.clone(), self.started, Cell::new(false));
        let put_in = async {
            recorder.written(change.at).await;
            has_begun.set(true);
            beside.step(&change.step).await?;
            beside.joined().await
        };
        let (put_in, (outcome, cluster_time)) = {
            let (mut put_in, mut steps) = (pin!(put_in), pin!(self.all_steps_and_rest(rest)));
            match select(put_in.as_mut(), steps.as_mut()).await {
                Either::Left((Err(Outcome::Failed(refused)), _)) => {
                    let fate = Fate::Refused { why: refused.found.clone() };
                    return (Outcome::Failed(refused), started.elapsed(), Some(fate));
                }
                Either::Left((put_in, _)) => (put_in, steps.await),
                Either::Right((ended, _)) => match put_in.as_mut().now_or_never() {
                    Some(put_in) => (put_in, ended),
                    None if !has_begun.get() => {
                        let fate = Fate::TooLate { last: recorder.last() };
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
        self.checks.append(&mut beside.checks);
        match put_in {
            Err(Outcome::Failed(refused)) => {
                let fate = Fate::Refused { why: refused.found.clone() };
                (Outcome::Failed(refused), cluster_time, Some(fate))
            }
            Err(late) if outcome == Outcome::Passed => (late, cluster_time, Some(Fate::Taken)),
            _ => (outcome, cluster_time, Some(Fate::Taken)),
        }
    }

    async fn all_steps(&mut self) -> Outcome {
        for step in &self.scenario.spec.steps {
            if let Err(stopped) = self.step(step).await {
                return stopped;
            }
        }
        self.joined().await.err().unwrap_or(Outcome::Passed)
    }

    /// Takes one step; says what became of the scenario if it ends it.
    async fn step(&mut self, step: &Step) -> Result<(), Outcome> {
        let entry =
            self.recorder.record(ACTOR, Stage::StepStart, || Detail::default().with("name", step.name.as_str()));
        self.steps.push((step.name.clone(), entry.unwrap_or(EntryId(0))));
        self.objects = self.speaking_as(step.user.as_deref());
        let mut held = None;
        for operation in (0..step.times.get()).flat_map(|_| &step.operations) {
            match self.operation(&operation.value).await {
                Ok(Some(revision)) => held = Some(revision),
                Ok(None) => {}
                Err(stop) => return Err(self.stopped(&step.name, operation.value.word(), stop)),
            }
        }
        if let Some(revision) = held {
            self.checks.push(self.check(&step.name, true, revision));
            self.recorder
                .record(ACTOR, Stage::CheckPass, || Detail::default().at(revision).with("name", step.name.as_str()));
        }
        self.recorder.record(ACTOR, Stage::StepEnd, || Detail::default().with("name", step.name.as_str()));
        Ok(())
    }

    async fn joined(&mut self) -> Result<(), Outcome> {
        match self.join().await {
            Ok(()) => Ok(()),
            Err(stop) => Err(self.stopped("what goes on beside the steps", "drain", stop)),
        }
    }

    /// The API as a step's user sees it.
    fn speaking_as(&mut self, user: Option<&str>) -> Arc<Objects> {
        let make = || Arc::new(Objects::new(self.cluster, &self.scenario.spec.namespace, user));
        Arc::clone(self.users.entry(user.map(str::to_owned)).or_insert_with(make))
    }

    /// Does one operation; a check returns the revision at which it held.
    async fn operation(&mut self, operation: &Operation) -> Result<Option<i64>, Stop> {
        match operation {
            Operation::Create(create) => {
                let owner = create.owned_by.as_ref().map(|name| self.known(name)).transpose()?;
                for object in self.objects.read(create, &self.folder)? {
                    let object = owner.iter().fold(object, |object, owner| owned(object, owner));
                    self.objects.create(object).await?;
                }
            }
            Operation::Apply(apply) => self.objects.apply(apply, &self.folder).await?,
            Operation::Get(get) => {
                let found = self.objects.get(get).await?;
                self.bind(Some(&get.binding), Some(found));
            }
            Operation::Update(update) => {
                let read = self.known(&update.from)?;
                self.objects.update(update, &read).await?;
            }
            Operation::Patch(patch) => {
                let first = self.objects.patch(patch, &self.world).await?;
                self.bind(patch.binding.as_ref(), first);
            }
            Operation::Scale(scale) => self.objects.scale(scale).await?,
            Operation::Delete(delete) => {
                let first = self.objects.delete(delete, &self.world).await?;
                self.bind(delete.binding.as_ref(), first);
            }
            Operation::Wait(wait) => {
                let timeout = wait.timeout.unwrap_or(self.scenario.spec.timeout);
                let namespace = wait.namespace.as_deref().unwrap_or(&self.scenario.spec.namespace);
                let seen = self.world.until_seen(timeout, |cluster| wait::look(wait, namespace, cluster)).await;
                return seen.map(Some).map_err(late);
            }
            Operation::Assert(assert) => return self.until(assert, Polarity::Always).await.map(Some),
            Operation::Error(assert) => return self.until(assert, Polarity::Never).await.map(Some),
            Operation::Cordon(on) => self.objects.cordon(&on.node, true).await?,
            Operation::Uncordon(on) => self.objects.cordon(&on.node, false).await?,
            Operation::Taint(taint) => self.objects.taint(taint).await?,
            Operation::Evict(evict) => {
                let first = self.objects.evict(evict, &self.world).await?;
                self.bind(evict.binding.as_ref(), first);
            }
            Operation::Drain(drain) => self.drain(drain).await?,
            Operation::Rollout(rollout) => {
                let now = coracle_meta::format_time(self.cluster.ambient().clock.now());
                self.objects.rollout(rollout, now).await?;
            }
            Operation::Sleep(sleep) => tokio::time::sleep(sleep.duration).await,
            Operation::Stop(part) => self.stop(part).await?,
            Operation::Start(part) => self.start(part).await?,
            Operation::Kill(on) => self.node(&on.node, coracle_cluster::Kubelet::kill_node)?,
            Operation::Partition(on) => self.node(&on.node, |kubelet, name| kubelet.partition_node(name, true))?,
            Operation::Heal(on) => self.node(&on.node, |kubelet, name| kubelet.partition_node(name, false))?,
        }
        Ok(None)
    }

    /// The object that a step has given a name to.
    fn known(&self, name: &Spanned<String>) -> Result<Arc<coracle_meta::Object>, Refusal> {
        let known = self.bound.lock().get(&name.value).cloned();
        known.ok_or_else(|| Refusal::new(format!("no step has read `{}`", name.value)))
    }

    async fn until(&self, assert: &Assert, wanted: Polarity) -> Result<i64, Stop> {
        let question = question(assert.resource.as_ref(), assert.cel.as_ref());
        let timeout = assert.timeout.unwrap_or(self.scenario.spec.timeout);
        self.world.until(&question, wanted, timeout).await.map_err(late)
    }

    async fn drain(&mut self, drain: &Drain) -> Result<(), Stop> {
        let timeout = drain.timeout.unwrap_or(self.scenario.spec.timeout);
        if drain.wait {
            return Ok(self.objects.drain(drain, timeout).await?);
        }
        let (objects, drain) = (Arc::clone(&self.objects), drain.clone());
        self.beside.spawn(async move { objects.drain(&drain, timeout).await });
        Ok(())
    }

    /// What was begun beside the steps has to come to a good end as well.
    async fn join(&mut self) -> Result<(), Stop> {
        while let Some(ended) = self.beside.join_next().await {
            ended.map_err(|error| Refusal::new(error.to_string()))??;
        }
        Ok(())
    }

    async fn stop(&mut self, part: &Part) -> Result<(), Stop> {
        match target(part) {
            Target::Component(component) => self.cluster.stop_component(component).await,
            Target::Store => self.cluster.kill_store().map_err(refused)?,
            Target::Node(node) => self.node(node, coracle_cluster::Kubelet::stop_node)?,
            Target::Toy(toy) => self.toys.stop(toy).map_err(Refusal::new)?,
        }
        Ok(())
    }

    async fn start(&mut self, part: &Part) -> Result<(), Stop> {
        match target(part) {
            Target::Component(component) => self.cluster.start_component(component),
            Target::Store => self.cluster.start_store().map_err(refused)?,
            Target::Node(node) => {
                let shapes = self.scenario.spec.cluster.nodes.value.shapes();
                if let Some(shape) = shapes.iter().find(|shape| shape.name == node && shape.joins == Joins::Later) {
                    self.cluster.kubelet().add_node(node_spec(shape));
                }
                self.node(node, coracle_cluster::Kubelet::start_node)?;
            }
            Target::Toy(toy) => self.toys.start(toy).await.map_err(Refusal::new)?,
        }
        Ok(())
    }

    fn node(&self, name: &str, change: fn(&coracle_cluster::Kubelet, &str) -> bool) -> Result<(), Stop> {
        match change(self.cluster.kubelet(), name) {
            true => Ok(()),
            false => Err(Stop::Refused(Refusal::new(format!("there is no simulated node `{name}`")))),
        }
    }

    fn bind(&mut self, name: Option<&Spanned<String>>, object: Option<Arc<coracle_meta::Object>>) {
        if let (Some(name), Some(object)) = (name, object) {
            self.world.bind(&name.value, &object);
            self.bound.lock().insert(name.value.clone(), object);
        }
    }

    fn stopped(&mut self, step: &str, operation: &str, stop: Stop) -> Outcome {
        let what = format!("step `{step}`, {operation}");
        let (outcome, revision): (fn(Failure) -> Outcome, i64) = match &stop {
            Stop::Refused(_) => (Outcome::Failed, self.world.revision()),
            Stop::NotInTime { revision, .. } => (Outcome::NotInTime, *revision),
        };
        let late = matches!(stop, Stop::NotInTime { .. });
        let (expected, found) = match stop {
            Stop::Refused(refusal) => ("the operation to succeed".to_owned(), refusal.to_string()),
            Stop::NotInTime { expected, found, .. } => (expected, found),
        };
        self.checks.push(self.check(step, false, revision));
        let why = if late { "late" } else { "" };
        self.record_failure(step, &expected, &found, revision, why);
        outcome(Failure { what, expected, found, revision, written_by: None })
    }

    /// The first failure of the log is the one that is shown.
    fn judge_throughout(&mut self, outcome: &mut Outcome) {
        let verdicts = self.world.verdicts();
        for verdict in &verdicts {
            let check = match &verdict.broken {
                None => Check { throughout: true, ..self.check(&verdict.name, true, self.world.revision()) },
                Some(broken) => {
                    let at = broken.at.saturating_duration_since(self.started);
                    Check { at, throughout: true, ..self.check(&verdict.name, false, broken.revision) }
                }
            };
            if check.held {
                self.record_held(&check);
            }
            self.checks.push(check);
        }
        let broken = verdicts.into_iter().filter_map(|verdict| Some((verdict.name, verdict.broken?)));
        let Some((name, broken)) = broken.min_by_key(|(_, broken)| broken.revision) else { return };
        // It was judged before a step could end at the same revision.
        let is_first = match outcome {
            Outcome::Passed => true,
            Outcome::Failed(step) | Outcome::NotInTime(step) => broken.revision <= step.revision,
        };
        if is_first {
            *outcome = failed(&name, broken.expected, broken.found, broken.revision);
        }
    }

    fn count_requests(&mut self, outcome: &mut Outcome) {
        if self.scenario.spec.requests.is_empty() {
            return;
        }
        let revision = self.world.revision();
        // Requests, and the syncs that sent them.
        let entries = self.recorder.entries_of(EntryId(0), &[Stage::ApiRequest, Stage::SyncWrite]);
        for expected in &self.scenario.spec.requests {
            let since = self.beginning_of(expected);
            let senders = senders(&entries, expected, since);
            let own = senders.iter().filter(|sender| **sender == expected.by).count();
            let others: Vec<_> = senders.iter().filter(|sender| **sender != expected.by).cloned().collect();
            let is_right = match (expected.count, expected.at_most) {
                (Some(count), _) => own == count,
                (None, Some(most)) => own <= most,
                (None, None) => own > 0,
            };
            let held = others.is_empty() && is_right;
            let check = Check { throughout: true, ..self.check(&expected.name, held, revision) };
            if held {
                self.record_held(&check);
            }
            self.checks.push(check);
            if !held {
                let count = match (expected.count, expected.at_most) {
                    (Some(count), _) => count.to_string(),
                    (None, Some(most)) => format!("at most {most}"),
                    (None, None) => "at least one".to_owned(),
                };
                let wanted =
                    format!("{count} {} of {} by {} alone", expected.verb.value, expected.resource, expected.by);
                let found = format!("{own} by it, {} by others{}", others.len(), listed(&others));
                self.record_failure(&expected.name, &wanted, &found, revision, "throughout");
                if *outcome == Outcome::Passed {
                    *outcome = failed(&expected.name, wanted, found, revision);
                }
            }
        }
    }

    fn beginning_of(&self, expected: &RequestCount) -> EntryId {
        let named =
            |name: &Spanned<String>| self.steps.iter().find(|(step, _)| *step == name.value).map(|(_, entry)| *entry);
        expected.since.as_ref().and_then(named).unwrap_or(EntryId(0))
    }

    fn check(&self, name: &str, held: bool, revision: i64) -> Check {
        Check { name: name.to_owned(), held, revision, at: self.started.elapsed(), throughout: false }
    }

    /// What had to hold throughout did, up to the check's revision.
    fn record_held(&self, check: &Check) {
        self.recorder.record(ACTOR, Stage::CheckPass, || {
            Detail::default().at(check.revision).with("name", check.name.as_str()).with("throughout", true)
        });
    }

    /// With one more word of truth, if it is not empty.
    fn record_failure(&self, name: &str, expected: &str, found: &str, revision: i64, word: &'static str) {
        self.recorder.record(ACTOR, Stage::CheckFail, || {
            let detail =
                Detail::default().at(revision).with("name", name).with("expected", expected).with("found", found);
            if word.is_empty() { detail } else { detail.with(word, true) }
        });
    }
}

fn failed(what: &str, expected: String, found: String, revision: i64) -> Outcome {
    Outcome::Failed(Failure { what: what.to_owned(), expected, found, revision, written_by: None })
}

/// Who sent the requests of one kind that the server took, from an entry on.
fn senders(entries: &[Entry], expected: &RequestCount, since: EntryId) -> Vec<String> {
    let askers = Askers::of(entries);
    let verb = |entry: &Entry| entry.data.get("verb").is_some_and(|verb| verb == &*expected.verb.value);
    entries
        .iter()
        .filter(|entry| entry.id >= since && entry.stage == Stage::ApiRequest && verb(entry))
        .filter(|entry| entry.subject.split('/').next() == Some(expected.resource.as_str()))
        .filter(|entry| !entry.data.contains_key("subresource"))
        .map(|entry| askers.asker(entry))
        .collect()
}

fn listed(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) }
}

fn late(late: NotInTime) -> Stop {
    let NotInTime { answer, revision } = late;
    match answer {
        Answer::Fails { expected, found, .. } => Stop::NotInTime { expected, found, revision },
        Answer::Unanswerable(why) => Stop::NotInTime { expected: "an answer".to_owned(), found: why, revision },
        Answer::Holds => Stop::NotInTime {
            expected: "not to hold any more".to_owned(),
            found: "it still holds".to_owned(),
            revision,
        },
    }
}

/// What is stopped or started.
enum Target<'a> {
    Component(Component),
    Store,
    Node(&'a str),
    Toy(&'a str),
}

fn refused(error: coracle_cluster::Error) -> Stop {
    Stop::Refused(Refusal::new(error.to_string()))
}

/// What an operation stops or starts. The file was checked when it was read.
fn target(part: &Part) -> Target<'_> {
    if let Some(toy) = &part.toy {
        return Target::Toy(&toy.value);
    }
    match (&part.component, &part.node) {
        (Some(word), _) => match Component::named(&word.value) {
            Some(component) => Target::Component(component),
            None => Target::Store,
        },
        (None, Some(node)) => Target::Node(&node.value),
        (None, None) => unreachable!("the reader demands a component, a node or a toy"),
    }
}

fn question(resource: Option<&Spanned<serde_json::Value>>, cel: Option<&Spanned<String>>) -> Question {
    match (resource, cel) {
        (Some(object), _) => Question::Partial(object.value.clone()),
        (None, Some(cel)) => {
            Question::Expression(Expression::compile(&cel.value).expect("the reader compiled the expression"))
        }
        (None, None) => unreachable!("the reader demands a resource or an expression"),
    }
}

/// What has to hold throughout a scenario.
pub(crate) fn invariants(scenario: &Scenario) -> Vec<Invariant> {
    let make = |polarity: Polarity| {
        move |invariant: &Spanned<file::Invariant>| Invariant {
            name: invariant.value.name.clone(),
            polarity,
            question: question(invariant.value.resource.as_ref(), invariant.value.cel.as_ref()),
        }
    };
    let spec = &scenario.spec;
    spec.always.iter().map(make(Polarity::Always)).chain(spec.never.iter().map(make(Polarity::Never))).collect()
}
