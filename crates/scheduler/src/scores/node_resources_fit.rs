use crate::arguments::{Arguments, FitArguments, ScoringStrategy};
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::resources::ResourceName;
use crate::snapshot::Snapshot;

/// Prefers the least utilized nodes by default, or the most utilized ones, or by a shape.
#[derive(Debug)]
struct NodeResourcesFit(FitArguments);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Score> {
    Box::new(NodeResourcesFit(arguments.fit.clone()))
}

impl Score for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let resources = self.0.resources.iter();
        let wants: Vec<_> = resources.map(|(name, weight)| (name, *weight, pod.assumed.amount(name))).collect();
        Some(nodes.iter().map(|node| self.one(&wants, node)).collect())
    }
}

impl NodeResourcesFit {
    fn one(&self, wants: &[(&ResourceName, i64, i64)], node: &NodeInfo) -> i64 {
        let (mut sum, mut weights) = (0, 0);
        for (name, weight, wants) in wants {
            let has = node.allocatable.amount(name);
            // Extended resources count only for pods that request them.
            if has == 0 || (*wants == 0 && name.is_scalar()) {
                continue;
            }
            let score = self.0.strategy.score(node.assumed.amount(name).saturating_add(*wants), has);
            if score > 0 || !matches!(self.0.strategy, ScoringStrategy::RequestedToCapacityRatio(_)) {
                sum += score * weight;
                weights += weight;
            }
        }
        match (&self.0.strategy, weights) {
            (_, 0) => 0,
            (ScoringStrategy::RequestedToCapacityRatio(_), weights) => (sum as f64 / weights as f64).round() as i64,
            (_, weights) => sum / weights,
        }
    }
}

impl ScoringStrategy {
    /// The score of one resource.
    fn score(&self, used: i64, has: i64) -> i64 {
        match self {
            Self::LeastAllocated => has.saturating_sub(used).clamp(0, has) * MAX_SCORE / has,
            Self::MostAllocated => used.clamp(0, has) * MAX_SCORE / has,
            Self::RequestedToCapacityRatio(shape) => shape.at(if used > has { 100 } else { used.max(0) * 100 / has }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Shape;
    use crate::resources::Resources;

    fn scores(strategy: ScoringStrategy) -> Vec<i64> {
        let resources = |milli_cpu, memory| Resources { milli_cpu, memory, ..Resources::default() };
        let pod = PodInfo { assumed: resources(100, 100), ..PodInfo::default() };
        let node = |used| NodeInfo { allocatable: resources(1000, 1000), assumed: used, ..NodeInfo::default() };
        let nodes = [node(resources(0, 0)), node(resources(400, 900)), node(resources(1000, 0))];
        let resources = vec![(ResourceName::Cpu, 3), (ResourceName::Memory, 1)];
        let fit = FitArguments { strategy, resources, ..FitArguments::default() };
        NodeResourcesFit(fit).score(&pod, &Snapshot::default(), &nodes.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn each_strategy_ranks_as_it_says() {
        assert_eq!(scores(ScoringStrategy::LeastAllocated), [90, 37, 22]);
        assert_eq!(scores(ScoringStrategy::MostAllocated), [10, 62, 77]);
        let fuller = Shape(vec![(0, 0), (100, 100)]);
        assert_eq!(scores(ScoringStrategy::RequestedToCapacityRatio(fuller)), [10, 63, 78]);
    }
}
