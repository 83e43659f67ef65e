use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use coracle_client::{Api, Client};
use coracle_journal::EntryId;
use coracle_meta::{ObjectKey, Resource};
use parking_lot::Mutex;

use crate::Speaker;

/// Moves the actual state closer to the desired state of one object.
///
/// It gets a key, and not the change (level-triggered, not edge-triggered): it reads the current state from the
/// caches, decides, and writes. It must be idempotent.
///
/// The decision should be a pure function of the observed state; the rest reads and writes:
///
/// ```
/// use coracle::runtime::controller::{Action, Pass, ReconcileError, Reconciler};
/// use std::sync::Mutex;
/// use std::time::Duration;
///
/// /// How many machines to start; what is there counts, not what was started before.
/// fn missing(wanted: usize, there: usize) -> usize {
///     wanted.saturating_sub(there)
/// }
///
/// struct Machines {
///     wanted: usize,
///     there: Mutex<usize>,
/// }
///
/// impl Reconciler<String> for Machines {
///     async fn reconcile(&self, _: &Pass, _: &String) -> Result<Action, ReconcileError> {
///         let mut there = self.there.lock().unwrap();
///         *there += missing(self.wanted, *there).min(2);
///         Ok(match missing(self.wanted, *there) {
///             0 => Action::Done,
///             _ => Action::RequeueAfter(Duration::from_secs(30)),
///         })
///     }
/// }
///
/// coracle::run_virtual(1, async |cluster| {
///     let pass = Pass::new(cluster.api_client(), None);
///     let machines = Machines { wanted: 3, there: Mutex::new(0) };
///     let key = "fleet".to_owned();
///     assert_eq!(machines.reconcile(&pass, &key).await.unwrap(), Action::RequeueAfter(Duration::from_secs(30)));
///     assert_eq!(machines.reconcile(&pass, &key).await.unwrap(), Action::Done);
///     assert_eq!(machines.reconcile(&pass, &key).await.unwrap(), Action::Done, "again, and nothing happens");
/// })
/// .unwrap();
/// ```
pub trait Reconciler<K = ObjectKey>: Send + Sync + 'static {
    /// Reconciles `key`. A missing object is not an error.
    fn reconcile(&self, pass: &Pass, key: &K) -> impl Future<Output = Result<Action, ReconcileError>> + Send;

    /// The identity on whose behalf `key` is processed; `None` for the controller's own.
    fn speaker(&self, key: &K) -> Option<Speaker> {
        let _ = key;
        None
    }
}

/// When a key is processed again. In Kubernetes: `reconcile.Result` of controller-runtime; in kube-rs: `Action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// When an event queues it.
    Done,
    /// After this time at the latest.
    RequeueAfter(Duration),
    /// Soon, with the back-off of failures, though it did not fail.
    Requeue,
}

/// Why a pass failed; the key is retried with back-off.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// An API request failed.
    #[error(transparent)]
    Call(#[from] coracle_client::Error),
    /// The object is invalid in its current state.
    #[error("{0}")]
    Object(String),
}

impl ReconcileError {
    /// Whether it failed because the object's namespace is terminating, so that a retry is useless.
    pub fn is_namespace_terminating(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_namespace_terminating())
    }
}

/// One pass of a reconciler over one key. Its writes are recorded with their causes, and the next pass over the key
/// waits until the caches show them.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::Namespace;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::controller::Pass;
///
/// let pass = Pass::new(cluster.api_client(), None); // a reconciler is handed one; its tests make one
/// assert!(pass.api::<Namespace>().get(&ObjectKey::cluster("default")).await.is_ok());
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Pass {
    client: Client,
    cause: Option<EntryId>,
    /// The decisions, if they are recorded.
    decided: Option<Arc<Mutex<Vec<String>>>>,
    shows_own_writes: bool,
}

impl Pass {
    /// A pass that writes through `client`.
    pub fn new(client: Client, cause: Option<EntryId>) -> Self {
        let decided = cause.map(|_| Arc::default());
        Self { client, cause, decided, shows_own_writes: true }
    }

    /// The same pass, over caches that may lack own writes.
    pub(crate) fn showing_own_writes(self, shows_own_writes: bool) -> Self {
        Self { shows_own_writes, ..self }
    }

    /// Whether the caches showed the key's own last writes when the pass began. Always true, except in a controller
    /// with [`StaleCaches::Expect`](crate::StaleCaches::Expect), which should then create and delete no dependents.
    pub fn shows_own_writes(&self) -> bool {
        self.shows_own_writes
    }

    /// Records the decision of this pass in a sentence, `want 3, see 2: create 1`, in the event log entry of the
    /// sync. The sentence is only built if it is recorded.
    pub fn decided<S: Into<String>>(&self, sentence: impl FnOnce() -> S) {
        if let Some(decided) = &self.decided {
            decided.lock().push(sentence().into());
        }
    }

    /// Ends the pass because nothing (more) must be done, and records why.
    pub fn done<S: Into<String>>(&self, sentence: impl FnOnce() -> S) -> Result<Action, ReconcileError> {
        self.decided(sentence);
        Ok(Action::Done)
    }

    /// Ends the pass because the object does not exist.
    pub fn gone(&self) -> Result<Action, ReconcileError> {
        self.done(|| "it is not there: nothing to do")
    }

    /// All decisions so far as one sentence; empty without any.
    pub(crate) fn decisions(&self) -> String {
        self.decided.as_ref().map(|decided| decided.lock().join("; ")).unwrap_or_default()
    }

    /// The client for writes.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The API of a kind.
    pub fn api<K: Resource>(&self) -> Api<K> {
        Api::of(&self.client)
    }

    /// The event log entry of the start of this pass.
    pub fn cause(&self) -> Option<EntryId> {
        self.cause
    }
}
