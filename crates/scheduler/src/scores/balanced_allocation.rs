use crate::arguments::{Arguments, BalancedArguments};
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers nodes whose resources, CPU and memory by default, would have similar utilization.
#[derive(Debug)]
struct BalancedAllocation(BalancedArguments);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Score> {
    Box::new(BalancedAllocation(arguments.balanced.clone()))
}

impl Score for BalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let wants: Vec<_> = self.0.resources.iter().map(|name| (name, pod.requests.amount(name))).collect();
        if wants.iter().all(|(_, amount)| *amount == 0) {
            return None;
        }
        let mut parts = Vec::new();
        let balance = |node: &&NodeInfo| {
            parts.clear();
            for (name, wants) in &wants {
                let has = node.allocatable.amount(name);
                // Extended resources count only for pods that request them.
                if has != 0 && (*wants > 0 || !name.is_scalar()) {
                    parts.push((node.requested.amount(name).saturating_add(*wants) as f64 / has as f64).min(1.0));
                }
            }
            ((1.0 - deviation(&parts)) * MAX_SCORE as f64) as i64
        };
        Some(nodes.iter().map(balance).collect())
    }
}

fn deviation(parts: &[f64]) -> f64 {
    match parts {
        [] | [_] => 0.0,
        [one, other] => ((one - other) / 2.0).abs(),
        several => {
            let mean = several.iter().sum::<f64>() / several.len() as f64;
            let squares: f64 = several.iter().map(|part| (part - mean) * (part - mean)).sum();
            (squares / several.len() as f64).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Resources;

    #[test]
    fn even_use_scores_highest() {
        let resources = |milli_cpu, memory| Resources { milli_cpu, memory, ..Resources::default() };
        let pod = PodInfo { requests: resources(500, 500), ..PodInfo::default() };
        let node = |used| NodeInfo { allocatable: resources(1000, 1000), requested: used, ..NodeInfo::default() };
        let nodes = [node(resources(0, 0)), node(resources(500, 0))];
        let nodes: Vec<_> = nodes.iter().collect();
        let scores = make(&Arguments::default()).score(&pod, &Snapshot::default(), &nodes);
        assert_eq!(scores, Some(vec![100, 75]));
        assert!((deviation(&[0.0, 0.5, 1.0]) - 0.408).abs() < 0.001);
    }
}
