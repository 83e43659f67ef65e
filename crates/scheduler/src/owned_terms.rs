use std::collections::BTreeMap;

use crate::node_info::NodeInfo;
use crate::pod_info::{AffinityTerm, PodInfo};

/// Selects terms of a pod, with their weights.
pub(crate) type TermsOf = fn(&PodInfo) -> Vec<(i64, &AffinityTerm)>;

/// The affinity terms of the pods on nodes: each distinct term once, with its number of pods in each domain. A search
/// for the terms that match a pod reads terms, not the pods that have them.
#[derive(Clone, Debug)]
pub(crate) struct OwnedTerms {
    of: TermsOf,
    /// Terms for a single namespace.
    about_one: BTreeMap<String, BTreeMap<String, OwnedTerm>>,
    /// All other terms.
    about_several: BTreeMap<String, OwnedTerm>,
}

/// A term and the nodes of its pods.
#[derive(Clone, Debug)]
pub(crate) struct OwnedTerm {
    term: AffinityTerm,
    weight: i64,
    owners: i64,
    domains: BTreeMap<String, i64>,
}

impl OwnedTerms {
    pub(crate) fn new(of: TermsOf) -> Self {
        Self { of, about_one: BTreeMap::new(), about_several: BTreeMap::new() }
    }

    /// Adds (1) or removes (-1) a pod on a node.
    pub(crate) fn change(&mut self, node: &NodeInfo, pod: &PodInfo, sign: i64) {
        for (weight, term) in (self.of)(pod) {
            let terms = match (term.namespaces.as_slice(), &term.namespace_selector) {
                ([namespace], None) => self.about_one.entry(namespace.clone()).or_default(),
                _ => &mut self.about_several,
            };
            let identity = format!("{weight} {term:?}");
            let owned = terms.entry(identity.clone()).or_insert_with(|| OwnedTerm::new(weight, term));
            owned.owners += sign;
            if let Some(value) = node.labels.get(&term.topology_key) {
                let sum = owned.domains.entry(value.clone()).or_default();
                *sum += sign;
                if *sum == 0 {
                    owned.domains.remove(value);
                }
            }
            if owned.owners == 0 {
                terms.remove(&identity);
            }
        }
    }

    /// The terms that match a pod; `labels` are those of its namespace.
    pub(crate) fn about(&self, pod: &PodInfo, labels: &BTreeMap<String, String>) -> Vec<&OwnedTerm> {
        let own = self.about_one.get(&pod.key.namespace).into_iter().flat_map(BTreeMap::values);
        let terms = own.chain(self.about_several.values());
        terms.filter(|owned| !owned.domains.is_empty() && owned.term.matches(pod, labels)).collect()
    }

    /// How many pods on one node have a term.
    fn on(&self, node: &NodeInfo, owned: &OwnedTerm) -> i64 {
        let is_it = |(weight, term): &(i64, &AffinityTerm)| *weight == owned.weight && **term == owned.term;
        node.pods_with_affinity().map(|pod| (self.of)(pod).iter().filter(|one| is_it(one)).count() as i64).sum()
    }

    /// How many pods have the term in the node's domain, if `node` replaces `known`.
    pub(crate) fn around(&self, owned: &OwnedTerm, node: &NodeInfo, known: Option<&NodeInfo>) -> i64 {
        let Some(value) = node.labels.get(&owned.term.topology_key) else { return 0 };
        let sum = owned.domains.get(value).copied().unwrap_or(0);
        match known.filter(|_| node.is_supposed) {
            Some(known) => sum + self.on(node, owned) - self.on(known, owned),
            None => sum,
        }
    }
}

impl OwnedTerm {
    fn new(weight: i64, term: &AffinityTerm) -> Self {
        Self { term: term.clone(), weight, owners: 0, domains: BTreeMap::new() }
    }

    pub(crate) fn weight(&self) -> i64 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::{LabelSelector, ObjectKey};

    use super::*;

    fn owner(name: &str, namespaces: &[&str]) -> PodInfo {
        let term = AffinityTerm {
            namespaces: namespaces.iter().map(|&name| name.to_owned()).collect(),
            selector: LabelSelector::everything(),
            topology_key: "zone".to_owned(),
            ..AffinityTerm::default()
        };
        PodInfo { key: ObjectKey::new("default", name), anti_affinity: vec![term], ..PodInfo::default() }
    }

    #[test]
    fn equal_terms_are_shared_while_they_are_referenced() {
        let mut terms = OwnedTerms::new(|pod| pod.anti_affinity.iter().map(|term| (1, term)).collect());
        let (a, b) = (NodeInfo::default().with_label("zone", "a"), NodeInfo::default().with_label("zone", "b"));
        for (node, owner) in [(&a, owner("x", &["default"])), (&a, owner("y", &["default"]))] {
            terms.change(node, &owner, 1);
        }
        terms.change(&b, &owner("z", &["default", "other"]), 1);
        let about = |terms: &OwnedTerms, namespace: &str| -> Vec<(i64, i64)> {
            let pod = PodInfo { key: ObjectKey::new(namespace, "p"), ..PodInfo::default() };
            let about = terms.about(&pod, &BTreeMap::new());
            about.into_iter().map(|one| (terms.around(one, &a, None), terms.around(one, &b, None))).collect()
        };
        assert_eq!(about(&terms, "default"), [(2, 0), (0, 1)]);
        assert_eq!(about(&terms, "other"), [(0, 1)]);
        terms.change(&a, &owner("x", &["default"]), -1);
        terms.change(&a, &owner("y", &["default"]), -1);
        assert_eq!(about(&terms, "default"), [(0, 1)]);
    }

    #[test]
    fn a_node_that_is_only_supposed_stands_in_for_the_known_one() {
        let mut terms = OwnedTerms::new(|pod| pod.anti_affinity.iter().map(|term| (1, term)).collect());
        let mut node = NodeInfo::default().with_label("zone", "a");
        let pod = std::sync::Arc::new(owner("x", &["default"]));
        terms.change(&node, &pod, 1);
        node.add(pod.clone());
        let mut without = node.supposed();
        without.remove(&pod.key);
        let about = terms.about(&pod, &BTreeMap::new());
        assert_eq!(terms.around(about[0], &node, Some(&node)), 1);
        assert_eq!(terms.around(about[0], &without, Some(&node)), 0);
    }
}
