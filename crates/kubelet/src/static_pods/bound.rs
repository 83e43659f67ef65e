use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::Pod;

/// A pod that is bound to a node.
pub(crate) struct Bound {
    /// The pod that the node runs.
    pub(crate) pod: Arc<Pod>,
    /// The pod in the API, if it has one: the pod itself, or the mirror of a static pod.
    pub(crate) in_api: Option<Arc<Pod>>,
    /// Whether it comes from a manifest.
    pub(crate) is_static: bool,
    /// When to retry, if creating or deleting its mirror failed.
    pub(crate) again: Option<Duration>,
}

impl Bound {
    /// A pod of the API.
    pub(crate) fn of_api(pod: Arc<Pod>) -> Self {
        Self { in_api: Some(pod.clone()), pod, is_static: false, again: None }
    }

    /// A static pod, with the last status of its mirror.
    pub(crate) fn of_manifest(pod: &Pod, mirror: Option<Arc<Pod>>, again: Option<Duration>) -> Self {
        let mut pod = pod.clone();
        if let Some(mirror) = &mirror {
            pod.status = mirror.status.clone();
            pod.metadata.generation = mirror.metadata.generation;
        }
        Self { pod: Arc::new(pod), in_api: mirror, is_static: true, again }
    }
}
