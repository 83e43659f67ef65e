//! The contents of volumes that the node creates from the pod and the objects that it refers to.

use coracle_api::core_v1::Pod;

use crate::sources::Sources;

/// What a volume of a pod lacks, in the words of the kubelet. Sources that were not fetched lack nothing.
pub(super) fn lacks(pod: &Pod, name: &str, sources: &Sources) -> Option<String> {
    if sources.0.is_empty() {
        return None;
    }
    let volume = pod.spec.volumes.iter().find(|volume| volume.name == name)?;
    sources.lacked_by_volume(volume)
}
