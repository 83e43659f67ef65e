//! The scores, a file each; a node's total is the sum of each score times its weight.

mod balanced_allocation;
mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_resources_fit;
mod pod_topology_spread;
mod taint_toleration;

use crate::framework::{MAX_SCORE, Score};

/// All scores. Adding one is a file and a line here.
pub const SCORES: &[&dyn Score] = &[
    &taint_toleration::TaintToleration,
    &node_affinity::NodeAffinity,
    &node_resources_fit::NodeResourcesFit,
    &pod_topology_spread::PodTopologySpread,
    &inter_pod_affinity::InterPodAffinity,
    &balanced_allocation::BalancedAllocation,
    &image_locality::ImageLocality,
];

/// Scales scores so that the highest is [`MAX_SCORE`]. In Kubernetes: `DefaultNormalizeScore`.
fn normalize(scores: &mut [i64], reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        let scaled = if highest == 0 { 0 } else { *score * MAX_SCORE / highest };
        *score = if reverse { MAX_SCORE - scaled } else { scaled };
    }
}
