use super::normalize;
use crate::framework::Score;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers the nodes that the pod prefers.
pub(super) struct NodeAffinity;

impl Score for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn weight(&self) -> i64 {
        2
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        if pod.preferred_nodes.is_empty() {
            return None;
        }
        let liked = |node: &&NodeInfo| {
            pod.preferred_nodes.iter().filter(|(_, term)| term.matches(node)).map(|(weight, _)| weight).sum()
        };
        let mut scores: Vec<i64> = nodes.iter().map(liked).collect();
        normalize(&mut scores, false);
        Some(scores)
    }
}
