use std::time::Duration;

use coracle_api::core_v1::{Node, Pod};
use coracle_client::Client;
use coracle_controller_runtime::{EventRecorder, Pass};
use coracle_informer::Lister;
use coracle_journal::Recorder;

use crate::sources::Sources;

/// What a pass over a pod can use of its node.
pub(crate) struct NodeContext<'s> {
    pub(crate) node: &'s str,
    /// The actor in the event log.
    pub(crate) actor: &'s str,
    pub(crate) pass: &'s Pass,
    pub(crate) nodes: &'s Lister<Node>,
    pub(crate) events: &'s EventRecorder,
    pub(crate) recorder: &'s Recorder,
    /// The ConfigMaps and Secrets of the pod, if they were fetched.
    pub(crate) sources: &'s Sources,
    /// Whether the simulated CSI driver runs on this node.
    pub(crate) has_csi_driver: bool,
}

impl NodeContext<'_> {
    pub(super) fn client(&self) -> &Client {
        self.pass.client()
    }
}

/// What the volumes of a pod must become.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VolumeGoal<'p> {
    /// Mounted. In Kubernetes: `WaitForAttachAndMount`.
    Mounted(&'p Pod),
    /// Unmounted for this pod; none if its object is gone. In Kubernetes: `WaitForUnmount`.
    Unmounted(Option<&'p Pod>),
}

/// The progress of a pod's volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the goal is reached.
    pub(crate) is_done: bool,
    /// When to retry, at the latest.
    pub(crate) again: Option<Duration>,
}
