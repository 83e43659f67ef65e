use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use crate::attachable::Attachable;
use crate::devices::Inventory;
use crate::node_info::NodeInfo;
use crate::owned_terms::{OwnedTerm, OwnedTerms};
use crate::pod_info::{AffinityTerm, PodInfo};
use crate::tally::{Interest, Namespaces, Tally};

/// The maximum number of nodes in all tallies together; the least recently used tallies are dropped.
const TALLIED_NODES: usize = 1_000_000;
const REGION: &str = "topology.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";

/// All nodes and pods at one point in time: the view of one scheduling cycle. It is updated incrementally, and so are
/// the tallies: a cycle visits the nodes that it checks, and those that changed since the same tally was last used.
///
/// In Kubernetes: `Snapshot` and `nodeTree` of `pkg/scheduler/backend/cache`.
#[derive(Debug)]
pub struct Snapshot {
    slots: Vec<Slot>,
    free: Vec<usize>,
    by_name: BTreeMap<Arc<str>, usize>,
    /// The slots in the order in which nodes are tried, cached until nodes are added, removed or moved.
    order: OnceLock<Vec<usize>>,
    namespaces: Namespaces,
    /// The slot of each nominated pod.
    nominations: BTreeMap<ObjectKey, usize>,
    /// How many nodes have an image.
    images: BTreeMap<String, usize>,
    anti_affinity: OwnedTerms,
    likes: OwnedTerms,
    needs: OwnedTerms,
    /// How many pods on nodes use a claim.
    claims: BTreeMap<ObjectKey, i64>,
    attachable: Attachable,
    inventory: Inventory,
    /// The changed slots, in order; `forgotten` entries before the first were dropped.
    changes: VecDeque<usize>,
    forgotten: usize,
    /// The tallies, the most recently used first. A cache: it contains only derived data.
    tallies: Mutex<Vec<(usize, Arc<Tally>)>>,
}

#[derive(Debug, Default)]
struct Slot {
    node: Option<Arc<NodeInfo>>,
    /// The pods that are nominated to the node.
    nominated: Vec<Arc<PodInfo>>,
    /// The lowest priority among those, and the node including all of them, once computed.
    floor: i32,
    expected: OnceLock<Box<NodeInfo>>,
    changed: usize,
}

fn required_anti_affinity(pod: &PodInfo) -> Vec<(i64, &AffinityTerm)> {
    pod.anti_affinity.iter().map(|term| (1, term)).collect()
}

fn liked(pod: &PodInfo) -> Vec<(i64, &AffinityTerm)> {
    pod.preferred_pods.iter().map(|(weight, term)| (*weight, term)).collect()
}

fn needed(pod: &PodInfo) -> Vec<(i64, &AffinityTerm)> {
    pod.affinity.iter().map(|term| (1, term)).collect()
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_name: BTreeMap::new(),
            order: OnceLock::new(),
            namespaces: Namespaces::new(),
            nominations: BTreeMap::new(),
            images: BTreeMap::new(),
            anti_affinity: OwnedTerms::new(required_anti_affinity),
            likes: OwnedTerms::new(liked),
            needs: OwnedTerms::new(needed),
            claims: BTreeMap::new(),
            attachable: Attachable::default(),
            inventory: Inventory::default(),
            changes: VecDeque::new(),
            forgotten: 0,
            tallies: Mutex::default(),
        }
    }
}

impl FromIterator<NodeInfo> for Snapshot {
    fn from_iter<T: IntoIterator<Item = NodeInfo>>(nodes: T) -> Self {
        let mut snapshot = Self::default();
        for node in nodes {
            snapshot.put(node);
        }
        snapshot
    }
}

impl Snapshot {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Arc<NodeInfo>> {
        self.at(*self.by_name.get(name)?)
    }

    /// The nodes, sorted by name.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<NodeInfo>> {
        self.by_name.values().filter_map(|slot| self.at(*slot))
    }

    /// The nodes, alternating between zones, from the given one on.
    pub(crate) fn nodes_from(&self, start: usize) -> impl Iterator<Item = &Arc<NodeInfo>> {
        let order = self.order.get_or_init(|| self.interleaved());
        let (before, after) = order.split_at(start % order.len().max(1));
        after.iter().chain(before).filter_map(|slot| self.at(*slot))
    }

    pub(crate) fn at(&self, slot: usize) -> Option<&Arc<NodeInfo>> {
        self.slots.get(slot)?.node.as_ref()
    }

    /// The number of changes so far.
    pub(crate) fn now(&self) -> usize {
        self.forgotten + self.changes.len()
    }

    /// When a slot, or a nomination to it, last changed.
    pub(crate) fn changed_at(&self, slot: usize) -> usize {
        self.slots.get(slot).map_or(usize::MAX, |slot| slot.changed)
    }

    /// The slot of a pod's nominated node.
    pub(crate) fn nomination(&self, pod: &ObjectKey) -> Option<usize> {
        self.nominations.get(pod).copied()
    }

    /// The node including its nominated pods that matter to `pod`: those of at least its priority, without the pod
    /// itself. `None` without such pods. `own` is the slot of the pod's own nominated node.
    pub(crate) fn expected(&self, node: &NodeInfo, pod: &PodInfo, own: Option<usize>) -> Option<Cow<'_, NodeInfo>> {
        let slot = self.slots.get(node.slot).filter(|slot| !slot.nominated.is_empty())?;
        let with = |pods: &mut dyn Iterator<Item = &Arc<PodInfo>>| {
            let mut fuller = node.supposed();
            pods.for_each(|pod| fuller.add(pod.clone()));
            fuller
        };
        if !node.is_supposed && slot.floor >= pod.priority && own != Some(node.slot) {
            return Some(Cow::Borrowed(slot.expected.get_or_init(|| Box::new(with(&mut slot.nominated.iter())))));
        }
        let matters = |other: &&Arc<PodInfo>| other.priority >= pod.priority && other.uid != pod.uid;
        let mut nominated = slot.nominated.iter().filter(matters).peekable();
        nominated.peek()?;
        Some(Cow::Owned(with(&mut nominated)))
    }

    /// The labels of a namespace; empty if it is unknown.
    pub fn namespace_labels(&self, namespace: &str) -> &BTreeMap<String, String> {
        self.namespaces.get(namespace).unwrap_or(&NO_LABELS)
    }

    pub(crate) fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// How many nodes have an image.
    pub(crate) fn nodes_with_image(&self, image: &str) -> usize {
        self.images.get(image).copied().unwrap_or(0)
    }

    /// How many pods on nodes use a claim.
    pub(crate) fn users_of_claim(&self, claim: &ObjectKey) -> i64 {
        self.claims.get(claim).copied().unwrap_or(0)
    }

    /// The attached CSI volumes of nodes, and their limits.
    pub(crate) fn attachable(&self) -> &Attachable {
        &self.attachable
    }

    /// The devices, and their allocations.
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    pub(crate) fn inventory_mut(&mut self) -> &mut Inventory {
        &mut self.inventory
    }

    pub(crate) fn attachable_mut(&mut self) -> &mut Attachable {
        &mut self.attachable
    }

    /// The anti-affinity terms of pods on nodes that match this pod.
    pub(crate) fn shunning(&self, pod: &PodInfo) -> Vec<&OwnedTerm> {
        self.anti_affinity.about(pod, self.namespace_labels(&pod.key.namespace))
    }

    /// How many pods in the node's domain have this anti-affinity term.
    pub(crate) fn shunning_around(&self, term: &OwnedTerm, node: &NodeInfo) -> i64 {
        self.anti_affinity.around(term, node, self.at(node.slot).map(AsRef::as_ref))
    }

    /// The preferred terms of pods on nodes that match this pod.
    pub(crate) fn liking(&self, pod: &PodInfo) -> Vec<&OwnedTerm> {
        self.likes.about(pod, self.namespace_labels(&pod.key.namespace))
    }

    /// The weighted number of pods in the node's domain with this preferred term; negative for anti-affinity.
    pub(crate) fn liking_around(&self, term: &OwnedTerm, node: &NodeInfo) -> i64 {
        term.weight() * self.likes.around(term, node, self.at(node.slot).map(AsRef::as_ref))
    }

    /// The required affinity terms of pods on nodes that match this pod.
    pub(crate) fn needing(&self, pod: &PodInfo) -> Vec<&OwnedTerm> {
        self.needs.about(pod, self.namespace_labels(&pod.key.namespace))
    }

    /// How many pods in the node's domain have this required affinity term.
    pub(crate) fn needing_around(&self, term: &OwnedTerm, node: &NodeInfo) -> i64 {
        self.needs.around(term, node, self.at(node.slot).map(AsRef::as_ref))
    }

    /// The up-to-date tally of an interest.
    pub(crate) fn tally(&self, interest: Interest) -> Arc<Tally> {
        let now = self.now();
        let mut tallies = self.tallies.lock();
        let known = tallies.iter().position(|(_, tally)| tally.interest == interest).map(|at| tallies.remove(at));
        let known = known.filter(|(seen, _)| *seen >= self.forgotten);
        let tally = match known {
            Some((seen, mut tally)) => {
                // A tally that is also held elsewhere would be copied here; tallies are not held beyond a cycle.
                let changing = Arc::make_mut(&mut tally);
                for (at, slot) in self.changes.iter().enumerate().skip(seen - self.forgotten) {
                    if self.slots[*slot].changed == self.forgotten + at {
                        changing.visit(*slot, self.at(*slot).map(AsRef::as_ref), &self.namespaces);
                    }
                }
                tally
            }
            None => {
                let mut tally = Tally::new(interest);
                for slot in self.by_name.values() {
                    tally.visit(*slot, self.at(*slot).map(AsRef::as_ref), &self.namespaces);
                }
                Arc::new(tally)
            }
        };
        tallies.insert(0, (now, tally.clone()));
        tallies.truncate((TALLIED_NODES / self.len().max(1)).max(16));
        tally
    }

    /// Adds a node, or replaces the one with its name.
    pub fn put(&mut self, mut node: NodeInfo) {
        let slot = match self.by_name.get(&node.name) {
            Some(slot) => *slot,
            None => self.free.pop().unwrap_or(self.slots.len()),
        };
        if slot == self.slots.len() {
            self.slots.push(Slot::default());
        }
        node.slot = slot;
        node.is_supposed = false;
        let node = Arc::new(node);
        self.by_name.insert(node.name.clone(), slot);
        let before = self.slots[slot].node.take();
        if before.as_ref().is_none_or(|before| zone(before) != zone(&node)) {
            self.order = OnceLock::new();
        }
        self.count(before.as_deref(), -1);
        self.count(Some(&node), 1);
        self.slots[slot].node = Some(node);
        self.changed(slot);
    }

    /// Removes a node; returns it with its pods.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<NodeInfo>> {
        let slot = self.by_name.remove(name)?;
        let node = std::mem::take(&mut self.slots[slot].node);
        for pod in std::mem::take(&mut self.slots[slot].nominated) {
            self.nominations.remove(&pod.key);
        }
        self.free.push(slot);
        self.order = OnceLock::new();
        self.count(node.as_deref(), -1);
        self.changed(slot);
        node
    }

    /// Adds a pod to a node, or replaces the one with its key; false if the node does not exist.
    pub(crate) fn add_pod(&mut self, node: &str, pod: Arc<PodInfo>) -> bool {
        let Some(slot) = self.by_name.get(node).copied() else { return false };
        self.remove_pod(node, &pod.key);
        let Some(node) = &mut self.slots[slot].node else { return false };
        self.anti_affinity.change(node, &pod, 1);
        self.likes.change(node, &pod, 1);
        self.needs.change(node, &pod, 1);
        count_claims(&mut self.claims, &pod, 1);
        Arc::make_mut(node).add(pod);
        self.changed(slot);
        true
    }

    /// Removes a pod from a node.
    pub(crate) fn remove_pod(&mut self, node: &str, key: &ObjectKey) {
        let Some(slot) = self.by_name.get(node).copied() else { return };
        let Some(node) = &mut self.slots[slot].node else { return };
        if node.pods.binary_search_by(|pod| pod.key.cmp(key)).is_err() {
            return;
        }
        if let Some(pod) = Arc::make_mut(node).remove(key) {
            self.anti_affinity.change(node, &pod, -1);
            self.likes.change(node, &pod, -1);
            self.needs.change(node, &pod, -1);
            count_claims(&mut self.claims, &pod, -1);
        }
        self.changed(slot);
    }

    /// Adds (true) or removes the nomination of a pod to a node.
    pub(crate) fn nominate(&mut self, node: &str, pod: &Arc<PodInfo>, is_nominated: bool) {
        let Some(slot) = self.by_name.get(node).copied() else { return };
        let at = &mut self.slots[slot];
        at.nominated.retain(|other| other.key != pod.key);
        self.nominations.remove(&pod.key);
        if is_nominated {
            at.nominated.push(pod.clone());
            self.nominations.insert(pod.key.clone(), slot);
        }
        at.floor = at.nominated.iter().map(|pod| pod.priority).min().unwrap_or(i32::MAX);
        self.changed(slot);
    }

    /// Sets the labels of a namespace; `None` if it is deleted.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        match labels {
            Some(labels) if self.namespaces.get(name) == Some(&labels) => return,
            Some(labels) => self.namespaces.insert(name.to_owned(), labels),
            None => self.namespaces.remove(name),
        };
        self.tallies.lock().retain(|(_, tally)| !tally.interest.asks_for_namespaces());
    }

    fn changed(&mut self, slot: usize) {
        self.slots[slot].expected = OnceLock::new();
        self.slots[slot].changed = self.forgotten + self.changes.len();
        self.changes.push_back(slot);
        // A tally that is this far behind is recounted, which takes no longer.
        if self.changes.len() > 2 * self.slots.len() + 64 {
            let half = self.changes.len() / 2;
            self.changes.drain(..half);
            self.forgotten += half;
        }
    }

    fn count(&mut self, node: Option<&NodeInfo>, sign: i64) {
        let Some(node) = node else { return };
        for image in node.images.keys() {
            let nodes = self.images.entry(image.clone()).or_default();
            *nodes = nodes.wrapping_add_signed(sign as isize);
            if *nodes == 0 {
                self.images.remove(image);
            }
        }
        for pod in node.pods_with_affinity() {
            self.anti_affinity.change(node, pod, sign);
            self.likes.change(node, pod, sign);
            self.needs.change(node, pod, sign);
        }
        node.pods.iter().for_each(|pod| count_claims(&mut self.claims, pod, sign));
    }

    /// The first node of each zone by name, then the second of each, and so on.
    fn interleaved(&self) -> Vec<usize> {
        let mut zones: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (slot, node) in self.by_name.values().filter_map(|slot| Some((*slot, self.at(*slot)?))) {
            zones.entry(zone(node)).or_default().push(slot);
        }
        let longest = zones.values().map(Vec::len).max().unwrap_or(0);
        (0..longest).flat_map(|at| zones.values().filter_map(move |zone| zone.get(at).copied())).collect()
    }
}

/// In Kubernetes: `updatePVCRefCounts`.
fn count_claims(claims: &mut BTreeMap<ObjectKey, i64>, pod: &PodInfo, sign: i64) {
    for claim in &pod.claims {
        let key = ObjectKey::new(pod.key.namespace.as_str(), claim.as_str());
        let users = claims.entry(key.clone()).or_default();
        *users += sign;
        if *users == 0 {
            claims.remove(&key);
        }
    }
}

/// In Kubernetes: `GetZoneKey`.
fn zone(node: &NodeInfo) -> (Option<&String>, Option<&String>) {
    (node.labels.get(REGION), node.labels.get(ZONE))
}

#[cfg(test)]
mod tests {
    use coracle_meta::LabelSelector;

    use super::*;
    use crate::tally::{CountedNodes, CountedPods};

    fn node(name: &str) -> NodeInfo {
        NodeInfo { name: name.into(), ..NodeInfo::default() }.with_label("zone", "z")
    }

    fn pod(name: &str) -> Arc<PodInfo> {
        Arc::new(PodInfo { key: ObjectKey::new("default", name), ..PodInfo::default() })
    }

    fn all() -> Interest {
        let pods = CountedPods::Chosen { namespace: "default".to_owned(), selector: LabelSelector::everything() };
        Interest { topology_key: "zone".to_owned(), pods, nodes: CountedNodes::default() }
    }

    #[test]
    fn a_tally_is_up_to_date_after_a_long_time_without_use() {
        let mut snapshot: Snapshot = [node("a"), node("b")].into_iter().collect();
        let count = |snapshot: &Snapshot| {
            let tally = snapshot.tally(all());
            snapshot.nodes().next().map_or(0, |node| tally.around(node, snapshot.namespaces()).unwrap())
        };
        assert_eq!(count(&snapshot), 0);
        snapshot.add_pod("a", pod("p"));
        assert_eq!(count(&snapshot), 1);
        for at in 0..500 {
            snapshot.add_pod("b", pod(&at.to_string()));
        }
        assert!(snapshot.changes.len() < 500, "what happened long ago is forgotten");
        assert_eq!(count(&snapshot), 501);
        snapshot.remove("b");
        assert_eq!(count(&snapshot), 1);
        snapshot.put(node("c"));
        assert_eq!((count(&snapshot), snapshot.len()), (1, 2));
    }

    #[test]
    fn a_changed_node_keeps_its_place_and_a_new_one_takes_a_free_one() {
        let mut snapshot: Snapshot = ["a", "b", "c"].map(node).into_iter().collect();
        snapshot.remove("b");
        snapshot.put(node("a").with_label("topology.kubernetes.io/zone", "far"));
        snapshot.put(node("d"));
        let order: Vec<_> = snapshot.nodes_from(0).map(|node| (&*node.name, node.slot)).collect();
        assert_eq!(order, [("c", 2), ("a", 0), ("d", 1)]);
    }
}
