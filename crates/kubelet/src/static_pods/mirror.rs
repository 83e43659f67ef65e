use coracle_api::core_v1::{Node, Pod};
use coracle_meta::OwnerReference;

use super::manifest::HASH;

/// The annotation of a mirror with the hash of its manifest.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Whether a pod of the API is a mirror pod.
pub(crate) fn is_mirror(pod: &Pod) -> bool {
    pod.metadata.annotations.contains_key(MIRROR)
}

/// Whether it is the mirror of this version of a static pod. In Kubernetes: `IsMirrorPodOf`.
pub(crate) fn is_mirror_of(mirror: &Pod, pod: &Pod) -> bool {
    let hash = mirror.metadata.annotations.get(MIRROR);
    hash.is_some() && hash == pod.metadata.annotations.get(HASH)
}

/// The mirror of a static pod. In Kubernetes: `CreateMirrorPod`.
pub(crate) fn mirror_of(pod: &Pod, node: &Node) -> Pod {
    let mut mirror = pod.clone();
    let metadata = &mut mirror.metadata;
    metadata.uid = None;
    if let Some(hash) = metadata.annotations.get(HASH).cloned() {
        metadata.annotations.insert(MIRROR.to_owned(), hash);
    }
    metadata.owner_references = vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.metadata.name.clone().unwrap_or_default(),
        uid: node.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        ..OwnerReference::default()
    }];
    mirror
}
