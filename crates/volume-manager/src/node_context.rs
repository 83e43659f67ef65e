use std::time::Duration;

use coracle_api::core_v1::{Node, Pod, Volume};
use coracle_client::Client;
use coracle_controller_runtime::{EventRecorder, Pass};
use coracle_informer::Lister;
use coracle_journal::Recorder;
use coracle_kubelet_api::DriversStore;

/// What a pass over a pod can use of its node.
pub struct NodeContext<'s> {
    /// The name of the node.
    pub node: &'s str,
    /// The actor in the event log.
    pub actor: &'s str,
    /// The pass, whose client speaks for the node.
    pub pass: &'s Pass,
    /// The Nodes of the cluster, from a cache.
    pub nodes: &'s Lister<Node>,
    /// Records events about pods and claims.
    pub events: &'s EventRecorder,
    /// The event log.
    pub recorder: &'s Recorder,
    /// What a volume of the pod lacks that the node creates from ConfigMaps and Secrets, in the words of the kubelet.
    pub lacks: &'s (dyn Fn(&Volume) -> Option<String> + Sync),
    /// The CSI drivers that are registered on the node.
    pub drivers: &'s DriversStore,
}

impl NodeContext<'_> {
    pub(crate) fn client(&self) -> &Client {
        self.pass.client()
    }
}

/// What the volumes of a pod must become.
#[derive(Clone, Copy, Debug)]
pub enum VolumeGoal<'p> {
    /// Mounted. In Kubernetes: `WaitForAttachAndMount`.
    Mounted(&'p Pod),
    /// Unmounted for this pod; none if its object is gone. In Kubernetes: `WaitForUnmount`.
    Unmounted(Option<&'p Pod>),
}

/// The progress of a pod's volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether the goal is reached.
    pub is_done: bool,
    /// When to retry, at the latest.
    pub again: Option<Duration>,
}
