//! Keeps an annotation on each node: how long its kubelet may cache Secrets and ConfigMaps.
//!
//! Watches nodes. In Kubernetes: `pkg/controller/ttl`.

use coracle_api::core_v1::Node;
use coracle_client::Patch;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::Config;

/// The annotation. Its value is in seconds.
const TTL: &str = "node.alpha.kubernetes.io/ttl";

/// The first and the last number of nodes, and the seconds. Ranges overlap, so that the value does not flap.
const STEPS: [(usize, usize, u32); 5] =
    [(0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, usize::MAX, 300)];

/// Starts the controller of that annotation.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let nodes = process.informers.informer::<Node>();
    let controller = Controller::new(process, "ttl", NodeTtl { nodes: nodes.lister() })
        .client(config.client(process))
        .watches(&nodes, key_of)
        .workers(5);
    Box::pin(controller.run())
}

struct NodeTtl {
    nodes: Lister<Node>,
}

impl Reconciler for NodeTtl {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(node) = self.nodes.get(key) else { return pass.gone() };
        let current = node.metadata.annotations.get(TTL).and_then(|seconds| seconds.parse().ok());
        let wanted = ttl(self.nodes.len(), current);
        if current == Some(wanted) {
            return pass.done(|| format!("{} nodes, and it says {wanted} seconds: nothing to do", self.nodes.len()));
        }
        pass.decided(|| format!("{} nodes: {wanted} seconds", self.nodes.len()));
        let patch = json!({"metadata": {"annotations": {TTL: wanted.to_string()}}});
        unless_gone(pass.api::<Node>().patch(key, &Patch::Strategic(patch)).await)?;
        Ok(Action::Done)
    }
}

/// The seconds for a cluster of this many nodes. The current value stays while it is in range.
fn ttl(nodes: usize, current: Option<u32>) -> u32 {
    let keeps = STEPS.iter().any(|(from, to, seconds)| Some(*seconds) == current && (*from..=*to).contains(&nodes));
    match current.filter(|_| keeps) {
        Some(current) => current,
        None => STEPS.iter().find(|(_, to, _)| nodes <= *to).map_or(300, |(_, _, seconds)| *seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_mean_longer_and_the_border_does_not_flap() {
        assert_eq!([1, 100, 101, 600, 1500, 5000].map(|nodes| ttl(nodes, None)), [0, 0, 15, 30, 60, 300]);
        assert_eq!(ttl(95, Some(15)), 15);
        assert_eq!(ttl(89, Some(15)), 0);
    }
}
