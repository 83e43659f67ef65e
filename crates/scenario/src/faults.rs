use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::Cluster;
use coracle_expression::Expression;
use coracle_journal::{EntryId, Recorder};
use coracle_sim::faults::{FaultId, FaultVerdict, Injector};
use coracle_sim::{InvariantQuestion, Polarity, Wire, World};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::change::Change;
use crate::fault_list::PluralsOfKinds;
use crate::file::{self, Operation, Scenario, Step};
use crate::parse::Known;
use crate::written_fault::read_fault;

/// Effectively unlimited: a condition that never comes is awaited until the scenario ends.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The faults of a run, which begin and end with its steps. Clones are the same.
#[derive(Clone)]
pub(crate) struct Faults {
    shared: Arc<Shared>,
}

struct Shared {
    injector: Injector,
    world: World,
    recorder: Recorder,
    custom: PluralsOfKinds,
    all: Mutex<Vec<Item>>,
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
    question: Option<InvariantQuestion>,
}

/// Whether a run causes faults.
pub(crate) fn has_faults(scenario: &Scenario, change: Option<&Change>) -> bool {
    let causes = |step: &Step| step.operations.iter().any(|one| matches!(one.value, Operation::Fault(_)));
    let steps = scenario.spec.steps.iter().chain(change.map(|change| &change.step));
    !scenario.spec.faults.is_empty() || steps.into_iter().any(causes)
}

impl Faults {
    /// The faults in the list of a scenario, which was validated when the file was read.
    pub(crate) fn of(scenario: &Scenario, path: &Path, wire: &Wire, cluster: &Cluster, world: &World) -> Self {
        let faults = Self::new(Known::of(scenario, path).custom, wire, cluster, world);
        for fault in &scenario.spec.faults {
            faults.add(&fault.value);
        }
        faults
    }

    /// No faults. `custom` are the plurals of custom kinds in faults that are added later.
    pub(crate) fn new(custom: PluralsOfKinds, wire: &Wire, cluster: &Cluster, world: &World) -> Self {
        let (seen, recorder) = (world.clone(), cluster.recorder());
        let shared = Shared {
            injector: Injector::new(wire, recorder.clone(), move || seen.revision()).operating(cluster.handle()),
            world: world.clone(),
            recorder: recorder.clone(),
            custom,
            all: Mutex::default(),
            waiting: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    fn add(&self, written: &file::Fault) -> Option<Item> {
        self.add_among(written, &self.shared.custom)
    }

    fn add_among(&self, written: &file::Fault, custom: &PluralsOfKinds) -> Option<Item> {
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
            question,
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

    /// Adds a fault whose kinds are among these, and waits for its conditions. It has none that is a step.
    pub(crate) fn run(&self, fault: &file::Fault, custom: &PluralsOfKinds) -> Option<FaultId> {
        let item = self.add_among(fault, custom)?;
        self.wait_and_start(&item, None);
        Some(item.id)
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

    /// How each fault went.
    pub(crate) fn verdicts(&self) -> Vec<FaultVerdict> {
        self.shared.injector.verdicts()
    }

    fn chosen(&self, is_chosen: impl Fn(&Item) -> bool) -> Vec<Item> {
        self.shared.all.lock().iter().filter(|item| is_chosen(item)).cloned().collect()
    }

    fn begin(&self, is_chosen: impl Fn(&Item) -> bool, cause: Option<EntryId>) {
        for item in self.chosen(is_chosen) {
            self.wait_and_start(&item, cause);
        }
    }

    /// Starts a fault when its conditions are met: at once, if it has none.
    fn wait_and_start(&self, item: &Item, cause: Option<EntryId>) {
        let Item { id, after, question, .. } = item.clone();
        if after.is_zero() && question.is_none() {
            self.shared.injector.start(id, cause);
            return;
        }
        let Shared { injector, world, recorder, .. } = &*self.shared;
        let (injector, world, recorder) = (injector.clone(), world.clone(), recorder.clone());
        self.shared.waiting.lock().spawn(async move {
            let mut cause = cause;
            tokio::time::sleep(after).await;
            if let Some(question) = question {
                let Ok(held) = world.until(&question, Polarity::Always, FOREVER).await else { return };
                cause = recorder.commit(held.revision).last().copied();
            }
            injector.start(id, cause);
        });
    }
}
