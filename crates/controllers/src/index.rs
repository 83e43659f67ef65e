//! Finds the objects of a controller without scanning all objects.

use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::Resource;

/// The index's name.
const BY_CONTROLLER: &str = "controller";

/// Indexes the objects of an informer by the uid of their controller, and those without one by their namespace.
pub(crate) fn index_by_controller<T: Resource>(informer: &SharedInformer<T>) {
    informer.add_index(BY_CONTROLLER, |object| {
        let meta = object.meta();
        vec![match meta.controller() {
            Some(controller) => controller.uid.clone(),
            None => orphans_of(meta.namespace.as_deref().unwrap_or_default()),
        }]
    });
}

/// A uid contains no slash, so the key for a namespace's orphans never equals a uid.
fn orphans_of(namespace: &str) -> String {
    format!("orphans/{namespace}")
}

/// The objects that this controller manages.
pub(crate) fn controlled_by<T: Resource>(lister: &Lister<T>, uid: &str) -> Vec<Arc<T>> {
    lister.by_index(BY_CONTROLLER, uid)
}

/// The objects of this controller, and those of its namespace without a controller.
pub(crate) fn candidates_of<T: Resource>(lister: &Lister<T>, owner: &impl Resource) -> Vec<Arc<T>> {
    let meta = owner.meta();
    let mut candidates = controlled_by(lister, meta.uid.as_deref().unwrap_or_default());
    candidates.extend(lister.by_index(BY_CONTROLLER, &orphans_of(meta.namespace.as_deref().unwrap_or_default())));
    candidates
}

/// The index of pods by the name of their node.
const BY_NODE: &str = "node";

/// Indexes pods by their node.
pub(crate) fn index_by_node(pods: &SharedInformer<Pod>) {
    pods.add_index(BY_NODE, |pod| pod.node_name().map(str::to_owned).into_iter().collect());
}

/// The pods of a node.
pub(crate) fn on_node(pods: &Lister<Pod>, node: &str) -> Vec<Arc<Pod>> {
    pods.by_index(BY_NODE, node)
}
