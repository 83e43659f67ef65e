//! The informer cache of the objects of one kind, for stages.

use std::sync::Arc;

use coracle_api::core_v1::{Node, Pod};
use coracle_controller_runtime::{Controller, Reconciler, key_of};
use coracle_informer::{InformerFactory, Notification, SharedInformer};
use coracle_meta::{ApiObject, GroupVersionResource, Object, ObjectKey};
use serde::Serialize;
use serde_json::Value as Json;

/// A cache of objects. Pods and nodes use the typed informers that other components use, so that they are cached once.
pub(crate) enum ObjectCache {
    Pods(SharedInformer<Pod>),
    Nodes(SharedInformer<Node>),
    Others(SharedInformer<Object>),
}

impl ObjectCache {
    /// The cache of a resource.
    pub(crate) fn of(informers: &InformerFactory, resource: &GroupVersionResource) -> Self {
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "pods") => {
                let pods = informers.informer::<Pod>();
                pods.any().add_index(BY_NODE, |pod| node_of(pod).into_iter().collect());
                Self::Pods(pods)
            }
            ("", "nodes") => Self::Nodes(informers.informer()),
            _ => Self::Others(informers.dynamic(resource)),
        }
    }

    /// Lets a controller watch the objects. Pods are also enqueued when their nodes change.
    pub(crate) fn followed_by<R: Reconciler>(
        &self,
        controller: Controller<R>,
        nodes: &SharedInformer<Node>,
    ) -> Controller<R> {
        match self {
            Self::Pods(pods) => {
                let lister = pods.lister();
                let on_node = move |notification: &Notification<Node>| {
                    if !may_be_new(notification) {
                        return Vec::new();
                    }
                    let node = notification.object().object_key().name;
                    lister.by_index(BY_NODE, &node).iter().map(|pod| pod.object_key()).collect()
                };
                controller.watches(pods, key_of).watches(nodes, on_node)
            }
            Self::Nodes(nodes) => controller.watches(nodes, key_of),
            Self::Others(objects) => controller.watches(objects, key_of),
        }
    }

    /// The version of an object and the node that it is bound to, if any; none if the object does not exist.
    pub(crate) fn version(&self, key: &ObjectKey) -> Option<(String, Option<String>)> {
        let version = |version: Option<&String>| version.cloned().unwrap_or_default();
        Some(match self {
            Self::Pods(pods) => {
                let pod = pods.lister().get(key)?;
                (version(pod.metadata.resource_version.as_ref()), Some(pod.spec.node_name.clone()))
            }
            Self::Nodes(nodes) => {
                let node = nodes.lister().get(key)?;
                (version(node.metadata.resource_version.as_ref()), Some(key.name.clone()))
            }
            Self::Others(objects) => (objects.lister().get(key)?.resource_version().to_owned(), None),
        })
    }

    /// An object with its kind; none if it does not exist.
    pub(crate) fn json(&self, key: &ObjectKey) -> Option<Json> {
        match self {
            Self::Pods(pods) => json_of(&pods.lister().get(key)?, "Pod"),
            Self::Nodes(nodes) => json_of(&nodes.lister().get(key)?, "Node"),
            Self::Others(objects) => Some(objects.lister().get(key)?.to_value()),
        }
    }

    pub(crate) fn pod(&self, key: &ObjectKey) -> Option<Arc<Pod>> {
        match self {
            Self::Pods(pods) => pods.lister().get(key),
            Self::Nodes(_) | Self::Others(_) => None,
        }
    }

    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        match self {
            Self::Pods(pods) => pods.lister().list().iter().map(|pod| pod.object_key()).collect(),
            Self::Nodes(nodes) => nodes.lister().list().iter().map(|node| node.object_key()).collect(),
            Self::Others(objects) => objects.lister().list().iter().map(|object| object.key()).collect(),
        }
    }
}

/// The index of pods by the node that they are bound to.
const BY_NODE: &str = "stages/node";

fn node_of(pod: &dyn coracle_meta::AnyObject) -> Option<String> {
    let pod: &dyn std::any::Any = pod;
    pod.downcast_ref::<Pod>().map(|pod| pod.spec.node_name.clone()).filter(|node| !node.is_empty())
}

/// Whether stages may begin to apply to a Node with this change.
fn may_be_new(notification: &Notification<Node>) -> bool {
    match notification {
        Notification::Added { initial, .. } => !initial,
        Notification::Updated { old, new } => old.metadata.annotations != new.metadata.annotations,
        Notification::Deleted { .. } => false,
    }
}

fn json_of(object: &impl Serialize, kind: &str) -> Option<Json> {
    let mut json = serde_json::to_value(object).ok()?;
    json["apiVersion"] = "v1".into();
    json["kind"] = kind.into();
    Some(json)
}
