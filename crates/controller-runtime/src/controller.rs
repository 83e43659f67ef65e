use std::sync::Arc;

use coracle_client::Client;
use coracle_informer::{Notification, SharedInformer};
use coracle_meta::{ApiObject, ObjectKey};
use coracle_workqueue::{Key, RateLimiter, WorkQueue};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::cache::Cache;
use crate::worker::{Parked, Worker};
use crate::{Process, Reconciler};

/// A reconciler with its queue, its workers and the caches that it reads.
///
/// ```ignore
/// Controller::new(&process, "replicaset", reconciler)
///     .watches(&sets, key_of)
///     .watches(&pods, |notification| controllers_of(notification, "ReplicaSet"))
///     .workers(5)
///     .run()
///     .await
/// ```
pub struct Controller<R, K = ObjectKey> {
    actor: String,
    process: Process,
    client: Client,
    reconciler: R,
    queue: WorkQueue<K>,
    caches: Vec<Arc<dyn Cache>>,
    workers: usize,
    max_retries: Option<u32>,
}

impl<K: Key, R: Reconciler<K>> Controller<R, K> {
    /// A controller with one worker that never gives up, on a queue of its own. It records as `process/name`.
    pub fn new(process: &Process, name: &str, reconciler: R) -> Self {
        Self::on_queue(process, name, process.queue(name, RateLimiter::default()), reconciler)
    }

    /// A controller on a queue that others know, too, or whose failed keys come back after other times than the usual.
    pub fn on_queue(process: &Process, name: &str, queue: WorkQueue<K>, reconciler: R) -> Self {
        Self {
            queue,
            actor: process.actor(name),
            process: process.clone(),
            client: process.client.clone(),
            reconciler,
            caches: Vec::new(),
            workers: 1,
            max_retries: None,
        }
    }

    /// Queues the keys that `map` finds for each change that this informer tells, and reads its cache.
    #[must_use]
    pub fn watches<T, M>(self, informer: &SharedInformer<T>, mut map: M) -> Self
    where
        T: ApiObject,
        M: FnMut(&Notification<T>) -> Vec<K> + Send + 'static,
    {
        let queue = self.queue.clone();
        informer.add_handler(&self.actor, move |notification, causes| {
            for key in map(notification) {
                queue.add(key, causes);
            }
        });
        self.reads(informer)
    }

    /// Reads the cache of this informer: no worker starts before it has synced.
    #[must_use]
    pub fn reads<T: ApiObject>(mut self, informer: &SharedInformer<T>) -> Self {
        self.caches.push(Arc::new(informer.clone()));
        self
    }

    /// Works on so many keys at once.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Gives a key up after so many failures in a row, until something happens to it.
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = Some(retries);
        self
    }

    /// Writes through a client of its own, with its own rate limit, say.
    #[must_use]
    pub fn client(mut self, client: Client) -> Self {
        self.client = client.with_recorder(self.process.recorder.clone());
        self
    }

    /// The queue, for handlers and timers that add keys in their own way.
    pub fn queue(&self) -> WorkQueue<K> {
        self.queue.clone()
    }

    /// The controller's name in the event log.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// The reconciler.
    pub fn reconciler(&self) -> &R {
        &self.reconciler
    }

    /// Waits until the caches have synced, and works until it is dropped.
    ///
    /// # Panics
    /// If the reconciler does.
    pub async fn run(self) {
        for cache in &self.caches {
            cache.synced().await;
        }
        let worker = Arc::new(Worker {
            actor: self.actor,
            recorder: self.process.recorder,
            client: self.client,
            reconciler: self.reconciler,
            queue: self.queue,
            caches: self.caches,
            max_retries: self.max_retries,
            own_writes: Default::default(),
            parked: Mutex::new(Parked::new()),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..self.workers {
            tasks.spawn(worker.clone().run());
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }
}

impl<R, K> std::fmt::Debug for Controller<R, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("actor", &self.actor).field("workers", &self.workers).finish_non_exhaustive()
    }
}
