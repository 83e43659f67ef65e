use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coracle_ambient::{Ambient, Panics, Timestamp};
use coracle_cluster::{Cluster, PathService, Transport};
use coracle_journal::{Header, Recorder};
use coracle_sim::{InvariantAnswer, InvariantQuestion, NotSettled, Polarity, Settle, Settled, settle};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::followed_world::follow;
use crate::generation::{Generation, GenerationLog};
use crate::slot::{self, Slot};
use crate::snapshots::{ClusterSnapshot, START, Snapshots};
use crate::start::{Launcher, Listening, Start};
use crate::{ClusterTime, Error};

/// The entries of the event log of a fork that are kept in memory.
const FORK_ENTRIES: usize = 100_000;

/// How often, and how many times, a stopping cluster looks whether a request still uses it.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const LOOKS: usize = 1000;

/// A running cluster that is controlled from outside: its clock advances, it is reset to a snapshot, and it is forked.
///
/// Clones are the same cluster. Its API is [`transport`](crate::transport).
#[derive(Clone)]
pub struct ControlledCluster {
    shared: Arc<Shared>,
}

struct Shared {
    slot: Arc<Slot>,
    time: ClusterTime,
    launcher: Launcher,
    listener: ForkListener,
    log: (Recorder, Header),
    panics: Panics,
    /// The seed of all randomness; `None` for that of the operating system.
    seed: Option<u64>,
    snapshots: Snapshots,
    forks: Mutex<BTreeMap<String, Fork>>,
    forked: AtomicU64,
    /// The runtime of the sockets, in the machine's time.
    network: Handle,
    /// A snapshot, a reset and a fork run one after the other.
    turn: tokio::sync::Mutex<()>,
}

/// A second cluster that continues from a state of the first, with its own clock, address and control endpoint.
#[derive(Clone)]
pub struct Fork {
    cluster: ControlledCluster,
    serving: AbortHandle,
    described: Value,
}

/// Opens a listener for the API of a fork.
pub type ForkListener = Arc<dyn Fn(ControlledCluster) -> BoxFuture<'static, Result<Listening, Error>> + Send + Sync>;

/// The options of a controlled cluster.
pub struct ControlOptions {
    /// The time of the cluster.
    pub time: ClusterTime,
    /// Starts the cluster, and starts it again.
    pub launcher: Launcher,
    /// Listens for forks.
    pub listener: ForkListener,
    /// The event log, and its first line.
    pub log: (Recorder, Header),
    /// How panics of components are handled.
    pub panics: Panics,
    /// The seed of all randomness; `None` for that of the operating system.
    pub seed: Option<u64>,
    /// When its clock starts; `None` for the machine's time.
    pub starts_at: Option<Timestamp>,
    /// The state in which it starts; `None` for a new cluster.
    pub state: Option<ClusterSnapshot>,
}

impl ControlledCluster {
    /// Starts the cluster. Call it on a runtime in the machine's time, which serves the sockets.
    ///
    /// # Errors
    /// If the cluster does not start.
    pub async fn start(options: ControlOptions) -> Result<Self, Error> {
        let ControlOptions { time, launcher, listener, log, panics, seed, starts_at, state } = options;
        let shared = Shared {
            slot: Arc::default(),
            time,
            launcher,
            listener,
            log,
            panics,
            seed,
            snapshots: Snapshots::default(),
            forks: Mutex::default(),
            forked: AtomicU64::default(),
            network: Handle::current(),
            turn: tokio::sync::Mutex::default(),
        };
        let controlled = Self { shared: Arc::new(shared) };
        let at = state.as_ref().map(|state| state.at).or(starts_at);
        let generation = controlled.launch(state, at).await?;
        controlled.shared.slot.set(generation);
        controlled.shared.time.quiet().await?;
        if let Ok(start) = controlled.take_snapshot().await {
            controlled.shared.snapshots.set(START, start);
        }
        Ok(controlled)
    }

    /// The generation that runs.
    ///
    /// # Errors
    /// While a reset runs, and after one that failed.
    pub fn generation(&self) -> Result<Arc<Generation>, Error> {
        self.shared.slot.current().ok_or(Error::Ended)
    }

    /// The time of the cluster.
    pub fn time(&self) -> &ClusterTime {
        &self.shared.time
    }

    /// The API of whichever generation runs. `control` serves the paths for which `is_control` holds.
    pub(crate) fn transport(&self, is_control: fn(&str) -> bool, control: PathService) -> Transport {
        slot::transport(Arc::clone(&self.shared.slot), self.shared.time.clone(), is_control, control)
    }

    /// The runtime of the sockets, in the machine's time.
    pub(crate) fn network(&self) -> &Handle {
        &self.shared.network
    }

    /// Runs `work` on the runtime of the cluster.
    ///
    /// # Errors
    /// If there is no cluster, or it ends.
    pub async fn with<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Generation>) -> F,
    ) -> Result<T, Error> {
        let generation = self.generation()?;
        self.shared.time.run(work(generation)).await
    }

    /// Like [`Self::with`]. A stepped clock advances to each timer that `work` waits for, and stops when it is done.
    ///
    /// # Errors
    /// If there is no cluster, or it ends.
    pub async fn with_time<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Generation>) -> F,
    ) -> Result<T, Error> {
        let time = self.shared.time.clone();
        let done = self.with(|generation| {
            let work = work(generation);
            // The guard lives on the runtime of the cluster, so that the clock does not advance before the work begins,
            // nor after its end: how far it advances does not depend on the machine.
            async move {
                let running = time.running();
                let done = work.await;
                drop(running);
                done
            }
        });
        let done = done.await;
        self.quiet().await?;
        done
    }

    /// Waits until all tasks are idle, and clients in other processes have had a moment to react. A stepped clock stands
    /// still meanwhile. With another clock this returns at once.
    ///
    /// # Errors
    /// If the cluster ends.
    pub async fn quiet(&self) -> Result<(), Error> {
        self.shared.time.quiet().await
    }

    /// Waits until an object holds that is given in part, with `apiVersion` and `kind`; if it must be `absent`, until no
    /// object holds. Each revision is looked at. A stepped clock advances as far as needed. The answer is what was found
    /// instead if that does not happen in time.
    ///
    /// # Errors
    /// If there is no cluster.
    pub async fn until(
        &self,
        object: Value,
        absent: bool,
        within: Duration,
    ) -> Result<Result<(), InvariantAnswer>, Error> {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or("default").to_owned();
        let polarity = if absent { Polarity::Never } else { Polarity::Always };
        let met = self.with_time(move |generation| async move {
            let (world, _following) = follow(&generation.cluster, &namespace);
            let met = world.until(&InvariantQuestion::Partial(object), polarity, within).await;
            met.map(drop).map_err(|late| late.answer)
        });
        met.await
    }

    /// The time of the cluster.
    ///
    /// # Errors
    /// If there is no cluster.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        self.with(|generation| async move { generation.cluster.ambient().clock.now() }).await
    }

    /// Advances a stepped clock. All timers up to then fire in their order, and clients in other processes have a moment
    /// to react to each change that they watch.
    ///
    /// # Errors
    /// If the clock is not stepped, or there is no cluster.
    pub async fn advance(&self, time: Duration) -> Result<(), Error> {
        let clock = self.shared.time.stepped_clock().ok_or(NOT_STEPPED)?.clone();
        self.with(|_| async move { clock.advance(time).await }).await?;
        self.shared.time.quiet().await
    }

    /// Waits until nothing moves. A stepped clock advances as far as that needs.
    ///
    /// # Errors
    /// If there is no cluster.
    pub async fn settle(&self, options: Settle) -> Result<Result<Settled, NotSettled>, Error> {
        self.with_time(|generation| async move { settle(&generation.cluster, options).await }).await
    }

    /// Lets the nodes of a cluster with a stepped clock register, and keeps that state as `start`.
    ///
    /// # Errors
    /// If there is no cluster.
    pub async fn settle_at_start(&self) -> Result<(), Error> {
        if self.shared.time.stepped_clock().is_none() {
            return Ok(());
        }
        let options =
            Settle { quiet: Duration::from_secs(1), horizon: Duration::from_secs(1), within: Duration::from_secs(60) };
        // A cluster with work that never ends is usable, too.
        let _ = self.settle(options).await?;
        self.snapshot(START).await.map(drop)
    }

    /// The event log.
    pub fn recorder(&self) -> Recorder {
        self.shared.log.0.clone()
    }

    /// Keeps the state under a name, in place of an earlier one.
    ///
    /// # Errors
    /// If the store is not in memory, or there is no cluster.
    pub async fn snapshot(&self, name: &str) -> Result<ClusterSnapshot, Error> {
        let _turn = self.shared.turn.lock().await;
        let snapshot = self.take_snapshot().await?;
        self.shared.snapshots.set(name, snapshot.clone());
        Ok(snapshot)
    }

    /// The store first, then the nodes: a node's state is then never older than the API's view of it.
    async fn take_snapshot(&self) -> Result<ClusterSnapshot, Error> {
        let taken = self.with(|generation| async move {
            let cluster = &generation.cluster;
            in_memory(cluster)?;
            let kept = cluster.keep_store()?.after(0);
            let revision = revision(cluster).await;
            Ok(ClusterSnapshot { kept, nodes: cluster.kubelet().save(), revision, at: cluster.ambient().clock.now() })
        });
        taken.await?
    }

    /// Ends the cluster, and starts it again with the state of a snapshot. A stepped clock shows the time of the snapshot
    /// again. The revision is higher than all before, so that watches of clients get `410 Gone` and they list again.
    ///
    /// # Errors
    /// If there is no such snapshot, or the cluster does not start.
    pub async fn reset(&self, name: &str) -> Result<ClusterSnapshot, Error> {
        let _turn = self.shared.turn.lock().await;
        in_memory(&self.generation()?.cluster)?;
        let snapshot = self.shared.snapshots.get(name)?;
        let old = self.shared.slot.take();
        let ended = match &old {
            Some(old) => {
                old.faults.remove(|_| true);
                let revision = revision(&old.cluster).await;
                // A write in flight must not be acknowledged after this.
                old.cluster.kill_store()?;
                revision
            }
            None => 0,
        };
        let state = ClusterSnapshot { kept: snapshot.kept.after(ended), ..snapshot.clone() };
        let at = self.shared.time.stepped_clock().map(|_| state.at);
        let generation = self.launch(Some(state), at).await?;
        // What the components do at their start is done before a request of a client, so that a seed gives one run.
        self.shared.time.idle().await?;
        let revision = revision(&generation.cluster).await;
        self.shared.slot.set(generation);
        self.shared.time.spawn(async move { drop(old) });
        Ok(ClusterSnapshot { revision, at: self.now().await?, ..snapshot })
    }

    /// Starts a generation. Its ambient belongs to the runtime of the cluster, because its clock does.
    async fn launch(&self, state: Option<ClusterSnapshot>, at: Option<Timestamp>) -> Result<Arc<Generation>, Error> {
        let shared = &self.shared;
        let (recorder, header) = shared.log.clone();
        let log = GenerationLog { begins: recorder.last(), recorder: recorder.clone(), header };
        let (launcher, time) = (Arc::clone(&shared.launcher), shared.time.clone());
        let (seed, panics) = (shared.seed, shared.panics.clone());
        let (kept, nodes) = state.map(|state| (state.kept, state.nodes)).unzip();
        let launching = shared.time.run(async move {
            let ambient = Ambient { panics, ..ambient(seed, at) };
            launcher(Start { kept, nodes, ambient, recorder, time }).await
        });
        Ok(Generation::new(launching.await??, log))
    }

    /// Starts a second cluster from a snapshot, from a revision of this one, or from its state now.
    ///
    /// # Errors
    /// If there is no such state, or the cluster does not start.
    pub async fn fork(&self, from: ForkFrom) -> Result<Value, Error> {
        let _turn = self.shared.turn.lock().await;
        let state = match from {
            ForkFrom::Now => self.take_snapshot().await?,
            ForkFrom::Snapshot(name) => self.shared.snapshots.get(&name)?,
            ForkFrom::Revision(revision) => {
                let generation = self.generation()?;
                in_memory(&generation.cluster)?;
                let kept = generation.cluster.keep_store()?.at(revision)?;
                // The state of nodes has no history: they find the pods of the revision as after a crash.
                ClusterSnapshot { kept, nodes: coracle_cluster::SavedNodes::default(), revision, at: self.now().await? }
            }
        };
        let revision = state.revision;
        let name = format!("fork-{}", self.shared.forked.fetch_add(1, Ordering::Relaxed) + 1);
        let (recorder, header) = &self.shared.log;
        let recorder = if recorder.is_on() { Recorder::ring(FORK_ENTRIES) } else { Recorder::off() };
        let options = ControlOptions {
            time: self.shared.time.another()?,
            launcher: Arc::clone(&self.shared.launcher),
            listener: Arc::clone(&self.shared.listener),
            log: (recorder, header.clone()),
            panics: self.shared.panics.clone(),
            seed: self.shared.seed,
            starts_at: None,
            state: Some(state),
        };
        let cluster = Box::pin(Self::start(options)).await?;
        let Listening { address, kubeconfig, serving } = (self.shared.listener)(cluster.clone()).await?;
        let described = json!({
            "name": name, "server": format!("https://{address}"), "kubeconfig": kubeconfig, "revision": revision,
        });
        let serving = self.shared.network.spawn(serving).abort_handle();
        let fork = Fork { cluster, serving, described: described.clone() };
        self.shared.forks.lock().insert(name, fork);
        Ok(described)
    }

    /// The forks that run, without their credentials.
    pub(crate) fn forks(&self) -> Value {
        let forks = self.shared.forks.lock();
        let described = forks.values().map(|fork| fork.without_credentials());
        json!({"forks": described.collect::<Vec<_>>()})
    }

    /// Stops a fork.
    ///
    /// # Errors
    /// If no fork has this name.
    pub async fn end_fork(&self, name: &str) -> Result<Value, Error> {
        let fork = {
            let mut forks = self.shared.forks.lock();
            forks.remove(name).ok_or_else(|| Error::not_found("fork", name, &forks))?
        };
        fork.serving.abort();
        fork.cluster.end().await;
        Ok(fork.without_credentials())
    }

    /// Stops the forks, and then the cluster in order.
    pub async fn end(&self) {
        let forks = std::mem::take(&mut *self.shared.forks.lock());
        for fork in forks.into_values() {
            fork.serving.abort();
            Box::pin(fork.cluster.end()).await;
        }
        let Some(generation) = self.shared.slot.take() else { return };
        generation.faults.remove(|_| true);
        let running = self.shared.time.running();
        let _ = self
            .shared
            .time
            .run(async move {
                if let Some(generation) = sole(generation).await {
                    generation.cluster.shutdown().await;
                }
            })
            .await;
        drop(running);
        self.shared.time.end();
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.shared.snapshots
    }
}

impl Fork {
    fn without_credentials(&self) -> Value {
        let mut described = self.described.clone();
        if let Some(fields) = described.as_object_mut() {
            fields.remove("kubeconfig");
        }
        described
    }
}

/// Where a fork begins.
pub enum ForkFrom {
    /// As the cluster is.
    Now,
    /// The state of a snapshot.
    Snapshot(String),
    /// The objects at a revision.
    Revision(i64),
}

/// The answer where only a stepped clock is advanced.
const NOT_STEPPED: Error =
    Error::Unavailable("the clock advances by itself: start the server with --time stepped to advance it");

/// The generation, when no request uses it any more; `None` if one still does after some seconds.
async fn sole(mut generation: Arc<Generation>) -> Option<Generation> {
    for _ in 0..LOOKS {
        match Arc::try_unwrap(generation) {
            Ok(sole) => return Some(sole),
            Err(shared) => generation = shared,
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    None
}

/// Refuses a cluster whose objects are on disk or in an etcd.
fn in_memory(cluster: &Cluster) -> Result<(), Error> {
    let why = "the objects are not in memory: start the server with --ephemeral to keep, reset and fork its state";
    if cluster.handle().has_store_in_memory() { Ok(()) } else { Err(Error::Unavailable(why)) }
}

async fn revision(cluster: &Cluster) -> i64 {
    cluster.store().status().await.map(|status| status.revision).unwrap_or_default()
}

/// The clock and the randomness of a cluster. Call it on its runtime.
fn ambient(seed: Option<u64>, at: Option<Timestamp>) -> Ambient {
    let system = Ambient::system();
    let at = at.unwrap_or_else(|| system.clock.now());
    match seed {
        Some(seed) => Ambient::seeded_at(seed, at),
        None => Ambient { clock: coracle_ambient::Clock::starting_at(at), ..system },
    }
}
