use coracle_api::apps_v1::{ReplicaSet, StatefulSet};
use coracle_api::core_v1::{Pod, ReplicationController, Service};
use coracle_informer::{InformerFactory, Lister};
use coracle_meta::{LabelSelector, ObjectKey};

/// Finds the siblings of a pod: the pods of its owner and of its services, which are spread by default.
///
/// In Kubernetes: `helper.DefaultSelector`.
#[derive(Clone)]
pub(crate) struct Siblings {
    services: Lister<Service>,
    replica_sets: Lister<ReplicaSet>,
    replication_controllers: Lister<ReplicationController>,
    stateful_sets: Lister<StatefulSet>,
}

impl Siblings {
    pub(crate) fn new(informers: &InformerFactory) -> Self {
        Self {
            services: informers.informer().lister(),
            replica_sets: informers.informer().lister(),
            replication_controllers: informers.informer().lister(),
            stateful_sets: informers.informer().lister(),
        }
    }

    /// The selector of the pod's siblings; `None` without an owner and a service.
    pub(crate) fn selector(&self, pod: &Pod) -> Option<LabelSelector> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let mut selector = LabelSelector::everything();
        for service in self.services.list_namespace(namespace) {
            let own = &service.spec.selector;
            if !own.is_empty() && own.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value)) {
                selector.requirements.extend(LabelSelector::of_labels(own).requirements);
            }
        }
        if let Some(owner) = self.owner_selector(namespace, pod) {
            selector.requirements.extend(owner.requirements);
        }
        (!selector.is_everything()).then_some(selector)
    }

    fn owner_selector(&self, namespace: &str, pod: &Pod) -> Option<LabelSelector> {
        let owner = pod.controller()?;
        let key = ObjectKey::new(namespace, owner.name.as_str());
        match (owner.api_version.as_str(), owner.kind.as_str()) {
            ("v1", "ReplicationController") => {
                Some(LabelSelector::of_labels(&self.replication_controllers.get(&key)?.spec.selector))
            }
            ("apps/v1", "ReplicaSet") => self.replica_sets.get(&key)?.spec.selector.as_ref()?.to_selector().ok(),
            ("apps/v1", "StatefulSet") => self.stateful_sets.get(&key)?.spec.selector.as_ref()?.to_selector().ok(),
            _ => None,
        }
    }
}
