//! The score plug-ins, one per file; a node's total is the sum of each score times its weight.

pub(crate) mod balanced_allocation;
pub(crate) mod dynamic_resources;
pub(crate) mod image_locality;
pub(crate) mod inter_pod_affinity;
pub(crate) mod node_affinity;
pub(crate) mod node_resources_fit;
pub(crate) mod pod_topology_spread;
pub(crate) mod taint_toleration;
pub(crate) mod volume_binding;

use crate::framework::MAX_SCORE;

/// Scales scores so that the highest is [`MAX_SCORE`]. In Kubernetes: `DefaultNormalizeScore`.
fn normalize(scores: &mut [i64], reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        let scaled = if highest == 0 { 0 } else { *score * MAX_SCORE / highest };
        *score = if reverse { MAX_SCORE - scaled } else { scaled };
    }
}
