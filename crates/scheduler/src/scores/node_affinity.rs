use super::normalize;
use crate::arguments::{AddedAffinity, Arguments};
use crate::framework::Score;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers nodes that match the pod's preferred node affinity, or the configuration's added affinity.
#[derive(Debug)]
struct NodeAffinity(AddedAffinity);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Score> {
    Box::new(NodeAffinity(arguments.node_affinity.clone()))
}

impl Score for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        if pod.preferred_nodes.is_empty() && self.0.preferred.is_empty() {
            return None;
        }
        let liked = |node: &&NodeInfo| {
            let terms = self.0.preferred.iter().chain(&pod.preferred_nodes);
            terms.filter(|(_, term)| term.matches(&node.name, &node.labels)).map(|(weight, _)| weight).sum()
        };
        let mut scores: Vec<i64> = nodes.iter().map(liked).collect();
        normalize(&mut scores, false);
        Some(scores)
    }
}
