use coracle_meta::LabelSelector;

use crate::framework::{Check, ClusterEvent, Filter, Hint, LooksAt, Verdict};
use crate::node_affinity::Wanted;
use crate::pod_info::{PodInfo, SpreadConstraint};
use crate::snapshot::Snapshot;
use crate::tally::{CountedNodes, CountedPods, Interest};

/// Spreads pods over the domains that a node label names.
pub(super) struct PodTopologySpread;

/// What a constraint counts; nodes without one of `labels` are left out.
pub(crate) fn interest(constraint: &SpreadConstraint, pod: &PodInfo, labels: &[String]) -> Interest {
    // A selector that chooses everything counts nothing here. In Kubernetes: `countPodsMatchSelector`.
    let counts_any = !constraint.selector.is_everything();
    let selector = if counts_any { constraint.selector.clone() } else { LabelSelector::nothing() };
    Interest {
        topology_key: constraint.topology_key.clone(),
        pods: CountedPods::Chosen { namespace: pod.key.namespace.clone(), selector },
        nodes: CountedNodes {
            labels: labels.to_vec(),
            wanted: constraint.honors_affinity.then(|| Wanted::of(pod)),
            tolerations: constraint.honors_taints.then(|| pod.tolerations.clone()),
        },
    }
}

fn required(pod: &PodInfo) -> Vec<&SpreadConstraint> {
    pod.spread.iter().filter(|constraint| constraint.required).collect()
}

impl Filter for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Pods
    }

    fn prepare<'a>(&self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<Check<'a>> {
        let constraints = required(pod);
        if constraints.is_empty() {
            return None;
        }
        let labels: Vec<_> = constraints.iter().map(|constraint| constraint.topology_key.clone()).collect();
        let counted = constraints.into_iter().map(|constraint| {
            let tally = snapshot.tally(interest(constraint, pod, &labels));
            let few = (tally.domains() as i64) < constraint.min_domains;
            (constraint, tally, few, i64::from(constraint.selector.matches(&pod.labels)))
        });
        let counted: Vec<_> = counted.collect();
        let namespaces = snapshot.namespaces();
        Some(Box::new(move |node| {
            for (constraint, tally, few, itself) in &counted {
                let Some(here) = tally.around(node, namespaces) else {
                    return Verdict::unresolvable(
                        "node(s) didn't match pod topology spread constraints (missing required label)",
                    );
                };
                let least = || tally.least(node, namespaces).unwrap_or(i64::from(i32::MAX));
                let emptiest = if *few { 0 } else { least() };
                if here + itself - emptiest > constraint.max_skew {
                    return Verdict::rejected("node(s) didn't match pod topology spread constraints");
                }
            }
            Verdict::Fits
        }))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. } | ClusterEvent::PodAssigned(_) | ClusterEvent::PodGone(_))
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
    use crate::node_info::NodeInfo;
    use coracle_meta::ObjectKey;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn labels() -> BTreeMap<String, String> {
        BTreeMap::from([("app".to_owned(), "web".to_owned())])
    }

    fn node(zone: &str, pods: usize) -> NodeInfo {
        let mut node = NodeInfo { name: zone.into(), ..NodeInfo::default() }.with_label("zone", zone);
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
        let snapshot: Snapshot = nodes.into_iter().collect();
        let check = PodTopologySpread.prepare(&pod, &snapshot).unwrap();
        snapshot.nodes().map(|node| check(node)).collect()
    }

    #[test]
    fn a_domain_may_be_fuller_than_the_emptiest_by_the_skew_alone() {
        let rejected = Verdict::rejected("node(s) didn't match pod topology spread constraints");
        assert_eq!(verdicts(1, 1, vec![node("a", 1), node("b", 0)]), [rejected.clone(), Verdict::Fits]);
        assert_eq!(verdicts(2, 1, vec![node("a", 1), node("b", 0)]), [Verdict::Fits, Verdict::Fits]);
        assert_eq!(verdicts(1, 3, vec![node("a", 1), node("b", 1)]), [rejected.clone(), rejected]);
        let unlabelled = NodeInfo { name: "z".into(), ..NodeInfo::default() };
        assert!(matches!(verdicts(1, 1, vec![node("a", 0), unlabelled])[1], Verdict::Unresolvable(_)));
    }
}
