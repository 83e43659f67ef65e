use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Cluster, ClusterHandle, NodeSwitch};
use coracle_expression::Expression;
use coracle_journal::{EntryId, Recorder};
use coracle_sim::faults::{FaultId, FaultProgress, FaultStrike, FaultVerdict, Injector};
use coracle_sim::{
    Awaited, ChangeKind, ChangeSelector, InvariantAnswer, InvariantQuestion, NotInTime, Polarity, Wire, World,
};
use coracle_yaml::Spanned;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::change::Change;
use crate::fault_list::PluralsOfKinds;
use crate::file::{self, FaultEvent, FaultMoment, Operation, Scenario, Step};
use crate::node_faults::{EndedNodeFault, NodeFaults};
use crate::parse::Known;
use crate::written_fault::{needs_own_informers, part_of, read_fault};

/// Effectively unlimited: a condition that never comes is awaited until the scenario ends.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The faults of a run, which begin and end with its steps. Clones are the same.
#[derive(Clone)]
pub(crate) struct Faults {
    shared: Arc<Shared>,
}

struct Shared {
    injector: Injector,
    cluster: ClusterHandle,
    world: World,
    recorder: Recorder,
    custom: PluralsOfKinds,
    all: Mutex<Vec<Item>>,
    /// The faults that annotations and steps cause on simulated nodes.
    nodes: NodeFaults,
    /// The conditions that are waited for.
    waiting: Mutex<JoinSet<()>>,
}

/// A fault with its conditions.
#[derive(Clone)]
struct Item {
    id: FaultId,
    name: String,
    /// The step with which it begins; absent for the first.
    step: Option<String>,
    /// The step with which it ends.
    until: Option<String>,
    after: Duration,
    revision: Option<FaultRevision>,
    question: Option<InvariantQuestion>,
    /// The change with which it begins, and which of those that are selected it is.
    change: Option<(ChangeSelector, u64)>,
    /// The component that it acts on, if the component may come later.
    part: Option<String>,
    /// What it waits for, or has waited for last.
    awaited: Arc<Mutex<Option<Arc<Awaited>>>>,
}

/// The revision with which a fault begins.
#[derive(Clone, Copy)]
enum FaultRevision {
    At(i64),
    /// This many after it began to wait.
    After(i64),
}

/// Whether a run causes faults.
pub(crate) fn has_faults(scenario: &Scenario, change: Option<&Change>) -> bool {
    let causes = |step: &Step| step.operations.iter().any(|one| matches!(one.value, Operation::Fault(_)));
    let steps = scenario.spec.steps.iter().chain(change.map(|change| &change.step));
    !scenario.spec.faults.is_empty() || steps.into_iter().any(causes)
}

/// The controllers and nodes on which faults of a run act alone, so that they need informers of their own.
pub(crate) fn own_informers(scenario: &Scenario, path: &Path, change: Option<&Change>) -> BTreeSet<String> {
    let custom = Known::of(scenario, path).custom;
    let steps = scenario.spec.steps.iter().chain(change.map(|change| &change.step));
    let caused = steps.flat_map(|step| &step.operations).filter_map(|one| match &one.value {
        Operation::Fault(fault) => Some(&**fault),
        _ => None,
    });
    let faults = scenario.spec.faults.iter().map(|fault| &fault.value).chain(caused);
    let written = scenario.spec.cluster.own_informers.iter().map(|name| name.value.clone());
    faults.filter_map(|fault| needs_own_informers(fault, &custom)).chain(written).collect()
}

impl Faults {
    /// The faults in the list of a scenario, which was validated when the file was read, and what annotations of
    /// simulated nodes stand for.
    pub(crate) fn of(scenario: &Scenario, path: &Path, wire: &Wire, cluster: &Cluster, world: &World) -> Self {
        let custom = Known::of(scenario, path).custom;
        let faults = Self::new(custom, wire, cluster.handle(), cluster.recorder(), world);
        let switching = Arc::downgrade(&faults.shared);
        cluster.kubelet().switched_by(move |switched| {
            let Some(shared) = switching.upgrade() else { return false };
            let (faults, node, switch) = (Self { shared }, &switched.name, switched.switch);
            if switched.is_usual {
                return faults.end_on_node(node, switch).is_some_and(|ended| ended.had_struck);
            }
            faults.begin_on_node(node, switch, faults.commit(switched.revision));
            true
        });
        scenario.spec.faults.iter().for_each(|fault| faults.plan(&fault.value));
        faults
    }

    /// Adds a fault before the first step begins.
    pub(crate) fn plan(&self, fault: &file::Fault) {
        self.add(fault);
    }

    /// No faults. `custom` are the plurals of custom kinds in faults that are added later.
    pub(crate) fn new(
        custom: PluralsOfKinds,
        wire: &Wire,
        cluster: ClusterHandle,
        recorder: &Recorder,
        world: &World,
    ) -> Self {
        let seen = world.clone();
        let injector = Injector::new(wire, recorder.clone(), move || newest(&seen)).operating(cluster.clone());
        Self::with(injector, cluster, custom, recorder, world)
    }

    fn with(
        injector: Injector,
        cluster: ClusterHandle,
        custom: PluralsOfKinds,
        recorder: &Recorder,
        world: &World,
    ) -> Self {
        let shared = Shared {
            injector,
            cluster,
            world: world.clone(),
            recorder: recorder.clone(),
            custom,
            all: Mutex::default(),
            nodes: NodeFaults::default(),
            waiting: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// No faults, which share the injector of these ones.
    pub(crate) fn sharing(&self, custom: PluralsOfKinds, world: &World) -> Self {
        let Shared { injector, cluster, recorder, .. } = &*self.shared;
        Self::with(injector.clone(), cluster.clone(), custom, recorder, world)
    }

    fn add(&self, written: &file::Fault) -> Option<Item> {
        self.add_among(written, &self.shared.custom, None)
    }

    fn add_among(&self, written: &file::Fault, custom: &PluralsOfKinds, part: Option<String>) -> Option<Item> {
        let meant = read_fault(written, custom).ok()?;
        let when = written.when.as_ref().map(|when| &when.value);
        let question = when.and_then(|when| when.cel.as_ref()).map(|cel| {
            let expression = Expression::compile(&cel.value).expect("the reader compiled the expression");
            InvariantQuestion::Expression(expression.into())
        });
        let item = Item {
            name: meant.fault.name.clone(),
            id: self.shared.injector.add(meant.fault),
            step: when.and_then(|when| when.step.as_ref()).map(|step| step.value.clone()),
            until: meant.until,
            after: when.and_then(|when| when.after).unwrap_or_default(),
            revision: when.and_then(revision_of),
            question,
            change: when.and_then(|when| when.event.as_ref()).map(|event| change_of(&event.value)),
            part,
            awaited: Arc::default(),
        };
        self.shared.all.lock().push(item.clone());
        Some(item)
    }

    /// The first step begins.
    pub(crate) fn begin_run(&self) {
        self.begin(|item| item.step.is_none(), None);
    }

    /// A step begins, which `cause` records.
    pub(crate) fn begin_step(&self, step: &str, cause: Option<EntryId>) {
        for item in self.chosen(|item| item.until.as_deref() == Some(step)) {
            self.shared.injector.end(item.id);
        }
        self.begin(|item| item.step.as_deref() == Some(step), cause);
    }

    /// A step causes a fault.
    pub(crate) fn cause(&self, fault: &file::Fault, cause: Option<EntryId>) {
        if let Some(item) = self.add(fault) {
            self.wait_and_start(&item, cause);
        }
    }

    /// Adds a fault whose kinds are among these, and waits for its conditions, and for the component that it acts on. It
    /// has no condition that is a step. A fault that begins with a request does not wait for the component, because it
    /// counts requests from now on.
    pub(crate) fn run(&self, fault: &file::Fault, custom: &PluralsOfKinds) -> Option<FaultId> {
        let begins_with_request = fault.when.as_ref().is_some_and(|when| when.value.has_request());
        let part = part_of(fault, custom).filter(|_| !begins_with_request);
        let item = self.add_among(fault, custom, part)?;
        self.wait_and_start(&item, None);
        Some(item.id)
    }

    /// Begins the fault that a switch of a simulated node stands for, without a verdict at the end; `None` if it has
    /// begun before, and did not end.
    pub(crate) fn begin_on_node(&self, node: &str, switch: NodeSwitch, cause: Option<EntryId>) -> Option<FaultId> {
        self.shared.nodes.begin(&self.shared.injector, node, switch, cause)
    }

    /// Ends the fault that a switch of a simulated node stands for; `None` if it has not begun.
    pub(crate) fn end_on_node(&self, node: &str, switch: NodeSwitch) -> Option<EndedNodeFault> {
        self.shared.nodes.end(&self.shared.injector, node, switch)
    }

    /// The entry of the commit of a revision.
    pub(crate) fn commit(&self, revision: Option<i64>) -> Option<EntryId> {
        self.shared.recorder.commit(revision?).last().copied()
    }

    /// The faults on the wire.
    pub(crate) fn injector(&self) -> &Injector {
        &self.shared.injector
    }

    /// Ends the faults with a name.
    pub(crate) fn heal(&self, name: &str) {
        for item in self.chosen(|item| item.name == name) {
            self.shared.injector.end(item.id);
        }
    }

    /// Ends all faults.
    pub(crate) fn end_all(&self) {
        for item in self.chosen(|_| true) {
            self.shared.injector.end(item.id);
        }
    }

    /// How each fault went.
    pub(crate) fn verdicts(&self) -> Vec<FaultVerdict> {
        let all = self.shared.all.lock();
        all.iter().filter_map(|item| Some(item.verdict(self.shared.injector.progress(item.id)?.verdict))).collect()
    }

    /// How a fault is going.
    pub(crate) fn progress(&self, id: FaultId) -> Option<FaultProgress> {
        let mut progress = self.shared.injector.progress(id)?;
        let item = self.shared.all.lock().iter().find(|item| item.id == id).cloned();
        if let Some(item) = item {
            progress.verdict = item.verdict(progress.verdict);
            let known = self.shared.cluster.component_names();
            if let (FaultStrike::NotStarted(why), Some(part)) = (&mut progress.verdict.strike, &item.part)
                && !known.contains(part)
            {
                *why = format!("there is no component `{part}`");
            }
        }
        Some(progress)
    }

    fn chosen(&self, is_chosen: impl Fn(&Item) -> bool) -> Vec<Item> {
        self.shared.all.lock().iter().filter(|item| is_chosen(item)).cloned().collect()
    }

    fn begin(&self, is_chosen: impl Fn(&Item) -> bool, cause: Option<EntryId>) {
        for item in self.chosen(is_chosen) {
            self.wait_and_start(&item, cause);
        }
    }

    /// Starts a fault when its conditions are met: at once, if it has none. It waits from now on, also if the task runs
    /// later.
    fn wait_and_start(&self, item: &Item, cause: Option<EntryId>) {
        let Shared { injector, cluster, world, recorder, .. } = &*self.shared;
        let (injector, cluster) = (injector.clone(), cluster.clone());
        let (world, recorder) = (world.clone(), recorder.clone());
        let item = item.clone();
        let mut waiting = async move {
            // The report states that the condition did not come.
            let Ok(met) = item.met_at(&world).await else { return };
            if let Some(part) = &item.part {
                cluster.until_component(part).await;
            }
            let cause = met.map_or(cause, |revision| recorder.commit(revision).last().copied());
            injector.start(item.id, cause);
        }
        .boxed();
        if waiting.as_mut().now_or_never().is_none() {
            self.shared.waiting.lock().spawn(waiting);
        }
    }
}

impl Item {
    /// The verdict, with how near it came to its condition if it was not started.
    fn verdict(&self, mut verdict: FaultVerdict) -> FaultVerdict {
        if let (FaultStrike::NotStarted(why), Some(near)) = (&mut verdict.strike, self.near_miss()) {
            *why = near;
        }
        verdict
    }

    /// Waits until its conditions are met, one after the other; returns the revision that met the last, if it was met
    /// by one.
    async fn met_at(&self, world: &World) -> Result<Option<i64>, NotInTime> {
        let mut met = None;
        if !self.after.is_zero() {
            tokio::time::sleep(self.after).await;
        }
        if let Some(revision) = self.revision {
            let wanted = match revision {
                FaultRevision::At(revision) => revision,
                FaultRevision::After(revisions) => world.newest().saturating_add(revisions),
            };
            met = Some(self.until_met(world.await_revision(wanted)).await);
        }
        if let Some(question) = &self.question {
            met = Some(world.until(question, Polarity::Always, FOREVER).await?.revision);
        }
        if let Some((selector, nth)) = self.change.clone() {
            met = Some(self.until_met(world.await_change(selector, nth)).await);
        }
        Ok(met)
    }

    async fn until_met(&self, awaited: Awaited) -> i64 {
        let awaited = Arc::new(awaited);
        *self.awaited.lock() = Some(Arc::clone(&awaited));
        awaited.until_met().await
    }

    /// How near it came to what it waits for.
    fn near_miss(&self) -> Option<String> {
        match self.awaited.lock().as_ref()?.answer()? {
            InvariantAnswer::Unanswerable(why) => Some(why),
            InvariantAnswer::Holds | InvariantAnswer::Fails { .. } => None,
        }
    }
}

/// The newest revision that was seen, or that there is if the store is not followed.
fn newest(world: &World) -> i64 {
    match world.revision() {
        0 => world.newest(),
        seen => seen,
    }
}

fn revision_of(when: &FaultMoment) -> Option<FaultRevision> {
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    when.revision.map(number).map(FaultRevision::At).or(when.revisions.map(number).map(FaultRevision::After))
}

/// The change that was validated when the file was read.
fn change_of(event: &FaultEvent) -> (ChangeSelector, u64) {
    let is_meant = |kind: &ChangeKind| event.change.as_ref().is_some_and(|word| word.value == kind.word());
    let condition =
        |cel: &Spanned<String>| Arc::new(Expression::compile(&cel.value).expect("the reader compiled the expression"));
    let selector = ChangeSelector {
        kind: event.kind.value.clone(),
        change: ChangeKind::ALL.into_iter().find(is_meant),
        namespace: event.namespace.clone(),
        name: event.name.clone(),
        condition: event.cel.as_ref().map(condition),
    };
    (selector, event.nth.map_or(1, |nth| u64::try_from(nth).unwrap_or(u64::MAX)))
}
