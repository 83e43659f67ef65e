use coracle_meta::{OwnerReference, Resource, RunsOnNode};

use crate::core_v1::{ContainerStatus, Pod, PodCondition};

/// The reference to the controller that manages an object, if one does. In Kubernetes: `metav1.GetControllerOf`.
pub fn controller_of<K: Resource>(object: &K) -> Option<&OwnerReference> {
    object.meta().controller()
}

/// Pods are what runs on nodes.
impl RunsOnNode for Pod {}

impl Pod {
    /// The name of the pod.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or("")
    }

    /// The node that the pod is bound to.
    pub fn node_name(&self) -> Option<&str> {
        Some(self.spec.node_name.as_str()).filter(|name| !name.is_empty())
    }

    /// `status.phase`: `Pending`, `Running`, `Succeeded`, `Failed`; empty before anyone wrote it.
    pub fn phase(&self) -> &str {
        &self.status.phase
    }

    /// Whether the pod has run to its end, well or not.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase(), "Succeeded" | "Failed")
    }

    /// Whether the pod counts for a controller that wants pods: neither finished nor on its way out.
    ///
    /// In Kubernetes: `controller.IsPodActive`.
    pub fn is_active(&self) -> bool {
        !self.is_finished() && !self.is_terminating()
    }

    /// Whether the pod's deletion has begun.
    pub fn is_terminating(&self) -> bool {
        self.metadata.is_terminating()
    }

    /// Whether the pod's condition `Ready` is true. In Kubernetes: `podutil.IsPodReady`.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|condition| condition.status == "True")
    }

    /// The condition of a type.
    pub fn condition(&self, type_: &str) -> Option<&PodCondition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// The status of a container of this name.
    pub fn container_status(&self, name: &str) -> Option<&ContainerStatus> {
        self.status.container_statuses.iter().find(|status| status.name == name)
    }

    /// The reference to the controller that manages the pod, if one does.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.metadata.controller()
    }
}
