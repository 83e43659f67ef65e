//! Keeps deleted claims until no scheduled pod uses them.
//!
//! Watches claims and pods; a pod concerns its claims when it finishes, is deleted, or appears without a node. Before
//! the finalizer is removed, the pods of the namespace are listed live, because the cache may lack a pod that has
//! just been bound. In Kubernetes: `pkg/controller/volume/pvcprotection`.

use std::sync::Arc;

use coracle_api::core_v1::{PersistentVolumeClaim, Pod};
use coracle_client::ListParams;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;

use crate::Config;
use crate::volumes::{claims_of, ephemeral_claim, index_by_claim, is_concerned, is_shut_down, pods_using, protect};

const FINALIZER: &str = "kubernetes.io/pvc-protection";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let pods = process.informers.informer::<Pod>();
    index_by_claim(&pods);
    let reconciler = Protection { claims: claims.lister(), pods: pods.lister() };
    let known = claims.lister();
    let controller = Controller::new(process, "persistentvolumeclaim-protection", reconciler)
        .client(config.client(process))
        .watches(&claims, concerned)
        .watches(&pods, move |notification| freed_by(notification, &known));
    Box::pin(controller.run())
}

fn concerned(notification: &Notification<PersistentVolumeClaim>) -> Vec<ObjectKey> {
    let claim = notification.object();
    let is_there = !matches!(notification, Notification::Deleted { .. });
    let concerned = is_there && is_concerned(&claim.metadata, FINALIZER);
    concerned.then(|| claim.key()).into_iter().collect()
}

/// The claims that a pod no longer uses, if they wait for it.
fn freed_by(notification: &Notification<Pod>, claims: &Lister<PersistentVolumeClaim>) -> Vec<ObjectKey> {
    let frees = |pod: &Pod| pod.node_name().is_none() || pod.is_finished() || is_shut_down(pod);
    let replaced = notification.old().filter(|old| old.metadata.uid != notification.object().metadata.uid);
    let gone = matches!(notification, Notification::Deleted { .. });
    let latest = Some(notification.object()).filter(|pod| gone || frees(pod));
    let keys = latest.into_iter().chain(replaced).flat_map(|pod| claims_of(pod));
    keys.filter(|key| claims.get(key).is_some_and(|claim| is_concerned(&claim.metadata, FINALIZER))).collect()
}

struct Protection {
    claims: Lister<PersistentVolumeClaim>,
    pods: Lister<Pod>,
}

impl Reconciler for Protection {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(claim) = self.claims.get(key) else { return pass.gone() };
        let cached = pods_using(&self.pods, key);
        let is_used = async {
            if cached.iter().any(|pod| uses(pod, &claim)) {
                return Ok(true);
            }
            let live = pass.api::<Pod>().within(&key.namespace).list_all(&ListParams::default()).await?;
            Ok(live.items.iter().any(|pod| uses(pod, &claim)))
        };
        protect(pass, claim.as_ref(), FINALIZER, is_used).await?;
        Ok(Action::Done)
    }
}

/// Whether a scheduled pod uses the claim: directly, or as its ephemeral volume.
fn uses(pod: &Pod, claim: &Arc<PersistentVolumeClaim>) -> bool {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let is_owner = claim.metadata.controller().map(|owner| &owner.uid) == pod.metadata.uid.as_ref();
    pod.node_name().is_some()
        && pod.spec.volumes.iter().any(|volume| match &volume.persistent_volume_claim {
            Some(source) => source.claim_name == name,
            None => {
                let is_made = volume.ephemeral.is_some() && ephemeral_claim(pod, volume) == name;
                is_made && is_owner && !is_shut_down(pod)
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::{PersistentVolumeClaimVolumeSource, Volume};
    use coracle_meta::OwnerReference;

    fn pod(volume: Volume) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some("p".to_owned());
        pod.metadata.uid = Some("u".to_owned());
        pod.spec.node_name = "n".to_owned();
        pod.spec.volumes = vec![volume];
        pod
    }

    fn claim(name: &str) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = Some(name.to_owned());
        claim
    }

    #[test]
    fn a_pod_uses_its_claim_once_it_has_a_node_and_though_it_has_finished() {
        let source = PersistentVolumeClaimVolumeSource { claim_name: "data".to_owned(), ..Default::default() };
        let mut pod = pod(Volume { persistent_volume_claim: Some(Box::new(source)), ..Volume::default() });
        pod.status.phase = "Succeeded".to_owned();
        assert!(uses(&pod, &claim("data").into()) && !uses(&pod, &claim("other").into()));
        pod.spec.node_name.clear();
        assert!(!uses(&pod, &claim("data").into()));
    }

    #[test]
    fn a_pod_uses_the_claim_made_for_it_until_the_kubelet_is_done() {
        let mut pod = pod(Volume { name: "v".to_owned(), ephemeral: Some(Box::default()), ..Volume::default() });
        let mut claim = claim("p-v");
        assert!(!uses(&pod, &claim.clone().into()), "it is somebody else's");
        let owner = OwnerReference { uid: "u".to_owned(), controller: Some(true), ..OwnerReference::default() };
        claim.metadata.owner_references = vec![owner];
        assert!(uses(&pod, &claim.clone().into()));
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        pod.metadata.deletion_grace_period_seconds = Some(0);
        assert!(!uses(&pod, &claim.into()));
    }
}
