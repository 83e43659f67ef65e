use coracle_cluster::Manifest;

use crate::file::NodeShape;

/// The manifests of a node's static pods, with their paths.
pub(crate) fn manifests_of(shape: &NodeShape) -> impl Iterator<Item = Manifest> + '_ {
    let numbered = shape.static_pods.iter().enumerate();
    numbered.map(|(index, pod)| Manifest { path: format!("staticPods[{index}]"), content: Ok(pod.to_string()) })
}
