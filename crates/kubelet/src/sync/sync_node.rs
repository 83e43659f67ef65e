//! One sync of a node: its static pod manifests, and its pressure.

use coracle_controller_runtime::{Action, Pass, ReconcileError};

use crate::eviction::eviction_manager::EvictionManager;
use crate::node::agent::Agent;
use crate::node::pod_key::PodKey;
use crate::sync::pod_workers::PodWorkers;

impl PodWorkers {
    /// Reads the static pod manifests if that is due, and runs the eviction manager.
    pub(crate) async fn sync_node(&self, node: &Agent, pass: &Pass) -> Result<Action, ReconcileError> {
        pass.decided(|| "look at the node: what it is short of, and which pods its files ask for");
        let next_read = self.look_at_manifests(node, pass);
        let now = self.clock.now();
        let eviction_manager = EvictionManager { agent: node, nodes: &self.node_objects, queue: &self.queue, now };
        Ok(match (eviction_manager.synchronize(pass).await?, next_read) {
            (Action::Done, Some(next_read)) => Action::RequeueAfter(next_read),
            (Action::RequeueAfter(left), Some(next_read)) => Action::RequeueAfter(left.min(next_read)),
            (action, _) => action,
        })
    }

    /// Enqueues the node if it may be short of a resource: annotations set the usage of one of its pods, or it has a
    /// pressure already.
    pub(crate) fn enqueue_node(&self, node: &Agent, may_be_short: bool) {
        if may_be_short || !node.machine.shortage.is_at_rest() {
            self.queue.add(PodKey::of_node(&node.name), &[]);
        }
    }
}
