use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::{ObjectKey, Resource};
use parking_lot::Mutex;

/// The name of the index of pods by node.
pub(crate) const BY_NODE: &str = "node";

/// The pods of one node in an informer that nodes share.
///
/// A partitioned node sees its pods as they were when the partition began, while the informer continues.
pub(crate) struct PodView {
    node: Arc<str>,
    pods: Lister<Pod>,
    last_seen: Mutex<Option<BTreeMap<ObjectKey, Arc<Pod>>>>,
}

impl PodView {
    /// Adds the index of pods by node.
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

    /// Keeps the pods as they are now, until [`thaw`](Self::thaw).
    pub(crate) fn freeze(&self) {
        let seen = self.pods();
        self.last_seen.lock().get_or_insert_with(|| seen.into_iter().map(|pod| (pod.key(), pod)).collect());
    }

    /// Shows no pods: the node starts while it is partitioned.
    pub(crate) fn begin_empty(&self) {
        *self.last_seen.lock() = Some(BTreeMap::new());
    }

    /// Shows the pods of the informer again.
    pub(crate) fn thaw(&self) {
        *self.last_seen.lock() = None;
    }
}
