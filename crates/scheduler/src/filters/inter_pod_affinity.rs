use std::collections::BTreeMap;

use crate::framework::{Check, ClusterEvent, Filter, Hint, Verdict};
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::{AffinityTerm, PodInfo};

/// Puts pods near those that they need, and away from those that they, or the others, do not bear.
pub(super) struct InterPodAffinity;

/// For a node label's name and value, how many pods there match a term.
type Counts<'a> = BTreeMap<(&'a str, &'a str), i64>;

fn count<'a>(counts: &mut Counts<'a>, node: &'a NodeInfo, key: &'a str) {
    if let Some(value) = node.labels.get(key) {
        *counts.entry((key, value)).or_default() += 1;
    }
}

fn found(counts: &Counts<'_>, node: &NodeInfo, term: &AffinityTerm) -> Option<bool> {
    let value = node.labels.get(&term.topology_key)?;
    Some(counts.get(&(term.topology_key.as_str(), value.as_str())).is_some_and(|count| *count > 0))
}

impl Filter for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn prepare<'a>(&self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<Check<'a>> {
        let (mut near, mut away, mut shunned) = (Counts::new(), Counts::new(), Counts::new());
        let own_namespace = snapshot.namespace_labels(&pod.key.namespace);
        for node in snapshot.nodes.values() {
            for other in node.pods_with_affinity() {
                for term in other.anti_affinity.iter().filter(|term| term.matches(pod, own_namespace)) {
                    count(&mut shunned, node, &term.topology_key);
                }
            }
            if pod.affinity.is_empty() && pod.anti_affinity.is_empty() {
                continue;
            }
            for other in node.pods.values() {
                let namespace = snapshot.namespace_labels(&other.key.namespace);
                // An affinity counts a pod only if it meets all terms; each anti-affinity counts by itself.
                if !pod.affinity.is_empty() && pod.affinity.iter().all(|term| term.matches(other, namespace)) {
                    pod.affinity.iter().for_each(|term| count(&mut near, node, &term.topology_key));
                }
                for term in pod.anti_affinity.iter().filter(|term| term.matches(other, namespace)) {
                    count(&mut away, node, &term.topology_key);
                }
            }
        }
        if pod.affinity.is_empty() && pod.anti_affinity.is_empty() && shunned.is_empty() {
            return None;
        }
        // The first pod of a group that wants to be near itself has nobody to be near yet.
        let is_first = near.is_empty() && pod.affinity.iter().all(|term| term.matches(pod, own_namespace));
        Some(Box::new(move |node| {
            let near: Vec<Option<bool>> = pod.affinity.iter().map(|term| found(&near, node, term)).collect();
            if near.contains(&None) || (near.contains(&Some(false)) && !is_first) {
                return Verdict::unresolvable("node(s) didn't match pod affinity rules");
            }
            if pod.anti_affinity.iter().any(|term| found(&away, node, term) == Some(true)) {
                return Verdict::rejected("node(s) didn't match pod anti-affinity rules");
            }
            let label_is_shunned =
                |(key, value): (&String, &String)| shunned.contains_key(&(key.as_str(), value.as_str()));
            if node.labels.iter().any(label_is_shunned) {
                return Verdict::rejected("node(s) didn't satisfy existing pods anti-affinity rules");
            }
            Verdict::Fits
        }))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        let terms = || pod.affinity.iter().chain(&pod.anti_affinity);
        let selects = |terms: &[AffinityTerm], other: &PodInfo| {
            terms.iter().any(|term| {
                // Which namespaces a namespace selector means is not known here, so it counts as meaning all.
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
            ClusterEvent::Claim(_) | ClusterEvent::Volume | ClusterEvent::StorageClass => Hint::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{LabelSelector, ObjectKey};
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

    fn verdicts(pod: &PodInfo, nodes: &[(&str, Vec<PodInfo>)]) -> Vec<Verdict> {
        let mut snapshot = Snapshot::default();
        for (name, pods) in nodes {
            let mut node = NodeInfo { name: (*name).to_owned(), ..NodeInfo::default() }.with_label("host", name);
            pods.iter().for_each(|pod| node.add(Arc::new(pod.clone())));
            snapshot.nodes.insert(node.name.clone(), Arc::new(node));
        }
        match InterPodAffinity.prepare(pod, &snapshot) {
            Some(check) => snapshot.nodes.values().map(|node| check(node)).collect(),
            None => vec![Verdict::Fits; nodes.len()],
        }
    }

    #[test]
    fn affinity_goes_where_the_others_are_and_the_first_of_its_kind_anywhere() {
        let near_db = PodInfo { affinity: vec![term("db")], ..pod("a", "web") };
        let no = Verdict::unresolvable("node(s) didn't match pod affinity rules");
        assert_eq!(verdicts(&near_db, &[("a", vec![pod("db", "db")]), ("b", vec![])]), [Verdict::Fits, no.clone()]);
        assert_eq!(verdicts(&near_db, &[("a", vec![]), ("b", vec![])]), [no.clone(), no]);
        let near_self = PodInfo { affinity: vec![term("web")], ..pod("a", "web") };
        assert_eq!(verdicts(&near_self, &[("a", vec![]), ("b", vec![])]), [Verdict::Fits, Verdict::Fits]);
    }

    #[test]
    fn anti_affinity_holds_in_both_directions() {
        let alone = PodInfo { anti_affinity: vec![term("web")], ..pod("a", "web") };
        let taken = vec![pod("b", "web")];
        assert_eq!(
            verdicts(&alone, &[("a", taken), ("b", vec![])]),
            [Verdict::rejected("node(s) didn't match pod anti-affinity rules"), Verdict::Fits]
        );
        assert_eq!(
            verdicts(&pod("c", "web"), &[("a", vec![alone]), ("b", vec![])]),
            [Verdict::rejected("node(s) didn't satisfy existing pods anti-affinity rules"), Verdict::Fits]
        );
    }
}
