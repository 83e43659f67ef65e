use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::Pod;

/// A pod of a node.
pub(crate) struct Bound {
    /// As the node runs it.
    pub(crate) pod: Arc<Pod>,
    /// As the API shows it, if it does: itself, or the mirror of a static pod.
    pub(crate) shown: Option<Arc<Pod>>,
    /// Whether the node has it of a manifest.
    pub(crate) is_static: bool,
    /// How soon its mirror is looked after again, if something kept it from being as it should be.
    pub(crate) again: Option<Duration>,
}

impl Bound {
    /// A pod of the API.
    pub(crate) fn of_api(pod: Arc<Pod>) -> Self {
        Self { shown: Some(pod.clone()), pod, is_static: false, again: None }
    }

    /// A static pod, with what its mirror says of how it was seen last.
    pub(crate) fn of_manifest(pod: &Pod, mirror: Option<Arc<Pod>>, again: Option<Duration>) -> Self {
        let mut pod = pod.clone();
        if let Some(mirror) = &mirror {
            pod.status = mirror.status.clone();
            pod.metadata.generation = mirror.metadata.generation;
        }
        Self { pod: Arc::new(pod), shown: mirror, is_static: true, again }
    }
}
