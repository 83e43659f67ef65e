use std::fmt;
use std::sync::Arc;

use coracle_meta::ObjectKey;

/// A pod of a node. A pod of the same name may come to another node before this one has let go of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodKey {
    pub(crate) node: Arc<str>,
    pub(crate) pod: ObjectKey,
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pod.fmt(f)
    }
}
