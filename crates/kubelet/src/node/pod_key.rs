use std::fmt;
use std::sync::Arc;

use coracle_meta::ObjectKey;

/// A pod on a node. A pod of the same name may be bound to another node before this node has removed its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodKey {
    pub(crate) node: Arc<str>,
    pub(crate) pod: ObjectKey,
}

impl PodKey {
    /// The key of the node itself: no pod has an empty name.
    pub(crate) fn of_node(node: &Arc<str>) -> Self {
        Self { node: node.clone(), pod: ObjectKey::cluster("") }
    }

    /// Whether the key names the node itself.
    pub(crate) fn is_node(&self) -> bool {
        self.pod.name.is_empty()
    }
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_node() { self.node.fmt(f) } else { self.pod.fmt(f) }
    }
}
