use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use coracle_cluster::{ClusterHandle, NodeSwitch};
use coracle_journal::{Detail, EntryId, Recorder, Stage, subject};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::cut::CUT;
use super::fault::{Fault, FaultRequest, Lasts};
use super::fault_kind::{FaultTarget, Now};
use super::operation::ClusterOperation;
use super::verdict::{FaultProgress, FaultStrike, FaultVerdict};
use crate::wire::{Asked, Effect, Moment, Rule, RuleId, Selected, Selector, Senders, Strike, Turns, Wire};

/// The actor of faults in the event log.
const ACTOR: &str = "wire";

/// Lets faults take place on a wire, and on a cluster. Clones are the same injector; all faults end with the last of them.
#[derive(Clone)]
pub struct Injector {
    shared: Arc<Shared>,
}

/// Identifies a fault of an injector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultId(usize);

struct Shared {
    wire: Wire,
    recorder: Recorder,
    revision: Box<dyn Fn() -> i64 + Send + Sync>,
    /// What faults of the cluster act on.
    cluster: OnceLock<ClusterHandle>,
    faults: Mutex<Vec<Progress>>,
    /// The ends of faults that last for a time.
    ends: Mutex<JoinSet<()>>,
}

/// How far a fault has come.
struct Progress {
    fault: Arc<Fault>,
    state: State,
    /// The requests that it had met when its rule was removed.
    met: Selected,
    /// What a fault of the cluster does.
    operation: Option<ClusterOperation>,
    /// The revision at which it began, if it is no fault of requests.
    began: Option<i64>,
    /// The revision of its first strike.
    struck: Option<i64>,
    /// How often it has struck. Events that it holds count once.
    strikes: u64,
    /// The last request that was to conflict, and the status code of its answer.
    without_conflict: Option<(Arc<Asked>, Option<u16>)>,
    /// Its first entry in the log.
    entry: Option<EntryId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// It counts requests, and begins with one of them.
    Waiting(RuleId),
    /// Its effect applies.
    Active(RuleId),
    /// It acts on the cluster.
    Operating,
    Ended,
}

/// What a strike changes, decided under the lock and carried out after it.
enum Next {
    Nothing,
    Record,
    RecordAndEndIn(Duration),
    Begin,
}

impl std::fmt::Debug for Injector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Injector").field("faults", &self.shared.faults.lock().len()).finish_non_exhaustive()
    }
}

impl Injector {
    /// An injector without faults. It is the only observer of the wire. `revision` returns the newest revision.
    pub fn new(wire: &Wire, recorder: Recorder, revision: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            wire: wire.clone(),
            recorder,
            revision: Box::new(revision),
            cluster: OnceLock::new(),
            faults: Mutex::default(),
            ends: Mutex::default(),
        });
        // The wire outlives the injector in the transports of the cluster.
        let observing: Weak<Shared> = Arc::downgrade(&shared);
        wire.observe(move |strike| {
            if let Some(shared) = observing.upgrade() {
                shared.strike(strike);
            }
        });
        Self { shared }
    }

    /// Faults of the cluster act on this one. Without it, they do not strike. Only the first call has an effect.
    #[must_use]
    pub fn operating(self, cluster: ClusterHandle) -> Self {
        let _ = self.shared.cluster.set(cluster);
        self
    }

    /// Adds a fault, which does nothing before it is started.
    pub fn add(&self, fault: Fault) -> FaultId {
        let mut faults = self.shared.faults.lock();
        faults.push(Progress {
            fault: Arc::new(fault),
            state: State::Idle,
            met: Selected::default(),
            operation: None,
            began: None,
            struck: None,
            strikes: 0,
            without_conflict: None,
            entry: None,
        });
        FaultId(faults.len() - 1)
    }

    /// Starts a fault because of `cause`: from now on it counts requests if it begins with one, and else it begins. A
    /// fault that was started or ended before stays as it is.
    pub fn start(&self, id: FaultId, cause: Option<EntryId>) {
        let Some(fault) = self.shared.fault(id, State::Idle) else { return };
        let Some(request) = &fault.request else { return self.shared.begin(id, cause) };
        let effect = match fault.kind.target {
            FaultTarget::Requests => self.shared.effect(&fault),
            _ => Some(Effect::Observe),
        };
        let Some(effect) = effect else { return };
        let mut faults = self.shared.faults.lock();
        let rule = self.shared.wire.add(Rule { selector: counted(&fault, request), effect });
        faults[id.0].state = State::Waiting(rule);
    }

    /// Ends a fault.
    pub fn end(&self, id: FaultId) {
        self.shared.end(id);
    }

    /// How a fault is going; `None` for a fault of another injector.
    pub fn progress(&self, id: FaultId) -> Option<FaultProgress> {
        let faults = self.shared.faults.lock();
        let one = faults.get(id.0)?;
        let has_begun = matches!(one.state, State::Active(_) | State::Operating);
        let (verdict, has_ended) = (self.shared.verdict(one), one.has_ended());
        Some(FaultProgress { verdict, strikes: one.strikes, has_begun, has_ended })
    }

    /// How each fault went, in the order in which they were added.
    pub fn verdicts(&self) -> Vec<FaultVerdict> {
        let faults = self.shared.faults.lock();
        faults.iter().map(|one| self.shared.verdict(one)).collect()
    }
}

impl Progress {
    /// Counts a strike at this revision.
    fn count(&mut self, revision: i64, moment: Moment) {
        if self.struck.is_none() || moment != Moment::Held {
            self.strikes += 1;
        }
        self.struck.get_or_insert(revision);
    }

    /// Whether it does not strike again.
    fn has_ended(&self) -> bool {
        let is_at_one_moment = self.fault.kind.target == FaultTarget::OpenWatches;
        match self.fault.lasts {
            _ if self.state == State::Ended => true,
            Lasts::Requests(count) => self.strikes >= count,
            Lasts::For(_) | Lasts::UntilEnded => is_at_one_moment && self.began.is_some(),
        }
    }
}

/// A cluster stops without faults.
impl Drop for Shared {
    fn drop(&mut self) {
        for one in self.faults.get_mut() {
            match (one.state, &one.operation, self.cluster.get()) {
                (State::Waiting(rule) | State::Active(rule), ..) => {
                    self.wire.remove(rule);
                }
                (State::Operating, Some(operation), Some(cluster)) if operation.is_of_a_running_store() => {
                    operation.end(cluster, None);
                }
                _ => {}
            }
        }
    }
}

/// The selector of the requests with which a fault begins.
fn counted(fault: &Fault, request: &FaultRequest) -> Selector {
    let count = match (fault.kind.target, fault.lasts) {
        (FaultTarget::Requests, Lasts::Requests(count)) => Some(count),
        (FaultTarget::Requests, Lasts::For(_) | Lasts::UntilEnded) => None,
        _ => Some(1),
    };
    Selector { turns: Some(Turns { first: request.nth, count }), ..request.selector.clone() }
}

impl Shared {
    /// A fault, if it is in this state.
    fn fault(&self, id: FaultId, state: State) -> Option<Arc<Fault>> {
        let faults = self.faults.lock();
        let one = faults.get(id.0).filter(|one| one.state == state)?;
        Some(Arc::clone(&one.fault))
    }

    fn now(&self) -> Now {
        Now { at: Instant::now(), revision: (self.revision)() }
    }

    fn effect(&self, fault: &Fault) -> Option<Effect> {
        fault.kind.on_wire(&fault.argument, self.now())
    }

    /// Begins a fault that is no fault of requests.
    fn begin(self: &Arc<Self>, id: FaultId, cause: Option<EntryId>) {
        let fault = self.faults.lock().get(id.0).map(|one| Arc::clone(&one.fault));
        let Some(fault) = fault else { return };
        if let Some(operation) = fault.kind.on_cluster(&fault.argument, self.now()) {
            self.operate(id, &fault, operation, cause);
        } else if let Some(effect) = self.effect(&fault) {
            self.rule(id, &fault, effect, cause);
        }
        match fault.lasts {
            Lasts::For(Duration::ZERO) => self.end(id),
            Lasts::For(duration) => self.end_in(id, duration),
            Lasts::Requests(_) | Lasts::UntilEnded => {}
        }
    }

    /// Begins a fault of a part of the cluster.
    fn operate(&self, id: FaultId, fault: &Fault, operation: ClusterOperation, cause: Option<EntryId>) {
        let entry = self.note(Stage::FaultOn, &operation.part(), fault, cause);
        let revision = (self.revision)();
        {
            let mut faults = self.faults.lock();
            let one = &mut faults[id.0];
            self.stop_waiting(one);
            (one.state, one.operation) = (State::Operating, Some(operation.clone()));
            (one.began, one.entry) = (Some(revision), entry);
        }
        // A component may be killed by one of its own requests, and the fault must not be locked while it is.
        let has_struck = self.cluster.get().is_some_and(|cluster| operation.begin(cluster, entry));
        if has_struck {
            self.faults.lock()[id.0].count(revision, Moment::Sent);
        }
    }

    fn stop_waiting(&self, one: &mut Progress) {
        if let State::Waiting(rule) = one.state {
            one.met = self.wire.selected(rule).unwrap_or_default();
            self.wire.remove(rule);
        }
    }

    /// Records that a fault begins or ends.
    fn note(&self, stage: Stage, subject: &str, fault: &Fault, cause: Option<EntryId>) -> Option<EntryId> {
        self.recorder
            .record(ACTOR, stage, || Detail::about(subject).caused_by(cause).with("fault", fault.name.as_str()))
    }

    /// Begins a fault of requesters or watches.
    fn rule(&self, id: FaultId, fault: &Fault, effect: Effect, cause: Option<EntryId>) {
        let entry = self.note(Stage::FaultOn, &target(fault), fault, cause);
        let selector = Selector { turns: Some(Turns::ALL), ..fault.target.clone() };
        {
            let mut faults = self.faults.lock();
            let one = &mut faults[id.0];
            self.stop_waiting(one);
            (one.began, one.entry) = (Some((self.revision)()), entry);
            // The reader of a watch is woken by the wire, and polled after this lock is released.
            one.state = State::Active(self.wire.add(Rule { selector, effect }));
        }
        if !fault.kind.target.lasts() {
            self.note(Stage::FaultOff, &target(fault), fault, entry);
        }
        // A node that is disconnected sends nothing, so its rule strikes nothing.
        if self.switch_node(fault, true, entry)
            && let Some(one) = self.faults.lock().get_mut(id.0)
        {
            one.count(one.began.unwrap_or_default(), Moment::Sent);
        }
    }

    fn end_in(self: &Arc<Self>, id: FaultId, duration: Duration) {
        let shared = Arc::downgrade(self);
        self.ends.lock().spawn(async move {
            sleep(duration).await;
            if let Some(shared) = shared.upgrade() {
                shared.end(id);
            }
        });
    }

    fn end(&self, id: FaultId) {
        let ended = {
            let mut faults = self.faults.lock();
            let Some(one) = faults.get_mut(id.0) else { return };
            self.stop_waiting(one);
            let was = std::mem::replace(&mut one.state, State::Ended);
            if let State::Active(rule) = was {
                self.wire.remove(rule);
            }
            let has_begun = matches!(was, State::Active(_) | State::Operating);
            has_begun.then(|| (Arc::clone(&one.fault), one.entry, one.operation.clone(), one.struck.is_some()))
        };
        let Some((fault, entry, operation, has_struck)) = ended else { return };
        if !fault.kind.target.lasts() {
            return;
        }
        let subject = operation.as_ref().map_or_else(|| target(&fault), ClusterOperation::part);
        let off = self.note(Stage::FaultOff, &subject, &fault, entry);
        self.switch_node(&fault, false, off);
        // What the fault did not end is not started: the component may have been stopped by others.
        if let (Some(operation), Some(cluster), true) = (operation, self.cluster.get(), has_struck) {
            operation.end(cluster, off);
        }
    }

    /// Disconnects the simulated node that a fault cuts, or connects it again; false if it cuts none. Nodes share
    /// the watches of `kubelet` by default, so the wire alone cannot stop those of one node.
    fn switch_node(&self, fault: &Fault, disconnects: bool, cause: Option<EntryId>) -> bool {
        let Senders::Named(name) = &fault.target.from else { return false };
        match (self.cluster.get(), name.strip_prefix("kubelet/")) {
            (Some(cluster), Some(node)) if fault.kind.word == CUT.word => {
                cluster.switch_node(node, NodeSwitch::Partition, !disconnects, cause)
            }
            _ => false,
        }
    }

    /// Takes a strike of a rule.
    fn strike(self: &Arc<Self>, strike: &Strike<'_>) {
        let Some((id, fault, next)) = self.next(strike) else { return };
        let cause = || strike.audit_id.and_then(|audit_id| self.recorder.audit(audit_id));
        match next {
            Next::Nothing => {}
            Next::Begin => self.begin(id, cause()),
            Next::Record => self.record(id, &fault, strike, cause()),
            Next::RecordAndEndIn(duration) => {
                self.record(id, &fault, strike, cause());
                self.end_in(id, duration);
            }
        }
    }

    fn next(&self, strike: &Strike<'_>) -> Option<(FaultId, Arc<Fault>, Next)> {
        let mut faults = self.faults.lock();
        let is_of =
            |one: &Progress| matches!(one.state, State::Waiting(rule) | State::Active(rule) if rule == strike.rule);
        let place = faults.iter().position(is_of)?;
        let revision = (self.revision)();
        let one = &mut faults[place];
        let fault = Arc::clone(&one.fault);
        let effect = self.effect(&fault);
        let next = match (fault.kind.target, one.state) {
            (FaultTarget::Requests, _) if effect == Some(Effect::Conflict) && strike.moment == Moment::Landed => {
                match strike.code {
                    Some(409) => one.count(revision, strike.moment),
                    code => one.without_conflict = Some((Arc::clone(&strike.asked), code)),
                }
                Next::Nothing
            }
            (FaultTarget::Requests, state) if strike.moment == moment_of(effect) => {
                if effect != Some(Effect::Conflict) {
                    one.count(revision, strike.moment);
                }
                one.state = State::Active(strike.rule);
                match (state, fault.lasts) {
                    (State::Waiting(_), Lasts::For(duration)) => Next::RecordAndEndIn(duration),
                    _ => Next::Record,
                }
            }
            (FaultTarget::Requests, _) => Next::Nothing,
            (_, State::Waiting(_)) => match &fault.request {
                Some(request) if request.moment == strike.moment => Next::Begin,
                _ => Next::Nothing,
            },
            _ => {
                if matches!(strike.moment, Moment::Sent | Moment::Held | Moment::Ended) {
                    one.count(revision, strike.moment);
                }
                Next::Nothing
            }
        };
        Some((FaultId(place), fault, next))
    }

    /// Records that a fault of requests has struck one.
    fn record(&self, id: FaultId, fault: &Fault, strike: &Strike<'_>, cause: Option<EntryId>) {
        let about = object(&strike.asked);
        let on = self.note(Stage::FaultOn, &about, fault, cause);
        if let (Some(other_write), Some(on)) = (strike.other_write, on) {
            self.recorder.remember_audit(other_write, on);
        }
        self.note(Stage::FaultOff, &about, fault, on);
        if let Some(one) = self.faults.lock().get_mut(id.0)
            && one.entry.is_none()
        {
            one.entry = on;
        }
    }

    fn verdict(&self, one: &Progress) -> FaultVerdict {
        FaultVerdict { name: one.fault.name.clone(), strike: self.went(one) }
    }

    fn went(&self, one: &Progress) -> FaultStrike {
        if let (None, Some((request, code))) = (one.struck, &one.without_conflict) {
            return FaultStrike::NoConflict { request: Arc::clone(request), code: *code };
        }
        match (one.struck, one.began, one.state, &one.fault.request) {
            (Some(revision), ..) => FaultStrike::Struck { revision, entry: one.entry },
            (None, Some(revision), ..) => match &one.operation {
                None => FaultStrike::Began(revision),
                Some(operation) => FaultStrike::Missed { revision, part: operation.part() },
            },
            (None, None, State::Waiting(rule), Some(request)) => {
                FaultStrike::Waited { nth: request.nth, met: self.wire.selected(rule).unwrap_or_default() }
            }
            (None, None, State::Ended, Some(request)) => FaultStrike::Waited { nth: request.nth, met: one.met.clone() },
            _ => FaultStrike::NotStarted("its condition did not come".to_owned()),
        }
    }
}

/// When a fault of requests strikes: a lost or slow answer after the API server has answered, a conflict before the request is
/// carried out, all others at once.
fn moment_of(effect: Option<Effect>) -> Moment {
    match effect {
        Some(Effect::Lose(crate::wire::Leg::Answer)) => Moment::Landed,
        Some(Effect::Slow { there: Duration::ZERO, .. }) => Moment::Landed,
        Some(Effect::Conflict) => Moment::Arrived,
        _ => Moment::Sent,
    }
}

/// The subject of a request in the event log.
fn object(asked: &Asked) -> String {
    let Some(at) = asked.at.as_deref() else { return "requests".to_owned() };
    subject(&at.resource.resource, &at.namespace, asked.name())
}

/// The subject of a fault of requesters or watches in the event log.
fn target(fault: &Fault) -> String {
    match (&fault.target.from, &fault.target.resource) {
        (Senders::Named(name), _) => name.clone(),
        (_, Some(resource)) => resource.clone(),
        _ => "watches".to_owned(),
    }
}
