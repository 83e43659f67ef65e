//! The usage of a node and its pods, for callers in this process.

use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;
use coracle_node_usage::{Meters, NodeReading, PodReading};

use crate::server::node_server::NodeApi;

impl NodeApi {
    fn meters(&self) -> &Meters {
        &self.machine.meters
    }

    /// The usage of the node at a moment that is at most a minute in the past; none before its meters were started.
    pub fn used(&self, at: Timestamp) -> Option<NodeReading> {
        self.meters().read(at)
    }

    /// The usage of one of its pods at a moment that is at most a minute in the past; none if no container of it ran
    /// then.
    pub fn used_by(&self, pod: &ObjectKey, at: Timestamp) -> Option<PodReading> {
        self.meters().read_pod(pod, at)
    }
}
