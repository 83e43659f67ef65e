//! The sum of the sizes of the pods' controllers.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::apps_v1::{Deployment, ReplicaSet, StatefulSet};
use coracle_api::core_v1::{Pod, ReplicationController};
use coracle_controller_runtime::{Controller, Pass, Process, Reconciler};
use coracle_informer::Lister;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, ObjectKey, OwnerReference, Resource};

use crate::scaled_kinds::ScaledKinds;

/// The sizes of controllers: built-in kinds from caches, all others by their `scale` subresource.
///
/// In Kubernetes: the finders of `DisruptionController`.
pub(super) struct Scales {
    controllers: Lister<ReplicationController>,
    sets: Lister<ReplicaSet>,
    deployments: Lister<Deployment>,
    stateful_sets: Lister<StatefulSet>,
    kinds: ScaledKinds,
}

/// The uid of a controller, and its desired number of pods.
type Scale = (String, i32);

impl Scales {
    pub(super) fn new(process: &Process) -> Self {
        Self {
            controllers: process.informers.informer().lister(),
            sets: process.informers.informer().lister(),
            deployments: process.informers.informer().lister(),
            stateful_sets: process.informers.informer().lister(),
            kinds: ScaledKinds::default(),
        }
    }

    /// Lets a controller wait for the caches that are read here.
    pub(super) fn read_by<R: Reconciler>(process: &Process, controller: Controller<R>) -> Controller<R> {
        controller
            .reads(&process.informers.informer::<ReplicationController>())
            .reads(&process.informers.informer::<ReplicaSet>())
            .reads(&process.informers.informer::<Deployment>())
            .reads(&process.informers.informer::<StatefulSet>())
    }

    /// The sum of the sizes of the pods' controllers, and whether any pod has none.
    pub(super) async fn of_pods(&self, pass: &Pass, pods: &[Arc<Pod>]) -> Result<(i32, bool), String> {
        let (mut scales, mut unmanaged) = (BTreeMap::new(), false);
        for pod in pods {
            match pod.controller() {
                None => unmanaged = true,
                Some(owner) if scales.contains_key(&owner.uid) => {}
                Some(owner) => {
                    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
                    let found = match self.cached(owner, namespace) {
                        Some(scale) => Some(scale),
                        None => self.asked(pass, owner, namespace).await?,
                    };
                    let Some((uid, scale)) = found else {
                        return Err(format!("found no controllers for pod {:?}", pod.name()));
                    };
                    scales.insert(uid, scale);
                }
            }
        }
        Ok((scales.values().copied().fold(0, i32::saturating_add), unmanaged))
    }

    /// A controller of a built-in kind; for a ReplicaSet of a Deployment this is the Deployment.
    fn cached(&self, owner: &OwnerReference, namespace: &str) -> Option<Scale> {
        let key = ObjectKey::new(namespace, owner.name.as_str());
        let group = GroupVersion::parse(&owner.api_version)?.group;
        match (group.as_str(), owner.kind.as_str()) {
            ("", ReplicationController::KIND) => {
                let found = found(&self.controllers, &key, owner)?;
                Some((owner.uid.clone(), found.spec.replicas.unwrap_or(0)))
            }
            ("apps" | "extensions", ReplicaSet::KIND) => {
                let set = found(&self.sets, &key, owner)?;
                let Some(above) = set.metadata.controller().filter(|above| above.kind == Deployment::KIND) else {
                    return Some((owner.uid.clone(), set.spec.replicas.unwrap_or(0)));
                };
                let deployment = found(&self.deployments, &ObjectKey::new(namespace, above.name.as_str()), above)?;
                Some((above.uid.clone(), deployment.spec.replicas.unwrap_or(0)))
            }
            ("apps", StatefulSet::KIND) => {
                let found = found(&self.stateful_sets, &key, owner)?;
                Some((owner.uid.clone(), found.spec.replicas.unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// A controller of any other kind with a `scale` subresource.
    async fn asked(&self, pass: &Pass, owner: &OwnerReference, namespace: &str) -> Result<Option<Scale>, String> {
        let of = GroupVersion::parse(&owner.api_version)
            .ok_or_else(|| format!("unexpected GroupVersion string: {}", owner.api_version))?;
        let served = self.kinds.of(pass.client(), &of.group, &owner.kind).await.map_err(|error| error.to_string())?;
        let Some(kind) = served.into_iter().find(|found| found.resource.version == of.version) else {
            return Err(format!("no matches for kind {:?} in version {:?}", owner.kind, owner.api_version));
        };
        let api = coracle_client::Api::dynamic(pass.client(), kind.resource.clone());
        match api
            .get_subresource::<coracle_meta::Object>(&ObjectKey::new(namespace, owner.name.as_str()), "scale")
            .await
        {
            Ok(scale) if scale.text("metadata.uid") == owner.uid => {
                let replicas = i32::try_from(scale.int("spec.replicas")).unwrap_or(i32::MAX);
                Ok(Some((owner.uid.clone(), replicas)))
            }
            Ok(_) => Ok(None),
            Err(error) if error.is_not_found() && !kind.subresources.iter().any(|part| part == "scale") => {
                Err(format!("{} does not implement the scale subresource", kind.resource.group_resource()))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The owner itself, not another object with its name.
fn found<K: Resource>(lister: &Lister<K>, key: &ObjectKey, owner: &OwnerReference) -> Option<Arc<K>> {
    lister.get(key).filter(|found| found.meta().uid.as_deref() == Some(owner.uid.as_str()))
}
