use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_store::{AutoCompaction, Engine, HistoryLimit, Limits, Options, Store};
use coracle_supervisor::Tasks;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::restartable::Restartable;
use crate::store_content::StoreContent;

/// The age of the history for watches, as kube-apiserver compacts etcd.
const HISTORY: Duration = Duration::from_secs(300);

/// The limit of the history in bytes.
const HISTORY_LIMIT: HistoryLimit = HistoryLimit { least: 16 << 20, most: 256 << 20 };

/// The storage of a cluster's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreSpec {
    /// In memory of this process.
    #[default]
    Memory,
    /// In a folder on disk. Needs the feature `sled`.
    Sled(PathBuf),
    /// In an etcd, or in `coracle store`. Needs the feature `etcd`.
    Etcd(EtcdServers),
}

/// The address of an etcd, and the TLS configuration.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EtcdServers {
    /// The URLs of its members. In Kubernetes: `--etcd-servers`.
    pub urls: Vec<String>,
    /// The certificate authority of the etcd (PEM); `https` needs one. In Kubernetes: `--etcd-cafile`.
    pub authority: Option<String>,
    /// The client certificate (PEM). In Kubernetes: `--etcd-certfile`.
    pub certificate: Option<String>,
    /// The key of the client certificate (PEM). Never logged. In Kubernetes: `--etcd-keyfile`.
    pub key: Option<String>,
}

impl std::fmt::Debug for EtcdServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EtcdServers").field("urls", &self.urls).finish_non_exhaustive()
    }
}

/// The options of Coracle's own store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Whether a write can be acknowledged before it is on disk. In etcd: `--unsafe-no-fsync`.
    pub unsafe_no_fsync: bool,
    /// The limits of requests.
    pub limits: Limits,
    /// The automatic compaction; `None` for never.
    pub compaction: Option<AutoCompaction>,
    /// The maximum size of the history, independently of its age; `None` for no limit.
    pub history_limit: Option<HistoryLimit>,
}

impl Default for StoreOptions {
    /// Durable, with etcd's limits and kube-apiserver's history.
    fn default() -> Self {
        let compaction = Some(AutoCompaction::Periodic(HISTORY));
        Self { unsafe_no_fsync: false, limits: Limits::default(), compaction, history_limit: Some(HISTORY_LIMIT) }
    }
}

/// An open store with its maintenance tasks.
pub struct OpenStore {
    /// The store.
    pub store: Arc<dyn Store>,
    kind: Kind,
    upkeep: JoinSet<()>,
}

/// The type of an open store.
enum Kind {
    Engine(Engine),
    /// In memory; can be killed.
    Restartable(Restartable),
    #[cfg(feature = "etcd")]
    Remote,
}

impl std::fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenStore").field("is_shared", &self.is_shared()).finish()
    }
}

impl StoreSpec {
    /// Opens the store.
    ///
    /// # Errors
    /// If the folder is damaged, in use or not a store, or the etcd is unreachable; the message contains a hint.
    pub async fn open(&self, ambient: &Ambient, recorder: &Recorder) -> Result<OpenStore, Error> {
        self.open_with(ambient, recorder, StoreOptions::default()).await
    }

    /// Opens the store; one in memory can be killed and started again.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_killable(&self, ambient: &Ambient, recorder: &Recorder) -> Result<OpenStore, Error> {
        self.open_restartable(ambient, recorder, &Tasks::new(ambient.panics.clone()), None).await
    }

    /// Like [`open_killable`](Self::open_killable), with the content of `kept`. Its maintenance tasks belong to `tasks`.
    ///
    /// # Errors
    /// As [`open`](Self::open), or if there is a content and the store is not in memory.
    pub async fn open_restartable(
        &self,
        ambient: &Ambient,
        recorder: &Recorder,
        tasks: &Tasks,
        kept: Option<&StoreContent>,
    ) -> Result<OpenStore, Error> {
        match self {
            Self::Memory => {
                let options = Options::new(ambient.split("store"), recorder.clone());
                let among = tasks.clone();
                let upkeep = move |engine: &Engine| upkeep(engine, StoreOptions::default(), &among);
                let store = match kept {
                    None => Restartable::new(options, upkeep),
                    Some(kept) => Restartable::of(kept.engine.fork(0, options.clone())?, options, upkeep),
                };
                let kind = Kind::Restartable(store.clone());
                Ok(OpenStore { store: Arc::new(store), kind, upkeep: JoinSet::new() })
            }
            _ if kept.is_some() => Err(Error::Options("only a store in memory begins with a kept one".to_owned())),
            other => other.open_among(ambient, recorder, StoreOptions::default(), tasks).await,
        }
    }

    /// Opens the store with options. For an etcd, only the compaction applies.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(
        &self,
        ambient: &Ambient,
        recorder: &Recorder,
        kept: StoreOptions,
    ) -> Result<OpenStore, Error> {
        self.open_among(ambient, recorder, kept, &Tasks::new(ambient.panics.clone())).await
    }

    async fn open_among(
        &self,
        ambient: &Ambient,
        recorder: &Recorder,
        kept: StoreOptions,
        tasks: &Tasks,
    ) -> Result<OpenStore, Error> {
        let options = Options { limits: kept.limits, ..Options::new(ambient.split("store"), recorder.clone()) };
        match self {
            Self::Memory => Ok(OpenStore::of(Engine::in_memory(options), kept, tasks)),
            #[cfg(feature = "sled")]
            Self::Sled(folder) => {
                use coracle_store::disk::{Disk, Syncing};
                let syncing = if kept.unsafe_no_fsync { Syncing::Never } else { Syncing::Always };
                let disk = Disk::open(folder, syncing)?;
                let (engine, commit_loop) = Engine::open(Box::new(disk), options)?;
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a folder has one owner, a thread that may block on the disk"
                )]
                std::thread::spawn(move || commit_loop.run());
                Ok(OpenStore::of(engine, kept, tasks))
            }
            #[cfg(not(feature = "sled"))]
            Self::Sled(_) => Err(Error::Options("this build has no store on disk (feature `sled`)".to_owned())),
            #[cfg(feature = "etcd")]
            Self::Etcd(servers) => {
                let store = servers.connect().await?;
                let store: Arc<dyn Store> = Arc::new(store);
                let mut upkeep = JoinSet::new();
                if let Some(AutoCompaction::Periodic(interval)) = kept.compaction {
                    let history = Arc::clone(&store);
                    let compaction = move || coracle_storage::compact_together(Arc::clone(&history), interval);
                    upkeep.spawn(tasks.among("compaction", compaction));
                }
                Ok(OpenStore { store, kind: Kind::Remote, upkeep })
            }
            #[cfg(not(feature = "etcd"))]
            Self::Etcd(_) => Err(Error::Options("this build cannot reach an etcd (feature `etcd`)".to_owned())),
        }
    }
}

#[cfg(feature = "etcd")]
impl EtcdServers {
    /// Connects to these endpoints.
    ///
    /// # Errors
    /// If no endpoint responds.
    pub async fn connect(&self) -> Result<coracle_etcd::EtcdStore, Error> {
        Ok(coracle_etcd::EtcdStore::connect(self.options()).await?)
    }

    fn options(&self) -> coracle_etcd::Options {
        let Self { urls, authority, certificate, key } = self.clone();
        let tls = coracle_etcd::Tls { ca: authority, certificate, key };
        coracle_etcd::Options { endpoints: urls, tls: Some(tls) }
    }
}

/// The maintenance tasks of an engine.
fn upkeep(engine: &Engine, kept: StoreOptions, tasks: &Tasks) -> JoinSet<()> {
    let mut upkeep = JoinSet::new();
    let leases = engine.clone();
    upkeep.spawn(tasks.among("lease expiry", move || {
        let leases = leases.clone();
        async move { leases.expire_leases().await }
    }));
    if let Some(limit) = kept.history_limit {
        let history = engine.clone();
        upkeep.spawn(tasks.among("history bound", move || {
            let history = history.clone();
            async move { history.bound_history(limit).await }
        }));
    }
    if let Some(policy) = kept.compaction {
        let history = engine.clone();
        upkeep.spawn(tasks.among("compaction", move || {
            let history = history.clone();
            async move { history.auto_compact(policy).await }
        }));
    }
    upkeep
}

impl OpenStore {
    fn of(engine: Engine, kept: StoreOptions, tasks: &Tasks) -> Self {
        let upkeep = upkeep(&engine, kept, tasks);
        Self { store: Arc::new(engine.clone()), kind: Kind::Engine(engine), upkeep }
    }

    /// Whether other processes may write to it.
    pub fn is_shared(&self) -> bool {
        match self.kind {
            Kind::Engine(_) | Kind::Restartable(_) => false,
            #[cfg(feature = "etcd")]
            Kind::Remote => true,
        }
    }

    /// The store, if it can be killed.
    pub(crate) fn restartable(&self) -> Option<&Restartable> {
        match &self.kind {
            Kind::Restartable(store) => Some(store),
            _ => None,
        }
    }

    /// The content with its history, for another store; `None` if the store is not in the memory of this process.
    ///
    /// # Errors
    /// If the content cannot be copied.
    pub fn content(&self) -> Option<Result<StoreContent, coracle_store::Error>> {
        self.restartable().map(Restartable::content)
    }

    /// Stops the store's tasks and releases its folder.
    pub async fn close(mut self) {
        self.upkeep.shutdown().await;
        if let Kind::Engine(engine) = self.kind {
            engine.close();
            engine.closed().await;
        }
    }
}
