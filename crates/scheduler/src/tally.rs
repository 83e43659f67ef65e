use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::Toleration;
use coracle_meta::LabelSelector;

use crate::node_affinity::RequiredNodeAffinity;
use crate::node_info::NodeInfo;
use crate::pod_info::{AffinityTerm, PodInfo};
use crate::taints::tolerated;

/// Which pods to count, and by which domain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interest {
    /// The node label that defines the domain.
    pub(crate) topology_key: String,
    pub(crate) pods: CountedPods,
    pub(crate) nodes: CountedNodes,
}

/// The pods that count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CountedPods {
    /// Those in one namespace that match a selector and are not terminating.
    Chosen { namespace: String, selector: LabelSelector },
    /// Those that match all of these terms.
    Near(Vec<AffinityTerm>),
}

/// The nodes whose pods count towards their domain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CountedNodes {
    /// Nodes without one of these labels do not count.
    pub(crate) labels: Vec<String>,
    /// Nodes that this does not allow do not count.
    pub(crate) wanted: Option<RequiredNodeAffinity>,
    /// Nodes with a taint that these do not tolerate do not count.
    pub(crate) tolerations: Option<Vec<Toleration>>,
}

/// The labels of a namespace, by its name.
pub(crate) type Namespaces = BTreeMap<String, BTreeMap<String, String>>;

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Interest {
    /// How many pods on the node count.
    pub(crate) fn count(&self, node: &NodeInfo, namespaces: &Namespaces) -> i64 {
        let counts = |pod: &PodInfo| match &self.pods {
            CountedPods::Chosen { namespace, selector } => {
                !pod.terminating && pod.key.namespace == *namespace && selector.matches(&pod.labels)
            }
            CountedPods::Near(terms) => {
                let labels = || namespaces.get(&pod.key.namespace).unwrap_or(&NO_LABELS);
                let labels = if self.asks_for_namespaces() { labels() } else { &NO_LABELS };
                terms.iter().all(|term| term.matches(pod, labels))
            }
        };
        node.pods.iter().filter(|pod| counts(pod)).count() as i64
    }

    /// Whether the labels of namespaces matter.
    pub(crate) fn asks_for_namespaces(&self) -> bool {
        matches!(&self.pods, CountedPods::Near(terms) if terms.iter().any(|term| term.namespace_selector.is_some()))
    }
}

impl CountedNodes {
    fn include(&self, node: &NodeInfo) -> bool {
        self.labels.iter().all(|label| node.labels.contains_key(label))
            && self.wanted.as_ref().is_none_or(|wanted| wanted.allows(node))
            && self.tolerations.as_ref().is_none_or(|tolerations| tolerated(&node.taints, tolerations))
    }
}

/// How many counted pods there are on each node and in each domain; updated node by node, as nodes change.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) interest: Interest,
    /// By slot; `None` for a node without the label.
    nodes: Vec<Option<Share>>,
    names: BTreeMap<Arc<str>, usize>,
    domains: Vec<Domain>,
    free: Vec<usize>,
    /// How many domains have each sum; only domains with a node that counts.
    sums: BTreeMap<i64, usize>,
    total: i64,
}

/// The contribution of one node.
#[derive(Clone, Copy, Debug)]
struct Share {
    domain: usize,
    count: i64,
    counts: bool,
}

#[derive(Clone, Debug)]
struct Domain {
    name: Arc<str>,
    sum: i64,
    members: usize,
    counting: usize,
}

impl Tally {
    pub(crate) fn new(interest: Interest) -> Self {
        let (nodes, names, domains, free, sums) = Default::default();
        Self { interest, nodes, names, domains, free, sums, total: 0 }
    }

    /// Recounts a node; `None` if the slot is empty.
    pub(crate) fn visit(&mut self, slot: usize, node: Option<&NodeInfo>, namespaces: &Namespaces) {
        if self.nodes.len() <= slot {
            self.nodes.resize(slot + 1, None);
        }
        let label = node.and_then(|node| Some((node, node.labels.get(&self.interest.topology_key)?)));
        let share = label.map(|(node, value)| {
            let domain = self.domain(value);
            self.domains[domain].members += 1;
            Share { domain, count: self.interest.count(node, namespaces), counts: self.interest.nodes.include(node) }
        });
        if let Some(share) = share {
            self.change(share, 1);
        }
        if let Some(before) = std::mem::replace(&mut self.nodes[slot], share) {
            self.change(before, -1);
            self.domains[before.domain].members -= 1;
            if self.domains[before.domain].members == 0 {
                self.names.remove(&self.domains[before.domain].name);
                self.free.push(before.domain);
            }
        }
    }

    fn domain(&mut self, value: &str) -> usize {
        if let Some(known) = self.names.get(value) {
            return *known;
        }
        let name: Arc<str> = Arc::from(value);
        let empty = Domain { name: name.clone(), sum: 0, members: 0, counting: 0 };
        let domain = self.free.pop().unwrap_or(self.domains.len());
        if domain == self.domains.len() {
            self.domains.push(empty);
        } else {
            self.domains[domain] = empty;
        }
        self.names.insert(name, domain);
        domain
    }

    fn change(&mut self, share: Share, sign: i64) {
        self.total += sign * share.count;
        if !share.counts {
            return;
        }
        let domain = &mut self.domains[share.domain];
        if domain.counting > 0 {
            take_one(&mut self.sums, domain.sum);
        }
        domain.sum += sign * share.count;
        domain.counting = domain.counting.wrapping_add_signed(sign as isize);
        if domain.counting > 0 {
            *self.sums.entry(domain.sum).or_default() += 1;
        }
    }

    /// How many domains have a node that counts.
    pub(crate) fn domains(&self) -> usize {
        self.sums.values().sum()
    }

    /// The number of the node's domain; `None` without the label.
    pub(crate) fn domain_of(&self, node: &NodeInfo) -> Option<usize> {
        self.share(node).map(|share| share.domain)
    }

    /// How many pods count on the node itself.
    pub(crate) fn on(&self, node: &NodeInfo) -> i64 {
        self.share(node).map_or(0, |share| share.count)
    }

    /// How many pods count in the node's domain; `None` without the label.
    pub(crate) fn around(&self, node: &NodeInfo, namespaces: &Namespaces) -> Option<i64> {
        let share = self.share(node)?;
        Some(self.domains[share.domain].sum + self.difference(node, share, namespaces))
    }

    /// The count of the smallest domain; `node` replaces its version in the snapshot. `None` without domains.
    pub(crate) fn least(&self, node: &NodeInfo, namespaces: &Namespaces) -> Option<i64> {
        let share = self.share(node);
        let difference = share.map_or(0, |share| self.difference(node, share, namespaces));
        let Some(share) = share.filter(|share| difference != 0 && share.counts) else {
            return self.sums.keys().next().copied();
        };
        let own = self.domains[share.domain].sum;
        let is_another = |(sum, domains): &(&i64, &usize)| **sum != own || **domains > 1;
        let others = self.sums.iter().find(is_another).map(|(sum, _)| *sum);
        Some(others.map_or(own + difference, |others| others.min(own + difference)))
    }

    /// The count of all nodes with the label; `node` replaces its version in the snapshot.
    pub(crate) fn total(&self, node: &NodeInfo, namespaces: &Namespaces) -> i64 {
        self.total + self.share(node).map_or(0, |share| self.difference(node, share, namespaces))
    }

    fn share(&self, node: &NodeInfo) -> Option<Share> {
        self.nodes.get(node.slot).copied().flatten()
    }

    /// The difference that a modified node makes for its domain.
    fn difference(&self, node: &NodeInfo, share: Share, namespaces: &Namespaces) -> i64 {
        if !node.is_supposed || !share.counts { 0 } else { self.interest.count(node, namespaces) - share.count }
    }
}

fn take_one(sums: &mut BTreeMap<i64, usize>, sum: i64) {
    if let Some(domains) = sums.get_mut(&sum) {
        *domains -= 1;
        if *domains == 0 {
            sums.remove(&sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::ObjectKey;
    use proptest::prelude::*;

    use super::*;

    fn node(slot: usize, zone: usize, pods: usize) -> NodeInfo {
        let mut node = NodeInfo { slot, ..NodeInfo::default() };
        if zone > 0 {
            node = node.with_label("zone", &zone.to_string());
        }
        if zone == 3 {
            node = node.with_label("counts", "");
        }
        for index in 0..pods {
            let key = ObjectKey::new("default", index.to_string());
            node.add(Arc::new(PodInfo { key, ..PodInfo::default() }));
        }
        node
    }

    fn tally() -> Tally {
        let selector = LabelSelector::everything();
        let pods = CountedPods::Chosen { namespace: "default".to_owned(), selector };
        let wanted = RequiredNodeAffinity { selector: BTreeMap::new(), required: None };
        let nodes = CountedNodes { wanted: Some(wanted), ..CountedNodes::default() };
        Tally::new(Interest { topology_key: "zone".to_owned(), pods, nodes })
    }

    proptest! {
        #[test]
        fn an_incremental_tally_equals_a_new_one(
            changes in proptest::collection::vec((0..4_usize, 0..4_usize, 0..4_usize), 0..40),
            supposed in 0..4_usize,
        ) {
            let namespaces = Namespaces::new();
            let mut followed = tally();
            let mut nodes = BTreeMap::new();
            for (slot, zone, pods) in changes {
                // Four pods stand for a node that is gone.
                let now = (pods < 3).then(|| node(slot, zone, pods));
                followed.visit(slot, now.as_ref(), &namespaces);
                nodes.insert(slot, now);
            }
            let mut anew = tally();
            for (slot, node) in &nodes {
                anew.visit(*slot, node.as_ref(), &namespaces);
            }
            prop_assert_eq!(&followed.sums, &anew.sums);
            prop_assert_eq!(followed.total, anew.total);
            for one in nodes.values().flatten() {
                prop_assert_eq!(followed.around(one, &namespaces), anew.around(one, &namespaces));
                // What would be with other pods on a node is what is when they are there.
                let mut other = node(one.slot, 0, supposed);
                other.labels = one.labels.clone();
                let mut changed = anew.clone();
                changed.visit(one.slot, Some(&other), &namespaces);
                let tried = other.supposed();
                prop_assert_eq!(followed.around(&tried, &namespaces), changed.around(&other, &namespaces));
                prop_assert_eq!(followed.least(&tried, &namespaces), changed.least(&other, &namespaces));
                prop_assert_eq!(followed.total(&tried, &namespaces), changed.total(&other, &namespaces));
            }
        }
    }
}
