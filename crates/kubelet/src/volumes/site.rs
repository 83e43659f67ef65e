use std::time::Duration;

use coracle_api::core_v1::{Node, Pod};
use coracle_client::Client;
use coracle_controller_runtime::{EventRecorder, Pass};
use coracle_informer::Lister;
use coracle_journal::Recorder;

use crate::sources::Sources;

/// What a pass over a pod has at hand.
pub(crate) struct Site<'s> {
    pub(crate) node: &'s str,
    /// The name in the event log.
    pub(crate) actor: &'s str,
    pub(crate) pass: &'s Pass,
    pub(crate) nodes: &'s Lister<Node>,
    pub(crate) events: &'s EventRecorder,
    pub(crate) recorder: &'s Recorder,
    /// The ConfigMaps and Secrets of the pod, if they were asked for.
    pub(crate) sources: &'s Sources,
    /// Whether the simulated driver is on this node.
    pub(crate) has_csi_driver: bool,
}

impl Site<'_> {
    pub(super) fn client(&self) -> &Client {
        self.pass.client()
    }
}

/// What is wanted of a pod's volumes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wish<'p> {
    /// They are to be mounted. In Kubernetes: `WaitForAttachAndMount`.
    Mounted(&'p Pod),
    /// None is to be mounted for the pod any more; none if its object is gone. In Kubernetes: `WaitForUnmount`.
    Unmounted(Option<&'p Pod>),
}

/// How far a pod's volumes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether what was wanted is so.
    pub(crate) is_done: bool,
    /// When to come again, at the latest.
    pub(crate) again: Option<Duration>,
}
