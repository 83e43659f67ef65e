use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers the nodes that would have most cpu and memory left. In Kubernetes: `LeastAllocated`.
pub(super) struct NodeResourcesFit;

impl Score for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn weight(&self) -> i64 {
        1
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let left = |node: &&NodeInfo| {
            let (has, used, wants) = (&node.allocatable, &node.assumed, &pod.assumed);
            let parts = [(has.milli_cpu, used.milli_cpu + wants.milli_cpu), (has.memory, used.memory + wants.memory)];
            let known = parts.iter().filter(|(has, _)| *has > 0);
            let shares: Vec<i64> = known.map(|(has, use_)| (has - use_).max(0) * MAX_SCORE / has).collect();
            if shares.is_empty() { 0 } else { shares.iter().sum::<i64>() / shares.len() as i64 }
        };
        Some(nodes.iter().map(left).collect())
    }
}
