use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers the nodes whose cpu and memory would be used to the same degree.
pub(super) struct BalancedAllocation;

impl Score for BalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    fn weight(&self) -> i64 {
        1
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        if pod.requests.milli_cpu == 0 && pod.requests.memory == 0 {
            return None;
        }
        let balance = |node: &&NodeInfo| {
            let (has, used, wants) = (&node.allocatable, &node.requested, &pod.requests);
            let part = |has: i64, use_: i64| (has > 0).then(|| (use_ as f64 / has as f64).min(1.0));
            let cpu = part(has.milli_cpu, used.milli_cpu + wants.milli_cpu);
            let memory = part(has.memory, used.memory + wants.memory);
            let deviation = cpu.zip(memory).map_or(0.0, |(cpu, memory)| (cpu - memory).abs() / 2.0);
            ((1.0 - deviation) * MAX_SCORE as f64) as i64
        };
        Some(nodes.iter().map(balance).collect())
    }
}
