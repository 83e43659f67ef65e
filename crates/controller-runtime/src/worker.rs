use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coracle_ambient::{Panics, gated};
use coracle_client::{Client, Gone, Origin};
use coracle_informer::{AnyInformer, Reads, noting_reads};
use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::GroupVersionResource;
use coracle_workqueue::{Key, Work, WorkQueue};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::metrics::{ControllerMetrics, Synced};
use crate::own_writes::{Caches, Unseen};
use crate::sync_outcome::SyncOutcome;
use crate::{Action, OwnWrites, Pass, ReconcileError, Reconciler, Speaker, StaleCaches};

/// What the workers of a controller share: each takes a key, reconciles it, and returns it to the queue.
pub(crate) struct Worker<K> {
    pub(crate) actor: String,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) client: Client,
    pub(crate) reconciler: Box<dyn AnyReconciler<K>>,
    pub(crate) queue: WorkQueue<K>,
    pub(crate) caches: Vec<AnyInformer>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) stale_caches: StaleCaches,
    /// How panics of a reconciler are handled; if they are caught, the key is retried like any failed key.
    pub(crate) panics: Panics,
    pub(crate) own_writes: Mutex<OwnWrites<K>>,
    pub(crate) parked: Mutex<Parked<K>>,
}

/// A reconciler without its type, so that the code around it is compiled once for each type of key.
pub(crate) trait AnyReconciler<K>: Send + Sync {
    fn reconcile<'a>(&'a self, pass: &'a Pass, key: &'a K) -> BoxFuture<'a, Result<Action, ReconcileError>>;
    fn speaker(&self, key: &K) -> Option<Speaker>;
}

impl<K: Key, R: Reconciler<K>> AnyReconciler<K> for R {
    fn reconcile<'a>(&'a self, pass: &'a Pass, key: &'a K) -> BoxFuture<'a, Result<Action, ReconcileError>> {
        Box::pin(Reconciler::reconcile(self, pass, key))
    }

    fn speaker(&self, key: &K) -> Option<Speaker> {
        Reconciler::speaker(self, key)
    }
}

/// The result of a sync, for the event log.
struct Done {
    writes: usize,
    reads: Reads,
    decided: String,
}

/// Keys that wait until a cache shows their own last writes.
#[derive(Debug)]
pub(crate) struct Parked<K> {
    /// The waiting keys. A wait removes its key before it returns it to the queue, so that the key can wait again at
    /// once.
    keys: Arc<Mutex<BTreeSet<K>>>,
    waits: JoinSet<()>,
}

impl<K> Parked<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Arc::default(), waits: JoinSet::new() }
    }
}

impl<K: Key> Worker<K> {
    /// Runs the worker with this number, from 0.
    pub(crate) async fn run(self: Arc<Self>, number: usize) {
        while let Some(work) = self.queue.get().await {
            match self.unseen_write(&work.key) {
                Some(unseen) if self.stale_caches == StaleCaches::Wait => self.park(&work, unseen, number),
                unseen => self.sync(&work, number, unseen.is_none()).await,
            }
            self.queue.done(&work.key);
        }
    }

    async fn sync(&self, work: &Work<K>, number: usize, shows_own_writes: bool) {
        let speaker = self.reconciler.speaker(&work.key);
        let (actor, client) =
            speaker.as_ref().map_or((&*self.actor, &self.client), |speaker| (&*speaker.actor, &speaker.client));
        let start = self.recorder.record(actor, Stage::SyncStart, || {
            Detail::about(work.key.to_string()).caused_by(work.cause).with("worker", number)
        });
        let origin = Origin::new(actor, &work.key.to_string(), start);
        let pass = Pass::new(client.on_behalf_of(origin.clone()), start).showing_own_writes(shows_own_writes);
        let began = Instant::now();
        let seen: Vec<i64> = self.caches.iter().map(AnyInformer::revision).collect();
        let reconcile = AssertUnwindSafe(self.reconciler.reconcile(&pass, &work.key)).catch_unwind();
        let (result, reads) =
            if self.recorder.is_on() { noting_reads(reconcile).await } else { (reconcile.await, Reads::default()) };
        let result = result.unwrap_or_else(|panic| {
            let message = Panics::message(&*panic);
            self.panics.caught(&format!("{actor} at {}", work.key), panic);
            Err(ReconcileError::Object(format!("panicked: {message}")))
        });
        self.remember(&work.key, &origin);
        let done = Done { writes: origin.write_count(), reads, decided: pass.decisions() };
        let writes = done.writes;
        let unchanged = origin.unchanged(|resource| {
            let cache = self.caches.iter().position(|cache| cache.resource() == resource)?;
            seen.get(cache).copied()
        });
        let gives_up = || self.max_retries.is_some_and(|max| self.queue.requeues(&work.key) >= max);
        let outcome = SyncOutcome::of(result, gives_up);
        self.settle(actor, &work.key, &outcome, start, &done);
        let sync = Synced { result: outcome.word(), waited: work.waited, worked: began.elapsed(), writes, unchanged };
        self.metrics.synced(self.queue.name(), &sync);
    }

    /// Records how a sync ended, and decides when the key is processed again. In Kubernetes: each controller's
    /// `handleErr`.
    fn settle(&self, actor: &str, key: &K, outcome: &SyncOutcome, start: Option<EntryId>, done: &Done) {
        let entry = self.recorder.record(actor, Stage::SyncEnd, || {
            let detail = Detail::about(key.to_string()).caused_by(start).with("result", outcome.word());
            let mut detail = detail.with("writes", done.writes).with("reads", json!(done.reads.revisions()));
            let looked = done.reads.looked_at();
            if !looked.is_empty() {
                detail = detail.with("looked", json!(looked));
            }
            if !done.decided.is_empty() {
                detail = detail.with("decided", done.decided.as_str());
            }
            match outcome.error() {
                Some(error) => detail.with("error", chain(error)),
                None => detail,
            }
        });
        match outcome {
            SyncOutcome::Done | SyncOutcome::NamespaceTerminating(_) => self.queue.forget(key),
            SyncOutcome::Requeue => self.queue.add_rate_limited(key.clone(), entry.as_slice()),
            SyncOutcome::RequeueAfter(delay) => {
                self.queue.forget(key);
                self.queue.add_after(key.clone(), *delay, entry.as_slice());
            }
            SyncOutcome::Retry(error) => {
                tracing::debug!(actor, %key, error = chain(error), "a sync failed");
                self.queue.add_rate_limited(key.clone(), entry.as_slice());
            }
            SyncOutcome::GaveUp(error) => {
                tracing::warn!(actor, %key, error = chain(error), "gave a key up");
                self.queue.forget(key);
            }
        }
    }

    fn remember(&self, key: &K, origin: &Origin) {
        let (mut revisions, mut gone) = (origin.revisions(), origin.gone());
        revisions.retain(|resource, _| self.stale_caches.remembers(resource));
        gone.retain(|gone| self.stale_caches.remembers(&gone.resource));
        self.own_writes.lock().record(key, revisions, gone);
    }

    fn unseen_write(&self, key: &K) -> Option<Unseen> {
        let mut own_writes = self.own_writes.lock();
        if let Some(patience) = self.stale_caches.patience() {
            own_writes.expire(key, patience);
        }
        own_writes.unseen(key, &Informed(&self.caches))
    }

    /// Queues a key again when the cache has reached the needed revision, without blocking a worker.
    fn park(&self, work: &Work<K>, unseen: Unseen, number: usize) {
        let entry = self.recorder.record(&self.actor, Stage::SyncWaitStale, || {
            let detail = Detail::about(work.key.to_string()).caused_by(work.cause);
            let detail = detail.with("kind", unseen.resource().resource.as_str()).with("worker", number);
            match &unseen {
                Unseen::Write { needs, has, .. } => detail.with("needs", *needs).with("has", *has),
                Unseen::End(gone) => detail.with("gone", gone.key.to_string()),
            }
        });
        let mut parked = self.parked.lock();
        while parked.waits.try_join_next().is_some() {}
        let keys = Arc::clone(&parked.keys);
        // A key that waits already is checked again at the end of that wait.
        if !keys.lock().insert(work.key.clone()) {
            return;
        }
        let cache = Informed(&self.caches).cache(unseen.resource());
        let cache = cache.expect("only writes to what is cached are waited for").clone();
        let (queue, key) = (self.queue.clone(), work.key.clone());
        parked.waits.spawn(gated(async move {
            wait(cache, unseen).await;
            keys.lock().remove(&key);
            queue.add(key, entry.as_slice());
        }));
    }
}

/// The caches of a controller.
struct Informed<'a>(&'a [AnyInformer]);

impl<'a> Informed<'a> {
    fn cache(&self, resource: &GroupVersionResource) -> Option<&'a AnyInformer> {
        self.0.iter().find(|cache| cache.resource() == resource)
    }
}

impl Caches for Informed<'_> {
    fn revision(&self, resource: &GroupVersionResource) -> Option<i64> {
        self.cache(resource).map(AnyInformer::revision)
    }

    fn holds(&self, gone: &Gone) -> bool {
        self.cache(&gone.resource).is_some_and(|cache| cache.holds(&gone.key, &gone.uid))
    }
}

async fn wait(cache: AnyInformer, unseen: Unseen) {
    match unseen {
        Unseen::Write { needs, .. } => cache.reached(needs).await,
        Unseen::End(Gone { key, uid, .. }) => cache.lost(&key, &uid).await,
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
