use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use coracle_client::{Api, Client};
use coracle_journal::EntryId;
use coracle_meta::{ObjectKey, Resource};
use parking_lot::Mutex;

use crate::Speaker;

/// Brings the world closer to what one object asks for.
///
/// It is told a key and not what happened to it (level, not edge): it looks at what is, in the caches, decides, and
/// writes. It must be able to run again at any time.
///
/// The decision is best a function of what was observed, and the rest reads and writes:
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
    /// Does what is to be done for `key` at the moment. An object that is not there any more is no error.
    fn reconcile(&self, pass: &Pass, key: &K) -> impl Future<Output = Result<Action, ReconcileError>> + Send;

    /// In whose name `key` is worked on; none for the controller's own.
    fn speaker(&self, key: &K) -> Option<Speaker> {
        let _ = key;
        None
    }
}

/// When a key is worked on again. In Kubernetes: `reconcile.Result` of controller-runtime; in kube-rs: `Action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// When something happens to it.
    Done,
    /// After this time at the latest.
    RequeueAfter(Duration),
    /// Soon, with the back-off of failures, though nothing failed.
    Requeue,
}

/// Why a pass failed; the key is tried again with back-off.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The API said no, or nothing.
    #[error(transparent)]
    Call(#[from] coracle_client::Error),
    /// The object cannot be worked on as it is.
    #[error("{0}")]
    Object(String),
}

impl ReconcileError {
    /// Whether the failure is that the object's namespace goes away, so that trying again is no use.
    pub fn is_namespace_terminating(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_namespace_terminating())
    }
}

/// One pass of a reconciler over one key. What is written through it is recorded with its causes, and the next pass
/// over the key waits until the caches show it.
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
    /// What was decided, if anybody keeps it.
    decided: Option<Arc<Mutex<Vec<String>>>>,
}

impl Pass {
    /// A pass that writes through `client`.
    pub fn new(client: Client, cause: Option<EntryId>) -> Self {
        let decided = cause.map(|_| Arc::default());
        Self { client, cause, decided }
    }

    /// Says in a sentence what this pass decided, `want 3, see 2: create 1`; it is recorded with the sync. Made only if
    /// somebody records.
    pub fn decided<S: Into<String>>(&self, sentence: impl FnOnce() -> S) {
        if let Some(decided) = &self.decided {
            decided.lock().push(sentence().into());
        }
    }

    /// Ends the pass where there is nothing, or nothing more, to do, and says why.
    pub fn done<S: Into<String>>(&self, sentence: impl FnOnce() -> S) -> Result<Action, ReconcileError> {
        self.decided(sentence);
        Ok(Action::Done)
    }

    /// Ends the pass of what is not there.
    pub fn gone(&self) -> Result<Action, ReconcileError> {
        self.done(|| "it is not there: nothing to do")
    }

    /// What was decided so far, as one sentence; empty if nothing was said.
    pub(crate) fn decisions(&self) -> String {
        self.decided.as_ref().map(|decided| decided.lock().join("; ")).unwrap_or_default()
    }

    /// The client to write with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The verbs of a kind.
    pub fn api<K: Resource>(&self) -> Api<K> {
        Api::of(&self.client)
    }

    /// The entry of the event log that says that this pass began.
    pub fn cause(&self) -> Option<EntryId> {
        self.cause
    }
}
