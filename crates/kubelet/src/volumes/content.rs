//! What is made on the node, from the pod and from what it names.

use coracle_api::core_v1::Pod;

use crate::sources::Sources;

/// What a volume of a pod lacks, in the words of the kubelet. What was not asked for lacks nothing.
pub(super) fn lacks(pod: &Pod, name: &str, sources: &Sources) -> Option<String> {
    if sources.0.is_empty() {
        return None;
    }
    let volume = pod.spec.volumes.iter().find(|volume| volume.name == name)?;
    sources.lacked_by_volume(volume)
}
