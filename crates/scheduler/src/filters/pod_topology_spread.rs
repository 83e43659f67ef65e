use std::collections::BTreeMap;

use crate::framework::{Check, ClusterEvent, Filter, Hint, Verdict};
use crate::node_affinity::allows;
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::{PodInfo, SpreadConstraint};

/// Spreads pods over the domains that a node label names.
pub(super) struct PodTopologySpread;

/// Whether a node's pods are counted for this constraint.
pub(crate) fn counts_node(constraint: &SpreadConstraint, pod: &PodInfo, node: &NodeInfo) -> bool {
    (!constraint.honors_affinity || allows(pod, node))
        && (!constraint.honors_taints || super::taint_toleration::passes(pod, node))
}

/// How many pods on the node the constraint counts.
fn matching(constraint: &SpreadConstraint, pod: &PodInfo, node: &NodeInfo) -> i64 {
    let counts = |other: &&std::sync::Arc<PodInfo>| {
        !other.terminating && other.key.namespace == pod.key.namespace && constraint.selector.matches(&other.labels)
    };
    if constraint.selector.is_everything() { 0 } else { node.pods.values().filter(counts).count() as i64 }
}

fn required(pod: &PodInfo) -> Vec<&SpreadConstraint> {
    pod.spread.iter().filter(|constraint| constraint.required).collect()
}

impl Filter for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn prepare<'a>(&self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<Check<'a>> {
        let constraints = required(pod);
        if constraints.is_empty() {
            return None;
        }
        let mut domains: Vec<BTreeMap<&str, i64>> = vec![BTreeMap::new(); constraints.len()];
        for node in snapshot.nodes.values() {
            if !constraints.iter().all(|constraint| node.labels.contains_key(&constraint.topology_key)) {
                continue;
            }
            for (constraint, domains) in constraints.iter().zip(&mut domains) {
                if counts_node(constraint, pod, node) {
                    let domain = node.labels[&constraint.topology_key].as_str();
                    *domains.entry(domain).or_default() += matching(constraint, pod, node);
                }
            }
        }
        Some(Box::new(move |node| {
            for (constraint, domains) in constraints.iter().zip(&domains) {
                let Some(domain) = node.labels.get(&constraint.topology_key) else {
                    return Verdict::unresolvable(
                        "node(s) didn't match pod topology spread constraints (missing required label)",
                    );
                };
                let few = (domains.len() as i64) < constraint.min_domains;
                let emptiest = if few { 0 } else { domains.values().copied().min().unwrap_or(i64::from(i32::MAX)) };
                let itself = i64::from(constraint.selector.matches(&pod.labels));
                let here = domains.get(domain.as_str()).copied().unwrap_or(0);
                if here + itself - emptiest > constraint.max_skew {
                    return Verdict::rejected("node(s) didn't match pod topology spread constraints");
                }
            }
            Verdict::Fits
        }))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        let counted = |other: &PodInfo| {
            other.key.namespace == pod.key.namespace
                && required(pod).iter().any(|constraint| constraint.selector.matches(&other.labels))
        };
        match event {
            ClusterEvent::PodAssigned(other) | ClusterEvent::PodGone(other) => Hint::when(counted(other)),
            ClusterEvent::Node { after, .. } => {
                Hint::when(required(pod).iter().all(|constraint| after.labels.contains_key(&constraint.topology_key)))
            }
            ClusterEvent::Claim(_) | ClusterEvent::Volume | ClusterEvent::StorageClass => Hint::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{LabelSelector, ObjectKey};
    use std::sync::Arc;

    fn labels() -> BTreeMap<String, String> {
        BTreeMap::from([("app".to_owned(), "web".to_owned())])
    }

    fn node(zone: &str, pods: usize) -> NodeInfo {
        let mut node = NodeInfo { name: zone.to_owned(), ..NodeInfo::default() }.with_label("zone", zone);
        for index in 0..pods {
            let key = ObjectKey::new("default", format!("{zone}-{index}"));
            node.add(Arc::new(PodInfo { key, labels: labels(), ..PodInfo::default() }));
        }
        node
    }

    fn verdicts(max_skew: i64, min_domains: i64, nodes: Vec<NodeInfo>) -> Vec<Verdict> {
        let pod = PodInfo {
            key: ObjectKey::new("default", "new"),
            labels: labels(),
            spread: vec![SpreadConstraint {
                max_skew,
                topology_key: "zone".to_owned(),
                required: true,
                selector: LabelSelector::of_labels(&labels()),
                min_domains,
                honors_affinity: true,
                honors_taints: false,
            }],
            ..PodInfo::default()
        };
        let nodes: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.name.clone(), Arc::new(node))).collect();
        let snapshot = Snapshot { nodes, ..Snapshot::default() };
        let check = PodTopologySpread.prepare(&pod, &snapshot).unwrap();
        snapshot.nodes.values().map(|node| check(node)).collect()
    }

    #[test]
    fn a_domain_may_be_fuller_than_the_emptiest_by_the_skew_alone() {
        let rejected = Verdict::rejected("node(s) didn't match pod topology spread constraints");
        assert_eq!(verdicts(1, 1, vec![node("a", 1), node("b", 0)]), [rejected.clone(), Verdict::Fits]);
        assert_eq!(verdicts(2, 1, vec![node("a", 1), node("b", 0)]), [Verdict::Fits, Verdict::Fits]);
        assert_eq!(verdicts(1, 3, vec![node("a", 1), node("b", 1)]), [rejected.clone(), rejected]);
        let unlabelled = NodeInfo { name: "z".to_owned(), ..NodeInfo::default() };
        assert!(matches!(verdicts(1, 1, vec![node("a", 0), unlabelled])[1], Verdict::Unresolvable(_)));
    }
}
