use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Horizon, Pending, PendingWork};
use coracle_cluster::{Cluster, Error};
use coracle_meta::Object;
use coracle_storage::Stored;
use coracle_store::{Event, EventKind, KeyValue, Revision, Store};
use tokio::time::{Instant, timeout_at};

use crate::heartbeat::{is_heartbeat, is_record, may_be_node};
use crate::store_changes::{StoreChange, StoreChanges};

/// The clock of tokio advances in steps of a millisecond. In virtual time it advances only when all tasks are idle.
const IDLE: Duration = Duration::from_millis(1);
/// How soon work without a due time is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is left while the store is down.
const NO_STORE: &str = "store: it does not answer";

/// When a cluster counts as settled. All times are in the cluster's time.
///
/// A cluster is settled if all of this holds at one moment:
///
/// 1. For the time `quiet`, no object has changed. Heartbeats do not count: Leases, Events, and the heartbeat times of
///    Nodes.
/// 2. No work queue of a component has a key that is due, in work, or retried after a failure. The scheduler has no pod
///    to schedule; an unschedulable pod waits for an event, and without nodes every pod waits for a node.
/// 3. No work queue has a delayed key that is due within `horizon` of the last change. Delays that a component sets
///    more than `quiet` after the last change do not count, because periodic work sets delays for ever.
/// 4. The cache of every informer that runs shows the revision of the last change.
/// 5. The store answers.
///
/// In virtual time, all tasks are idle at that moment, too. The call itself counts as a change, so it takes at least
/// the time `quiet`. "Components" are the cluster's own, and all controllers on `coracle::runtime` that use
/// [`Cluster::ambient`](coracle_cluster::Cluster::ambient). The queues of other controllers, for example on kube-rs,
/// are not known: in virtual time their work at one moment is done before the clock advances, and a timer of theirs is
/// awaited if it is not longer than `quiet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    /// How long no object changes. By default a minute, which is longer than it takes to notice a dead node.
    pub quiet: Duration,
    /// How far ahead delayed keys count. By default ten minutes, which is longer than the back-off of a container (five
    /// minutes), a toleration of a dead node (five minutes), and the progress deadline of a Deployment.
    pub horizon: Duration,
    /// How long to wait for all that, at most. By default an hour.
    pub within: Duration,
}

impl Default for Settle {
    fn default() -> Self {
        Self { quiet: Duration::from_secs(60), horizon: Duration::from_secs(600), within: Duration::from_secs(3600) }
    }
}

/// A cluster in which nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The revision of the last change; the newest revision at the call if there was none.
    pub revision: Revision,
    /// When the last change was seen; the time of the call if there was none.
    pub at: Instant,
}

/// A cluster did not settle in time.
#[derive(Debug)]
pub struct NotSettled {
    /// How long it was awaited, in the cluster's time.
    pub after: Duration,
    /// The last change that counts: `Pod default/web at revision 41`; `None` if there was none.
    pub last_change: Option<String>,
    /// The work that is left: `queue job: default/pi is retried`.
    pub pending: Vec<String>,
    /// Why the cluster ended, if it ended first.
    pub ended: Option<Box<Error>>,
}

impl fmt::Display for NotSettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ended) = &self.ended {
            return write!(f, "the cluster ended: {ended}");
        }
        let last_change = self.last_change.as_deref().unwrap_or("none");
        let pending = if self.pending.is_empty() { "none".to_owned() } else { self.pending.join("; ") };
        write!(f, "the cluster did not settle in {:?}; last change: {last_change}; work left: {pending}", self.after)
    }
}

impl std::error::Error for NotSettled {}

/// Advances a cluster until nothing moves; [`Settle`] defines what that means.
///
/// # Errors
/// If the cluster does not settle in time, or ends.
pub async fn settle(cluster: &Cluster, options: Settle) -> Result<Settled, NotSettled> {
    let mut settling = Settling::new(Instant::now(), options);
    let work = &cluster.ambient().work;
    let ended = cluster.unless_ended(settling.run(cluster.store(), work)).await;
    settling.outcome(ended)
}

/// Like [`settle`], for a caller that has only the store of a cluster and the work of its components.
///
/// # Errors
/// If the cluster does not settle in time.
pub async fn settle_work(store: Arc<dyn Store>, work: &PendingWork, options: Settle) -> Result<Settled, NotSettled> {
    let mut settling = Settling::new(Instant::now(), options);
    let is_settled = settling.run(store, work).await;
    settling.outcome(Ok(is_settled))
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Settled,
    TooLate,
    /// Wait for a change, until this time.
    Wait(Instant),
}

/// The last change that counts.
#[derive(Debug)]
struct LastChange {
    revision: Revision,
    at: Instant,
    what: Option<Changed>,
}

/// What has changed. It is described only for a caller that reads the description.
#[derive(Debug)]
enum Changed {
    /// The changes up to this revision are not known.
    Unknown(Revision),
    Object(Box<Event>),
}

impl LastChange {
    fn settled(&self) -> Settled {
        Settled { revision: self.revision, at: self.at }
    }
}

/// The state of a wait. Pure, except for the function that looks for pending work.
#[derive(Debug)]
struct Settling {
    options: Settle,
    start: Instant,
    deadline: Instant,
    last: LastChange,
    /// When nothing was pending, since the last change.
    idle_since: Option<Instant>,
    pending: Vec<String>,
}

impl Settling {
    fn new(now: Instant, options: Settle) -> Self {
        let last = LastChange { revision: 0, at: now, what: None };
        Self { options, start: now, deadline: now + options.within, last, idle_since: None, pending: Vec::new() }
    }

    /// Waits until the cluster has settled; false if it has not in time.
    async fn run(&mut self, store: Arc<dyn Store>, work: &PendingWork) -> bool {
        let mut changes = StoreChanges::from_now(store).await;
        self.last.revision = changes.revision();
        loop {
            let now = Instant::now();
            let pending = |horizon: &Horizon| {
                let of_store = (!changes.is_connected()).then(|| Pending { what: NO_STORE.to_owned(), due: None });
                work.pending(horizon).into_iter().chain(of_store).collect()
            };
            let wake = match self.next(now, pending) {
                Next::Settled => return true,
                Next::TooLate => return false,
                Next::Wait(until) => until,
            };
            if let Ok(change) = timeout_at(wake, changes.next()).await {
                self.follow(&change, Instant::now());
            }
        }
    }

    /// The result of a wait that has ended.
    fn outcome(self, is_settled: Result<bool, Error>) -> Result<Settled, NotSettled> {
        let ended = match is_settled {
            Ok(true) => return Ok(self.last.settled()),
            Ok(false) => None,
            Err(ended) => Some(Box::new(ended)),
        };
        let last_change = self.last.what.as_ref().map(Changed::to_string);
        Err(NotSettled { after: self.start.elapsed(), last_change, pending: self.pending, ended })
    }

    /// Decides what to do at the time `now`.
    fn next(&mut self, now: Instant, pending: impl FnOnce(&Horizon) -> Vec<Pending>) -> Next {
        let quiet = self.last.at + self.options.quiet;
        if now < quiet.min(self.deadline) {
            return Next::Wait(quiet.min(self.deadline));
        }
        let due_by = self.last.at + self.options.horizon;
        let pending = pending(&Horizon { revision: self.last.revision, set_by: quiet, due_by });
        self.pending = pending.iter().map(|pending| pending.what.clone()).collect();
        if now >= quiet && pending.is_empty() {
            let idle_since = *self.idle_since.get_or_insert(now);
            // A task that was woken at this moment may not have run yet.
            return if now >= idle_since + IDLE { Next::Settled } else { Next::Wait(idle_since + IDLE) };
        }
        self.idle_since = None;
        if now >= self.deadline {
            return Next::TooLate;
        }
        let look_again = |pending: &Pending| pending.due.filter(|due| *due > now).unwrap_or(now + LOOK_AGAIN);
        let wake = pending.iter().map(look_again).min().unwrap_or(now + LOOK_AGAIN);
        Next::Wait(wake.min(self.deadline))
    }

    /// Takes changes into account.
    fn follow(&mut self, change: &StoreChange, now: Instant) {
        match change {
            StoreChange::Missed(revision) => self.note(*revision, now, Changed::Unknown(*revision)),
            StoreChange::Batch(batch) => {
                for event in batch.events.iter().filter(|event| counts(event)) {
                    self.note(event.kv.mod_revision, now, Changed::Object(Box::new(event.clone())));
                }
            }
        }
    }

    fn note(&mut self, revision: Revision, at: Instant, what: Changed) {
        self.last = LastChange { revision, at, what: Some(what) };
        self.idle_since = None;
    }
}

/// Whether a change is not a heartbeat. A value that cannot be read counts as a change.
fn counts(event: &Event) -> bool {
    let key = &event.kv.key;
    let is_heartbeat_of_node = || {
        let before = event.prev_kv.as_ref().filter(|_| event.kind == EventKind::Put).and_then(object);
        before.zip(object(&event.kv)).is_some_and(|(before, after)| is_heartbeat(&before, &after))
    };
    !(is_record(key) || may_be_node(&event.kv.value) && is_heartbeat_of_node())
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = match self {
            Self::Unknown(revision) => return write!(f, "unknown, up to revision {revision}"),
            Self::Object(event) => event,
        };
        let after = (event.kind == EventKind::Put).then(|| object(&event.kv)).flatten();
        let changed = after.or_else(|| event.prev_kv.as_ref().and_then(object));
        let name = changed.map_or_else(|| String::from_utf8_lossy(&event.kv.key).into_owned(), |object| name(&object));
        write!(f, "{name} at revision {}", event.kv.mod_revision)
    }
}

fn object(kv: &KeyValue) -> Option<Object> {
    let stored = Stored::from_value(kv.value.clone(), kv.mod_revision).ok()?;
    Some(Object::clone(&stored.object()))
}

fn name(object: &Object) -> String {
    let place = if object.namespace().is_empty() { String::new() } else { format!("{}/", object.namespace()) };
    format!("{} {place}{}", object.kind(), object.name())
}

#[cfg(test)]
mod tests {
    use coracle_store::WatchBatch;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64, due: Option<u64>, start: Instant) -> (Instant, Vec<Pending>) {
        let due = due.map(|due| start + SECOND * u32::try_from(due).unwrap());
        (start + SECOND * u32::try_from(seconds).unwrap(), vec![Pending { what: "queue q: a".to_owned(), due }])
    }

    #[test]
    fn a_wait_ends_when_it_was_quiet_and_no_work_is_left_and_not_before() {
        let start = Instant::now();
        let mut settling = Settling::new(start, Settle::default());
        assert_eq!(settling.next(start, |_| Vec::new()), Next::Wait(start + SECOND * 60));
        let (now, pending) = at(60, Some(90), start);
        assert_eq!(settling.next(now, |_| pending), Next::Wait(start + SECOND * 90));
        let (now, pending) = at(90, None, start);
        assert_eq!(settling.next(now, |_| pending), Next::Wait(start + SECOND * 91));
        let now = start + SECOND * 91;
        assert_eq!(settling.next(now, |_| Vec::new()), Next::Wait(now + IDLE));
        let (again, pending) = at(92, None, start);
        assert_eq!(settling.next(again, |_| pending), Next::Wait(start + SECOND * 93), "a task had not run yet");
        assert_eq!(settling.next(again, |_| Vec::new()), Next::Wait(again + IDLE));
        assert_eq!(settling.next(again + IDLE, |_| Vec::new()), Next::Settled);
    }

    #[test]
    fn a_wait_ends_at_its_bound_and_names_what_is_left() {
        let start = Instant::now();
        let mut settling = Settling::new(start, Settle { within: SECOND * 70, ..Settle::default() });
        let (now, pending) = at(69, Some(100), start);
        assert_eq!(settling.next(now, |_| pending), Next::Wait(start + SECOND * 70));
        let (now, pending) = at(70, Some(100), start);
        assert_eq!(settling.next(now, |_| pending), Next::TooLate);
        assert_eq!(settling.pending, ["queue q: a"]);
    }

    #[test]
    fn an_unreadable_value_a_deletion_and_missed_history_count_as_changes() {
        let start = Instant::now();
        let mut settling = Settling::new(start, Settle::default());
        let kv = |key: &'static str, value: &'static str, mod_revision| KeyValue {
            key: key.into(),
            value: value.into(),
            mod_revision,
            ..KeyValue::default()
        };
        let put = |kv| Event { kind: EventKind::Put, kv, prev_kv: None };
        let batch = |event| StoreChange::Batch(WatchBatch { revision: 9, events: vec![event] });
        let lease = kv("/registry/leases/kube-node-lease/node-1", "unreadable", 4);
        settling.follow(&batch(put(lease)), start + SECOND);
        assert_eq!((settling.last.at, described(&settling)), (start, None));
        settling.follow(&batch(put(kv("/registry/secrets/default/a", "unreadable", 5))), start + SECOND * 2);
        assert_eq!(settling.last.at, start + SECOND * 2);
        assert_eq!(described(&settling).as_deref(), Some("/registry/secrets/default/a at revision 5"));
        let deletion = Event { kind: EventKind::Delete, kv: kv("/registry/pods/default/a", "", 6), prev_kv: None };
        settling.follow(&batch(deletion), start + SECOND * 3);
        assert_eq!(described(&settling).as_deref(), Some("/registry/pods/default/a at revision 6"));
        settling.follow(&StoreChange::Missed(8), start + SECOND * 4);
        assert_eq!((settling.last.at, settling.last.revision), (start + SECOND * 4, 8));
        assert_eq!(described(&settling).as_deref(), Some("unknown, up to revision 8"));
    }

    fn described(settling: &Settling) -> Option<String> {
        settling.last.what.as_ref().map(Changed::to_string)
    }

    #[test]
    fn a_change_of_an_object_is_described_by_the_object_and_a_heartbeat_of_a_node_in_any_layout_does_not_count() {
        let node = |text: &str, mod_revision| KeyValue {
            key: "/registry/minions/a".into(),
            value: text.to_owned().into(),
            mod_revision,
            ..KeyValue::default()
        };
        let changed =
            |from: &str, to: &str| Event { kind: EventKind::Put, kv: node(to, 8), prev_kv: Some(node(from, 7)) };
        let own = |time: &str, ready: &str| {
            format!(
                r#"{{"kind":"Node","apiVersion":"v1","metadata":{{"name":"a"}},"status":{{"conditions":[{{"lastHeartbeatTime":"{time}","status":"{ready}"}}]}}}}"#
            )
        };
        let foreign = |time: &str| {
            format!(
                r#"{{ "metadata": {{"name":"a"}}, "status":{{"conditions":[{{"lastHeartbeatTime":"{time}"}}]}},
                "apiVersion" : "v1", "kind" : "N\u006fde" }}"#
            )
        };
        assert!(!counts(&changed(&own("1", "True"), &own("2", "True"))));
        assert!(!counts(&changed(&foreign("1"), &foreign("2"))));
        assert!(counts(&changed(&own("1", "True"), &own("2", "False"))));
        let event = changed(&own("1", "True"), &own("2", "False"));
        assert_eq!(Changed::Object(Box::new(event)).to_string(), "Node a at revision 8");
    }
}
