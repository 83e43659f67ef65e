use std::borrow::Cow;

use coracle_meta::LabelSelector;

use crate::arguments::{Arguments, SpreadDefaults};
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_affinity::RequiredNodeAffinity;
use crate::pod_info::{PodInfo, SpreadConstraint};
use crate::snapshot::Snapshot;
use crate::tally::{CountedNodes, CountedPods, Interest};

/// Spreads pods over the domains that a node label names.
#[derive(Debug)]
struct PodTopologySpread(SpreadDefaults);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Filter> {
    Box::new(PodTopologySpread(arguments.spread.clone()))
}

impl SpreadDefaults {
    /// The constraints of a pod, or the defaults for a pod without any; the system defaults require nothing.
    pub(crate) fn of(&self, pod: &PodInfo, required: bool) -> Vec<SpreadConstraint> {
        let (Self::List(list), Some(siblings)) = (self, &pod.siblings) else { return Vec::new() };
        let meant = list.iter().filter(|constraint| constraint.required == required);
        meant.map(|one| SpreadConstraint { selector: siblings.clone(), ..one.clone() }).collect()
    }
}

impl PodTopologySpread {
    fn required<'a>(&self, pod: &'a PodInfo) -> Cow<'a, [SpreadConstraint]> {
        match (pod.names_spread, &self.0) {
            (false, SpreadDefaults::List(_)) => Cow::Owned(self.0.of(pod, true)),
            (false, SpreadDefaults::System) => Cow::Borrowed(&[]),
            (true, _) if pod.spread.iter().all(|constraint| constraint.required) => Cow::Borrowed(&pod.spread),
            (true, _) => Cow::Owned(pod.spread.iter().filter(|constraint| constraint.required).cloned().collect()),
        }
    }
}

/// What a constraint counts; nodes without one of `labels` are left out.
pub(crate) fn interest(constraint: &SpreadConstraint, pod: &PodInfo, labels: &[String]) -> Interest {
    // A selector that selects everything counts nothing here. In Kubernetes: `countPodsMatchSelector`.
    let counts_any = !constraint.selector.is_everything();
    let selector = if counts_any { constraint.selector.clone() } else { LabelSelector::nothing() };
    Interest {
        topology_key: constraint.topology_key.clone(),
        pods: CountedPods::Chosen { namespace: pod.key.namespace.clone(), selector },
        nodes: CountedNodes {
            labels: labels.to_vec(),
            wanted: constraint.honors_affinity.then(|| RequiredNodeAffinity::of(pod)),
            tolerations: constraint.honors_taints.then(|| pod.tolerations.clone()),
        },
    }
}

impl Filter for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Pods
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        let constraints = self.required(pod);
        if constraints.is_empty() {
            return None;
        }
        let labels: Vec<_> = constraints.iter().map(|constraint| constraint.topology_key.clone()).collect();
        let counted = constraints.iter().map(|constraint| {
            let tally = snapshot.tally(interest(constraint, pod, &labels));
            let few = (tally.domains() as i64) < constraint.min_domains;
            (constraint.max_skew, tally, few, i64::from(constraint.selector.matches(&pod.labels)))
        });
        let counted: Vec<_> = counted.collect();
        let namespaces = snapshot.namespaces();
        Some(Box::new(move |node| {
            for (max_skew, tally, few, itself) in &counted {
                let Some(here) = tally.around(node, namespaces) else {
                    return FilterVerdict::unresolvable(
                        "node(s) didn't match pod topology spread constraints (missing required label)",
                    );
                };
                let least = || tally.least(node, namespaces).unwrap_or(i64::from(i32::MAX));
                let emptiest = if *few { 0 } else { least() };
                if here + itself - emptiest > *max_skew {
                    return FilterVerdict::rejected("node(s) didn't match pod topology spread constraints");
                }
            }
            FilterVerdict::Fits
        }))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. } | ClusterEvent::PodAssigned(_) | ClusterEvent::PodGone(_))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        let counted = |other: &PodInfo| {
            other.key.namespace == pod.key.namespace
                && self.required(pod).iter().any(|constraint| constraint.selector.matches(&other.labels))
        };
        match event {
            ClusterEvent::PodAssigned(other) | ClusterEvent::PodGone(other) => Hint::when(counted(other)),
            ClusterEvent::Node { after, .. } => Hint::when(
                self.required(pod).iter().all(|constraint| after.labels.contains_key(&constraint.topology_key)),
            ),
            _ => Hint::Skip,
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

    fn verdicts(max_skew: i64, min_domains: i64, nodes: Vec<NodeInfo>) -> Vec<FilterVerdict> {
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
            names_spread: true,
            ..PodInfo::default()
        };
        let snapshot: Snapshot = nodes.into_iter().collect();
        let filter = make(&Arguments::default());
        let check = filter.prepare(&pod, &snapshot).unwrap();
        snapshot.nodes().map(|node| check(node)).collect()
    }

    #[test]
    fn a_domain_may_be_fuller_than_the_emptiest_by_the_skew_alone() {
        let rejected = FilterVerdict::rejected("node(s) didn't match pod topology spread constraints");
        assert_eq!(verdicts(1, 1, vec![node("a", 1), node("b", 0)]), [rejected.clone(), FilterVerdict::Fits]);
        assert_eq!(verdicts(2, 1, vec![node("a", 1), node("b", 0)]), [FilterVerdict::Fits, FilterVerdict::Fits]);
        assert_eq!(verdicts(1, 3, vec![node("a", 1), node("b", 1)]), [rejected.clone(), rejected]);
        let unlabelled = NodeInfo { name: "z".into(), ..NodeInfo::default() };
        assert!(matches!(verdicts(1, 1, vec![node("a", 0), unlabelled])[1], FilterVerdict::Unresolvable(_)));
    }

    #[test]
    fn defaults_of_the_configuration_hold_for_pods_that_name_none_and_have_siblings() {
        let constraint = SpreadConstraint {
            max_skew: 1,
            topology_key: "zone".to_owned(),
            required: true,
            selector: LabelSelector::nothing(),
            min_domains: 1,
            honors_affinity: true,
            honors_taints: false,
        };
        let filter = PodTopologySpread(SpreadDefaults::List(vec![constraint]));
        let snapshot: Snapshot = [node("a", 1), node("b", 0)].into_iter().collect();
        let pod = PodInfo { key: ObjectKey::new("default", "new"), labels: labels(), ..PodInfo::default() };
        assert!(filter.prepare(&pod, &snapshot).is_none(), "nobody is like it");
        let pod = PodInfo { siblings: Some(LabelSelector::of_labels(&labels())), ..pod };
        let check = filter.prepare(&pod, &snapshot).unwrap();
        let verdicts: Vec<_> = snapshot.nodes().map(|node| check(node) == FilterVerdict::Fits).collect();
        assert_eq!(verdicts, [false, true]);
        let pod = PodInfo { names_spread: true, ..pod.clone() };
        assert!(filter.prepare(&pod, &snapshot).is_none(), "it says itself how");
    }
}
