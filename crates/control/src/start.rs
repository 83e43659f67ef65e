use std::net::SocketAddr;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_cluster::{Cluster, KeptStore, SavedNodes, Transport};
use coracle_journal::Recorder;
use coracle_scenario::RunningFaults;
use futures_util::future::BoxFuture;

use crate::{ClusterTime, Error};

/// What a cluster starts with.
pub struct Start {
    /// The content of its store; `None` for a new one.
    pub kept: Option<KeptStore>,
    /// The state of its nodes.
    pub nodes: Option<SavedNodes>,
    /// Its clock and randomness.
    pub ambient: Ambient,
    /// Its event log.
    pub recorder: Recorder,
    /// Its time, for its calls to other processes.
    pub time: ClusterTime,
}

/// A cluster that has started.
pub struct Started {
    /// The cluster.
    pub cluster: Cluster,
    /// Its faults.
    pub faults: RunningFaults,
    /// Its API, with the paths that the program adds to it.
    pub front: Transport,
}

/// Starts clusters with the options of a server. It is called on the runtime of the cluster.
pub type Launcher = Arc<dyn Fn(Start) -> BoxFuture<'static, Result<Started, Error>> + Send + Sync>;

/// A listener of a fork.
pub struct Listening {
    /// Its address.
    pub address: SocketAddr,
    /// A kubeconfig for it.
    pub kubeconfig: String,
    /// Serves the requests until it is dropped.
    pub serving: BoxFuture<'static, ()>,
}
