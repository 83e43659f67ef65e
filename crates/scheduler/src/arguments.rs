//! The arguments of plug-ins; the defaults are Kubernetes'.

use std::collections::BTreeSet;
use std::time::Duration;

use coracle_api::NodeTerm;

use crate::pod_info::SpreadConstraint;
use crate::resources::ResourceName;

/// The arguments of all plug-ins of a profile. In Kubernetes: `pluginConfig`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) fit: FitArguments,
    pub(crate) balanced: BalancedArguments,
    pub(crate) node_affinity: AddedAffinity,
    pub(crate) spread: SpreadDefaults,
    pub(crate) pod_affinity: PodAffinityArguments,
    pub(crate) preemption: PreemptionArguments,
    pub(crate) volume_binding: VolumeBindingArguments,
}

/// In Kubernetes: `NodeResourcesFitArgs`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FitArguments {
    /// Extended resources that another component manages.
    pub(crate) ignored: BTreeSet<String>,
    /// And groups of those: the prefixes before the slash.
    pub(crate) ignored_groups: BTreeSet<String>,
    pub(crate) strategy: ScoringStrategy,
    /// The resources that are compared, with weights.
    pub(crate) resources: Vec<(ResourceName, i64)>,
}

/// How nodes are ranked by their utilization. In Kubernetes: `ScoringStrategy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScoringStrategy {
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio(Shape),
}

/// Scores from 0 to 100 by utilization in percent, interpolated linearly between points. In Kubernetes:
/// `FunctionShape`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<(i64, i64)>);

impl Shape {
    /// In Kubernetes: `BuildBrokenLinearFunction`.
    pub(crate) fn at(&self, utilization: i64) -> i64 {
        let mut before: Option<(i64, i64)> = None;
        for (at, score) in &self.0 {
            if utilization <= *at {
                return before.map_or(*score, |(from, low)| low + (score - low) * (utilization - from) / (at - from));
            }
            before = Some((*at, *score));
        }
        before.map_or(0, |(_, score)| score)
    }
}

impl Default for FitArguments {
    fn default() -> Self {
        Self {
            ignored: BTreeSet::new(),
            ignored_groups: BTreeSet::new(),
            strategy: ScoringStrategy::LeastAllocated,
            resources: vec![(ResourceName::Cpu, 1), (ResourceName::Memory, 1)],
        }
    }
}

/// In Kubernetes: `NodeResourcesBalancedAllocationArgs`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BalancedArguments {
    pub(crate) resources: Vec<ResourceName>,
}

impl Default for BalancedArguments {
    fn default() -> Self {
        Self { resources: vec![ResourceName::Cpu, ResourceName::Memory] }
    }
}

/// In Kubernetes: `NodeAffinityArgs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AddedAffinity {
    pub(crate) required: Option<Vec<NodeTerm>>,
    pub(crate) preferred: Vec<(i64, NodeTerm)>,
}

/// The spread constraints of pods without any. In Kubernetes: `PodTopologySpreadArgs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum SpreadDefaults {
    /// By host and zone, as preferences.
    #[default]
    System,
    /// These constraints; the selectors are those of the pod's owner and services.
    List(Vec<SpreadConstraint>),
}

/// In Kubernetes: `InterPodAffinityArgs`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PodAffinityArguments {
    /// The weight of an existing pod's required affinity towards the scheduled pod.
    pub(crate) hard_weight: i64,
    /// Whether preferences of existing pods are ignored for a pod without preferences of its own.
    pub(crate) ignores_preferred: bool,
}

impl Default for PodAffinityArguments {
    fn default() -> Self {
        Self { hard_weight: 1, ignores_preferred: false }
    }
}

/// How many candidate nodes are enough to choose from. In Kubernetes: `DefaultPreemptionArgs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreemptionArguments {
    /// As a percentage of the nodes where preemption may help.
    pub(crate) percentage: usize,
    /// The minimum number.
    pub(crate) absolute: usize,
}

impl Default for PreemptionArguments {
    fn default() -> Self {
        Self { percentage: 10, absolute: 100 }
    }
}

/// In Kubernetes: `VolumeBindingArgs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeBindingArguments {
    /// How long a pod waits until its claims are bound.
    pub(crate) timeout: Duration,
}

impl Default for VolumeBindingArguments {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(600) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_straight_between_its_points_and_level_outside() {
        let shape = Shape(vec![(20, 0), (70, 100), (100, 40)]);
        let scores = [0, 20, 45, 70, 85, 100, 120].map(|at| shape.at(at));
        assert_eq!(scores, [0, 0, 50, 100, 70, 40, 40]);
    }
}
