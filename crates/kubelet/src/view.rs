use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::{ObjectKey, Resource};
use parking_lot::Mutex;

/// The index of pods by their nodes.
pub(crate) const BY_NODE: &str = "node";

/// What one node sees of its pods in a cache that it shares with others.
///
/// A node that cannot be reached goes on with what it saw last, while the cache goes on.
pub(crate) struct View {
    node: Arc<str>,
    pods: Lister<Pod>,
    last_seen: Mutex<Option<BTreeMap<ObjectKey, Arc<Pod>>>>,
}

impl View {
    /// Lets pods be found by their nodes.
    pub(crate) fn index(pods: &SharedInformer<Pod>) {
        pods.add_index(BY_NODE, |pod| vec![pod.spec.node_name.clone()]);
    }

    pub(crate) fn new(node: &Arc<str>, pods: Lister<Pod>) -> Self {
        Self { node: node.clone(), pods, last_seen: Mutex::default() }
    }

    /// A pod of the node.
    pub(crate) fn pod(&self, key: &ObjectKey) -> Option<Arc<Pod>> {
        match &*self.last_seen.lock() {
            Some(seen) => seen.get(key).cloned(),
            None => self.pods.get(key).filter(|pod| pod.spec.node_name == *self.node),
        }
    }

    /// The pods of the node.
    pub(crate) fn pods(&self) -> Vec<Arc<Pod>> {
        match &*self.last_seen.lock() {
            Some(seen) => seen.values().cloned().collect(),
            None => self.pods.by_index(BY_NODE, &self.node),
        }
    }

    /// From now on nothing new is seen.
    pub(crate) fn freeze(&self) {
        let seen = self.pods();
        self.last_seen.lock().get_or_insert_with(|| seen.into_iter().map(|pod| (pod.key(), pod)).collect());
    }

    /// From now on nothing is seen at all, nor was before: the node begins where nothing reaches it.
    pub(crate) fn begin_blind(&self) {
        *self.last_seen.lock() = Some(BTreeMap::new());
    }

    /// What is in the cache is seen again.
    pub(crate) fn thaw(&self) {
        *self.last_seen.lock() = None;
    }
}
