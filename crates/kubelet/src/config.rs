use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use coracle_kubelet_api::{DriversStore, StagedKinds};
use coracle_release::Release;

use crate::images::Images;
use crate::static_pods::ManifestFolder;

/// How long the actions of a node take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Pulling images and creating the sandbox.
    pub sandbox: Duration,
    /// Starting the containers.
    pub start: Duration,
    /// One init container's run.
    pub init: Duration,
    /// Becoming ready, in addition to the time that readiness probes need.
    pub ready: Duration,
    /// Stopping, for containers that react to SIGTERM.
    pub stop: Duration,
}

impl Delays {
    /// All actions take no time.
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
    /// About as long as on a node that has the images already.
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

/// A simulated node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Labels in addition to those that every node has.
    pub labels: BTreeMap<String, String>,
    /// Taints that the node registers with: key, value, effect.
    pub taints: Vec<(String, String, String)>,
    /// Its capacity: `cpu`, `memory`, `pods`, `ephemeral-storage` and other resources, as quantities.
    pub capacity: BTreeMap<String, String>,
    /// Whether the node uses informers of its own, with its own identity, instead of the informers that nodes share.
    /// Needed for a node whose connection to the API is disturbed while the connections of other nodes are not.
    pub own_informers: bool,
    /// The manifests of its static pods, if it has any. In Kubernetes: `staticPodPath`.
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

    /// Gives the node informers of its own.
    #[must_use]
    pub fn with_own_informers(mut self) -> Self {
        self.own_informers = true;
        self
    }

    /// Gives the node static pods with these manifests.
    #[must_use]
    pub fn with_static_pods(mut self, folder: ManifestFolder) -> Self {
        self.static_pods = Some(folder);
        self
    }

    /// Sets a label.
    #[must_use]
    pub fn with_label(mut self, name: &str, value: &str) -> Self {
        self.labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the capacity of a resource.
    #[must_use]
    pub fn with_capacity(mut self, name: &str, amount: &str) -> Self {
        self.capacity.insert(name.to_owned(), amount.to_owned());
        self
    }
}

/// The configuration of the kubelets of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The release, with switched feature gates.
    pub release: Release,
    /// The nodes.
    pub nodes: Vec<NodeSpec>,
    /// The names of nodes that use informers of their own, in addition to those whose
    /// [`NodeSpec`](NodeSpec::own_informers) says so.
    pub own_informers: BTreeSet<String>,
    /// How long things take.
    pub delays: Delays,
    /// The images that nodes pull, and what their programs do.
    pub images: Images,
    /// The Stages that set the status of nodes and pods, if there are any. The caller runs them.
    pub stages: Option<Arc<dyn StagedKinds>>,
    /// How often a node renews its Lease. In Kubernetes: a quarter of `nodeLeaseDurationSeconds`.
    pub lease_renewal: Duration,
    /// How long a Lease is valid.
    pub lease_duration: Duration,
    /// How often a node reports its status if it does not change. In Kubernetes: `nodeStatusReportFrequency`.
    pub status_report: Duration,
    /// The CSI drivers that run on each node.
    pub csi_drivers: DriversStore,
    /// The address at which other processes reach the kubelet API of all these nodes. Each Node publishes it as its
    /// `ExternalIP` and as the port in its `daemonEndpoints`. None if the nodes and the API server share one process.
    pub endpoint: Option<SocketAddr>,
}

impl Config {
    /// The user agent of the kubelets.
    pub(crate) fn user_agent(&self) -> String {
        format!("kubelet/{}", self.release.git_version())
    }

    /// Whether Stages define the lifecycle of this kind of object.
    pub(crate) fn has_stages_for(&self, kind: &str) -> bool {
        self.stages.as_ref().is_some_and(|stages| stages.has_stages_for(kind))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            release: Release::default(),
            nodes: Vec::new(),
            own_informers: BTreeSet::new(),
            delays: Delays::default(),
            images: Images::default(),
            stages: None,
            lease_renewal: Duration::from_secs(10),
            lease_duration: Duration::from_secs(40),
            status_report: Duration::from_secs(300),
            csi_drivers: DriversStore::default(),
            endpoint: None,
        }
    }
}
