use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::gated;
use coracle_client::Client;
use coracle_informer::{AnyInformer, Notification, SharedInformer};
use coracle_meta::{ApiObject, ObjectKey};
use coracle_workqueue::{Key, RateLimiter, WorkQueue};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::worker::{Parked, Worker};
use crate::{Process, Reconciler, StaleCaches};

/// A reconciler with its queue, its workers and the caches that it reads.
///
/// ```
/// use coracle::api::core_v1::{Namespace, Secret};
/// use coracle::journal::Recorder;
/// use coracle::meta::{ObjectKey, Resource};
/// use coracle::runtime::Api;
/// use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
/// use coracle::runtime::informer::Lister;
///
/// /// Every namespace has a Secret called `pull`.
/// struct Pull {
///     secrets: Lister<Secret>,
/// }
///
/// impl Reconciler for Pull {
///     async fn reconcile(&self, pass: &Pass, namespace: &ObjectKey) -> Result<Action, ReconcileError> {
///         let mut secret = Secret::default();
///         secret.metadata.namespace = Some(namespace.name.clone());
///         secret.metadata.name = Some("pull".to_owned());
///         if self.secrets.get(&secret.key()).is_none() {
///             pass.api().create(&secret).await?;
///         }
///         Ok(Action::Done)
///     }
/// }
///
/// coracle::run_virtual(1, async |cluster| {
///     let process = Process::new("program", &cluster.api_client(), cluster.ambient(), &Recorder::off());
///     let namespaces = process.informers.informer::<Namespace>();
///     let secrets = process.informers.informer::<Secret>();
///     let controller = Controller::new(&process, "pull", Pull { secrets: secrets.lister() })
///         .watches(&namespaces, key_of)
///         .watches(&secrets, |change| vec![ObjectKey::cluster(&change.object().key().namespace)])
///         .workers(5);
///     tokio::spawn(controller.run());
///     tokio::spawn(async move { process.run().await });
///
///     tokio::time::sleep(std::time::Duration::from_secs(1)).await;
///     let secret = Api::<Secret>::of(&cluster.api_client()).get(&ObjectKey::new("default", "pull")).await;
///     assert!(secret.is_ok());
/// })
/// .unwrap();
/// ```
pub struct Controller<R, K = ObjectKey> {
    actor: String,
    process: Process,
    client: Client,
    reconciler: R,
    queue: WorkQueue<K>,
    caches: Vec<AnyInformer>,
    workers: usize,
    max_retries: Option<u32>,
    stale_caches: StaleCaches,
}

impl<K: Key, R: Reconciler<K>> Controller<R, K> {
    /// A controller with one worker and unlimited retries, on a queue of its own. Its actor in the event log is
    /// `process/name`.
    pub fn new(process: &Process, name: &str, reconciler: R) -> Self {
        Self::on_queue(process, name, process.queue(name, RateLimiter::default()), reconciler)
    }

    /// A controller on a given queue, which others may use too, or with other retry delays.
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
            stale_caches: StaleCaches::default(),
        }
    }

    /// Queues the keys that `map` returns for each change of this informer, and waits for its cache.
    #[must_use]
    pub fn watches<T, M>(self, informer: &SharedInformer<T>, map: M) -> Self
    where
        T: ApiObject,
        M: FnMut(&Notification<T>) -> Vec<K> + Send + 'static,
    {
        self.watches_after(Duration::ZERO, informer, map)
    }

    /// As [`watches`](Self::watches), but a key is processed `delay` after the change, so that related changes, such
    /// as those of the pods of one Job, are batched.
    #[must_use]
    pub fn watches_after<T, M>(self, delay: Duration, informer: &SharedInformer<T>, map: M) -> Self
    where
        T: ApiObject,
        M: FnMut(&Notification<T>) -> Vec<K> + Send + 'static,
    {
        self.watches_by(informer, map, move |_, _| delay)
    }

    /// As [`watches_after`](Self::watches_after), with a delay for each change and key: a key whose sync is expensive
    /// may batch longer.
    #[must_use]
    pub fn watches_by<T, M, D>(self, informer: &SharedInformer<T>, mut map: M, mut delay: D) -> Self
    where
        T: ApiObject,
        M: FnMut(&Notification<T>) -> Vec<K> + Send + 'static,
        D: FnMut(&Notification<T>, &K) -> Duration + Send + 'static,
    {
        let queue = self.queue.clone();
        informer.add_handler(&self.actor, move |notification, causes| {
            for key in map(notification) {
                let delay = delay(notification, &key);
                queue.add_after(key, delay, causes);
            }
        });
        self.reads(informer)
    }

    /// Waits for the cache of this informer: no worker starts before it has synced.
    #[must_use]
    pub fn reads<T: ApiObject>(mut self, informer: &SharedInformer<T>) -> Self {
        self.caches.push(informer.any().clone());
        self
    }

    /// Sets how many keys are processed concurrently.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Gives up a key after this many consecutive failures, until an event queues it again.
    ///
    /// ```
    /// # use coracle::journal::Recorder;
    /// # use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicU32, Ordering};
    /// struct Failing(Arc<AtomicU32>);
    ///
    /// impl Reconciler<String> for Failing {
    ///     async fn reconcile(&self, _: &Pass, key: &String) -> Result<Action, ReconcileError> {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///         Err(ReconcileError::Object(format!("{key} cannot be worked on")))
    ///     }
    /// }
    ///
    /// # coracle::run_virtual(1, async |cluster| {
    /// # let process = Process::new("program", &cluster.api_client(), cluster.ambient(), &Recorder::off());
    /// let passes = Arc::new(AtomicU32::new(0));
    /// let controller = Controller::new(&process, "failing", Failing(passes.clone())).max_retries(5);
    /// controller.queue().add("default/web".to_owned(), &[]);
    /// tokio::spawn(controller.run());
    /// tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    /// assert_eq!(passes.load(Ordering::Relaxed), 1 + 5);
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = Some(retries);
        self
    }

    /// Sets what happens to a key while a cache does not show its own last writes. By default it waits.
    #[must_use]
    pub fn stale_caches(mut self, stale_caches: StaleCaches) -> Self {
        self.stale_caches = stale_caches;
        self
    }

    /// Writes through a client of its own, for example with its own rate limit.
    #[must_use]
    pub fn client(mut self, client: Client) -> Self {
        self.client = client.with_recorder(self.process.recorder.clone());
        self
    }

    /// The queue, for handlers and timers that add keys by themselves.
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

    /// Waits until the caches have synced, and runs the workers until the future is dropped.
    ///
    /// # Panics
    /// If the reconciler panics.
    pub async fn run(self) {
        for cache in &self.caches {
            cache.synced().await;
        }
        let worker = Arc::new(Worker {
            actor: self.actor,
            recorder: self.process.recorder,
            metrics: self.process.metrics,
            client: self.client,
            reconciler: Box::new(self.reconciler),
            queue: self.queue,
            caches: self.caches,
            max_retries: self.max_retries,
            stale_caches: self.stale_caches,
            panics: self.process.ambient.panics,
            own_writes: Default::default(),
            parked: Mutex::new(Parked::new()),
        });
        let mut tasks = JoinSet::new();
        for number in 0..self.workers {
            tasks.spawn(gated(worker.clone().run(number)));
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
