use std::collections::BTreeSet;

use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::{AffinityTerm, PodInfo};
use crate::snapshot::Snapshot;
use crate::tally::{CountedNodes, CountedPods, Interest};

/// Enforces required pod affinity, and anti-affinity of the pod and of existing pods.
#[derive(Debug)]
struct InterPodAffinity;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(InterPodAffinity)
}

const NOT_NEAR: &str = "node(s) didn't match pod affinity rules";

/// The pods that match all of these terms, by domain of a label.
fn near(terms: Vec<AffinityTerm>, topology_key: &str) -> Interest {
    let topology_key = topology_key.to_owned();
    Interest { topology_key, pods: CountedPods::Near(terms), nodes: CountedNodes::default() }
}

/// The pods that match one term.
pub(crate) fn meant(term: &AffinityTerm) -> Interest {
    near(vec![term.clone()], &term.topology_key)
}

impl Filter for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Pods
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        let shunning = snapshot.shunning(pod);
        if pod.affinity.is_empty() && pod.anti_affinity.is_empty() && shunning.is_empty() {
            return None;
        }
        // A pod counts for affinity only if it matches all terms; each anti-affinity term counts by itself.
        let keys: BTreeSet<_> = pod.affinity.iter().map(|term| &term.topology_key).collect();
        let near: Vec<_> = keys.into_iter().map(|key| snapshot.tally(near(pod.affinity.clone(), key))).collect();
        let away: Vec<_> = pod.anti_affinity.iter().map(|term| snapshot.tally(meant(term))).collect();
        let own_labels = snapshot.namespace_labels(&pod.key.namespace);
        let is_near_itself = pod.affinity.iter().all(|term| term.matches(pod, own_labels));
        let namespaces = snapshot.namespaces();
        Some(Box::new(move |node| {
            let mut is_alone = false;
            for tally in &near {
                match tally.around(node, namespaces) {
                    None => return FilterVerdict::unresolvable(NOT_NEAR),
                    Some(pods) => is_alone |= pods <= 0,
                }
            }
            // The first pod of a group with affinity to itself has no other pod to be near.
            let is_first = || is_near_itself && near.iter().all(|tally| tally.total(node, namespaces) <= 0);
            if is_alone && !is_first() {
                return FilterVerdict::unresolvable(NOT_NEAR);
            }
            if away.iter().any(|tally| tally.around(node, namespaces).is_some_and(|pods| pods > 0)) {
                return FilterVerdict::rejected("node(s) didn't match pod anti-affinity rules");
            }
            if shunning.iter().any(|term| snapshot.shunning_around(term, node) > 0) {
                return FilterVerdict::rejected("node(s) didn't satisfy existing pods anti-affinity rules");
            }
            FilterVerdict::Fits
        }))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. } | ClusterEvent::PodAssigned(_) | ClusterEvent::PodGone(_))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        let terms = || pod.affinity.iter().chain(&pod.anti_affinity);
        let selects = |terms: &[AffinityTerm], other: &PodInfo| {
            terms.iter().any(|term| {
                // The namespaces of a namespace selector are not known here, so it counts as matching all.
                let in_namespace = term.namespace_selector.is_some() || term.namespaces.contains(&other.key.namespace);
                in_namespace && term.selector.matches(&other.labels)
            })
        };
        match event {
            ClusterEvent::PodAssigned(other) => Hint::when(selects(&pod.affinity, other)),
            ClusterEvent::PodGone(other) => {
                Hint::when(selects(&pod.anti_affinity, other) || selects(&other.anti_affinity, pod))
            }
            ClusterEvent::Node { before, after } => {
                let has = |node: &NodeInfo| terms().all(|term| node.labels.contains_key(&term.topology_key));
                let labels_changed = before.as_ref().is_none_or(|before| before.labels != after.labels);
                Hint::when(labels_changed && has(after))
            }
            _ => Hint::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{LabelSelector, ObjectKey};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn pod(name: &str, app: &str) -> PodInfo {
        let labels = BTreeMap::from([("app".to_owned(), app.to_owned())]);
        PodInfo { key: ObjectKey::new("default", name), labels, ..PodInfo::default() }
    }

    fn term(app: &str) -> AffinityTerm {
        let selector = LabelSelector::of_labels(&BTreeMap::from([("app".to_owned(), app.to_owned())]));
        AffinityTerm {
            namespaces: vec!["default".to_owned()],
            selector,
            topology_key: "host".to_owned(),
            ..AffinityTerm::default()
        }
    }

    fn verdicts(pod: &PodInfo, nodes: &[(&str, Vec<PodInfo>)]) -> Vec<FilterVerdict> {
        let mut snapshot = Snapshot::default();
        for (name, pods) in nodes {
            let mut node = NodeInfo { name: (*name).into(), ..NodeInfo::default() }.with_label("host", name);
            pods.iter().for_each(|pod| node.add(Arc::new(pod.clone())));
            snapshot.put(node);
        }
        match InterPodAffinity.prepare(pod, &snapshot) {
            Some(check) => snapshot.nodes().map(|node| check(node)).collect(),
            None => vec![FilterVerdict::Fits; nodes.len()],
        }
    }

    #[test]
    fn affinity_goes_where_the_others_are_and_the_first_of_its_kind_anywhere() {
        let near_db = PodInfo { affinity: vec![term("db")], ..pod("a", "web") };
        let no = FilterVerdict::unresolvable("node(s) didn't match pod affinity rules");
        assert_eq!(
            verdicts(&near_db, &[("a", vec![pod("db", "db")]), ("b", vec![])]),
            [FilterVerdict::Fits, no.clone()]
        );
        assert_eq!(verdicts(&near_db, &[("a", vec![]), ("b", vec![])]), [no.clone(), no]);
        let near_self = PodInfo { affinity: vec![term("web")], ..pod("a", "web") };
        assert_eq!(verdicts(&near_self, &[("a", vec![]), ("b", vec![])]), [FilterVerdict::Fits, FilterVerdict::Fits]);
    }

    #[test]
    fn anti_affinity_holds_in_both_directions() {
        let alone = PodInfo { anti_affinity: vec![term("web")], ..pod("a", "web") };
        let taken = vec![pod("b", "web")];
        assert_eq!(
            verdicts(&alone, &[("a", taken), ("b", vec![])]),
            [FilterVerdict::rejected("node(s) didn't match pod anti-affinity rules"), FilterVerdict::Fits]
        );
        assert_eq!(
            verdicts(&pod("c", "web"), &[("a", vec![alone]), ("b", vec![])]),
            [FilterVerdict::rejected("node(s) didn't satisfy existing pods anti-affinity rules"), FilterVerdict::Fits]
        );
    }
}
