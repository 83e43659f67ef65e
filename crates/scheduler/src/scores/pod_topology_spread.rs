use std::collections::BTreeMap;
use std::sync::Arc;

use crate::filters::counts_node;
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::{PodInfo, SpreadConstraint};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Prefers the domains with fewer pods of the same kind; without constraints, by host and zone among the pods of the
/// same owner and services.
pub(super) struct PodTopologySpread;

fn constraints(pod: &PodInfo) -> Vec<SpreadConstraint> {
    if pod.names_spread {
        return pod.spread.iter().filter(|constraint| !constraint.required).cloned().collect();
    }
    let Some(selector) = &pod.siblings else { return Vec::new() };
    let preferred = |topology_key: &str, max_skew| SpreadConstraint {
        max_skew,
        topology_key: topology_key.to_owned(),
        required: false,
        selector: selector.clone(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    };
    vec![preferred(HOSTNAME, 3), preferred(ZONE, 5)]
}

fn matching(constraint: &SpreadConstraint, pod: &PodInfo, node: &NodeInfo) -> i64 {
    let counts = |other: &&Arc<PodInfo>| {
        !other.terminating && other.key.namespace == pod.key.namespace && constraint.selector.matches(&other.labels)
    };
    node.pods.values().filter(counts).count() as i64
}

impl Score for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn weight(&self) -> i64 {
        2
    }

    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[Arc<NodeInfo>]) -> Option<Vec<i64>> {
        let constraints = constraints(pod);
        if constraints.is_empty() {
            return None;
        }
        let labelled = |node: &NodeInfo| {
            !pod.names_spread || constraints.iter().all(|constraint| node.labels.contains_key(&constraint.topology_key))
        };
        let candidates: Vec<&Arc<NodeInfo>> = nodes.iter().filter(|node| labelled(node)).collect();
        let mut totals = vec![0.0; nodes.len()];
        for constraint in &constraints {
            let domain = |node: &NodeInfo| node.labels.get(&constraint.topology_key).cloned();
            let by_host = constraint.topology_key == HOSTNAME;
            let mut counts: BTreeMap<String, i64> =
                candidates.iter().map(|node| (domain(node).unwrap_or_default(), 0)).collect();
            let size = if by_host { candidates.len() } else { counts.len() };
            for node in snapshot.nodes.values().filter(|node| labelled(node) && counts_node(constraint, pod, node)) {
                if let Some(count) = counts.get_mut(&domain(node).unwrap_or_default()) {
                    *count += matching(constraint, pod, node);
                }
            }
            // With more domains each pod more in one of them weighs more.
            let weight = ((size + 2) as f64).ln();
            for (node, total) in nodes.iter().zip(&mut totals) {
                if let Some(domain) = domain(node).filter(|_| labelled(node)) {
                    let count = if by_host { matching(constraint, pod, node) } else { counts[&domain] };
                    *total += count as f64 * weight + (constraint.max_skew - 1) as f64;
                }
            }
        }
        Some(reverse(nodes.iter().map(|node| labelled(node)).collect(), &totals))
    }
}

/// Fewer is better; nodes without the labels get nothing.
fn reverse(labelled: Vec<bool>, totals: &[f64]) -> Vec<i64> {
    let totals: Vec<i64> = totals.iter().map(|total| total.round() as i64).collect();
    let counted = || totals.iter().zip(&labelled).filter(|(_, labelled)| **labelled).map(|(total, _)| *total);
    let (least, most) = (counted().min().unwrap_or(0), counted().max().unwrap_or(0));
    let score = |(total, labelled): (&i64, &bool)| match (labelled, most) {
        (false, _) => 0,
        (true, 0) => MAX_SCORE,
        (true, most) => MAX_SCORE * (most + least - total) / most,
    };
    totals.iter().zip(&labelled).map(score).collect()
}
