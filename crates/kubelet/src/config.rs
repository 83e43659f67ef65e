use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::stages::Programme;
use crate::static_pods::ManifestFolder;

/// How long the things take that a real node would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Pulling images and making the sandbox.
    pub sandbox: Duration,
    /// Starting the containers.
    pub start: Duration,
    /// One init container's run.
    pub init: Duration,
    /// Becoming ready, beyond what readiness probes ask for.
    pub ready: Duration,
    /// Stopping, for containers that heed the request.
    pub stop: Duration,
}

impl Delays {
    /// Everything happens at once.
    pub fn zero() -> Self {
        Self {
            sandbox: Duration::ZERO,
            start: Duration::ZERO,
            init: Duration::ZERO,
            ready: Duration::ZERO,
            stop: Duration::ZERO,
        }
    }
}

impl Default for Delays {
    /// About what a node with its images at hand takes.
    fn default() -> Self {
        Self {
            sandbox: Duration::from_millis(300),
            start: Duration::from_millis(200),
            init: Duration::from_millis(500),
            ready: Duration::from_millis(200),
            stop: Duration::from_millis(500),
        }
    }
}

/// A node that is to be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Labels beside those that every node has.
    pub labels: BTreeMap<String, String>,
    /// Taints that it registers with: key, value, effect.
    pub taints: Vec<(String, String, String)>,
    /// What it has: `cpu`, `memory`, `pods`, `ephemeral-storage` and others, as quantities.
    pub capacity: BTreeMap<String, String>,
    /// Whether it reads through informers of its own, as itself, and not through those that nodes share: for a node
    /// between which and the API something is to happen that shall not touch the others.
    pub own_informers: bool,
    /// Where the manifests of its static pods are, if it has any. In Kubernetes: `staticPodPath`.
    pub static_pods: Option<ManifestFolder>,
}

impl NodeSpec {
    /// A node of 8 cores and 32 GiB that takes 110 pods.
    pub fn new(name: impl Into<String>) -> Self {
        let capacity = [("cpu", "8"), ("memory", "32Gi"), ("ephemeral-storage", "100Gi"), ("pods", "110")];
        Self {
            name: name.into(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            capacity: capacity.map(|(name, amount)| (name.to_owned(), amount.to_owned())).into(),
            own_informers: false,
            static_pods: None,
        }
    }

    /// With informers of its own.
    #[must_use]
    pub fn with_own_informers(mut self) -> Self {
        self.own_informers = true;
        self
    }

    /// With static pods of these manifests.
    #[must_use]
    pub fn with_static_pods(mut self, folder: ManifestFolder) -> Self {
        self.static_pods = Some(folder);
        self
    }

    /// With another label.
    #[must_use]
    pub fn with_label(mut self, name: &str, value: &str) -> Self {
        self.labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With another amount of something.
    #[must_use]
    pub fn with_capacity(mut self, name: &str, amount: &str) -> Self {
        self.capacity.insert(name.to_owned(), amount.to_owned());
        self
    }
}

/// What a process that simulates nodes is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The nodes.
    pub nodes: Vec<NodeSpec>,
    /// How long things take.
    pub delays: Delays,
    /// The Stages by which nodes and pods live, if they live by any. A [`Player`](crate::stages::Player) plays them.
    pub stages: Option<Arc<Programme>>,
    /// How often a node renews its Lease. In Kubernetes: a quarter of `nodeLeaseDurationSeconds`.
    pub lease_renewal: Duration,
    /// For how long a Lease speaks.
    pub lease_duration: Duration,
    /// How often a node reports its status if nothing changes. In Kubernetes: `nodeStatusReportFrequency`.
    pub status_report: Duration,
    /// Whether the simulated CSI driver has its part on each node.
    pub csi_driver: bool,
    /// Where other processes find the API of all these nodes: the Nodes post it as their `ExternalIP` and the port of
    /// their `daemonEndpoints`. None where nodes and API server are one process.
    pub endpoint: Option<SocketAddr>,
}

impl Config {
    /// Whether objects of this kind live by Stages.
    pub(crate) fn plays(&self, kind: &str) -> bool {
        self.stages.as_ref().is_some_and(|stages| stages.plays(kind))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            delays: Delays::default(),
            stages: None,
            lease_renewal: Duration::from_secs(10),
            lease_duration: Duration::from_secs(40),
            status_report: Duration::from_secs(300),
            csi_driver: false,
            endpoint: None,
        }
    }
}
