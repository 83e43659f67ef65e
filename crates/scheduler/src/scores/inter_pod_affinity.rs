use std::collections::BTreeMap;
use std::sync::Arc;

use crate::framework::{MAX_SCORE, Score};
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::{AffinityTerm, PodInfo};

/// How much the required affinity of a pod that runs already counts for one that it would like near.
const HARD_AFFINITY_WEIGHT: i64 = 1;

/// Prefers nodes near pods that are liked, by either side, and away from those that are not.
pub(super) struct InterPodAffinity;

impl Score for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn weight(&self) -> i64 {
        2
    }

    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[Arc<NodeInfo>]) -> Option<Vec<i64>> {
        let own_namespace = snapshot.namespace_labels(&pod.key.namespace);
        let mut liked: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for node in snapshot.nodes.values() {
            let mut like = |term: &AffinityTerm, weight: i64| {
                if let Some((key, value)) = node.labels.get_key_value(&term.topology_key) {
                    *liked.entry((key, value)).or_default() += weight;
                }
            };
            if !pod.preferred_pods.is_empty() {
                for other in node.pods.values() {
                    let namespace = snapshot.namespace_labels(&other.key.namespace);
                    for (weight, term) in pod.preferred_pods.iter().filter(|(_, term)| term.matches(other, namespace)) {
                        like(term, *weight);
                    }
                }
            }
            for other in node.pods_with_affinity() {
                let hard = other.affinity.iter().map(|term| (HARD_AFFINITY_WEIGHT, term));
                let soft = other.preferred_pods.iter().map(|(weight, term)| (*weight, term));
                for (weight, term) in hard.chain(soft).filter(|(_, term)| term.matches(pod, own_namespace)) {
                    like(term, weight);
                }
            }
        }
        if liked.is_empty() {
            return None;
        }
        let total = |node: &Arc<NodeInfo>| {
            let part = |(key, value): (&String, &String)| liked.get(&(key.as_str(), value.as_str())).copied();
            node.labels.iter().filter_map(part).sum::<i64>()
        };
        let totals: Vec<i64> = nodes.iter().map(total).collect();
        let (least, most) = (totals.iter().min().copied()?, totals.iter().max().copied()?);
        let scale = |total: &i64| if most > least { MAX_SCORE * (total - least) / (most - least) } else { 0 };
        Some(totals.iter().map(scale).collect())
    }
}
