//! Keeps deleted claims until no scheduled pod uses them.
//!
//! Watches claims and pods; a pod concerns its claims when it finishes, is deleted, or appears without a node. In some
//! releases a bound claim has a condition that says since when no pod uses it, and each change of a pod concerns its
//! claims. Before the finalizer is removed or the condition is set, the pods of the namespace are listed live, because the cache may lack a pod that has
//! just been bound. In Kubernetes: `pkg/controller/volume/pvcprotection`.

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::core_v1::{PersistentVolumeClaim, Pod};
use coracle_client::ListParams;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;

use crate::Config;
use crate::volumes::{
    claims_of, ephemeral_claim, has_unused, index_by_claim, is_concerned, is_shut_down, is_terminated, pods_using,
    protect, unused,
};

const FINALIZER: &str = "kubernetes.io/pvc-protection";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let pods = process.informers.informer::<Pod>();
    index_by_claim(&pods);
    let release = &config.release;
    let says_unused = release.enabled("PersistentVolumeClaimUnusedSinceTime");
    let clock = process.ambient.clock.clone();
    let reconciler = Protection { claims: claims.lister(), pods: pods.lister(), says_unused, clock };
    let known = claims.lister();
    let controller = Controller::new(process, "persistentvolumeclaim-protection", reconciler)
        .client(config.client(process))
        .watches(&claims, move |notification| concerned(notification, says_unused))
        .watches(
            &pods,
            move |notification| {
                if says_unused { touched_by(notification) } else { freed_by(notification, &known) }
            },
        );
    Box::pin(controller.run())
}

fn concerned(notification: &Notification<PersistentVolumeClaim>, says_unused: bool) -> Vec<ObjectKey> {
    let claim = notification.object();
    let is_there = !matches!(notification, Notification::Deleted { .. });
    let lacks_condition = says_unused && !has_unused(claim);
    let concerned = is_there && (lacks_condition || is_concerned(&claim.metadata, FINALIZER));
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

/// The claims of a pod, and those of the pod that it replaces.
fn touched_by(notification: &Notification<Pod>) -> Vec<ObjectKey> {
    let pod = notification.object();
    let replaced = notification.old().filter(|old| old.metadata.uid != pod.metadata.uid);
    replaced.into_iter().chain([pod]).flat_map(|pod| claims_of(pod)).collect()
}

struct Protection {
    claims: Lister<PersistentVolumeClaim>,
    pods: Lister<Pod>,
    /// Whether claims have the condition that no pod uses them.
    says_unused: bool,
    clock: Clock,
}

impl Reconciler for Protection {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(claim) = self.claims.get(key) else { return pass.gone() };
        let claim = self.record_use(pass, key, claim).await?;
        let is_used = self.is_used(pass, key, &claim, uses);
        protect(pass, claim.as_ref(), FINALIZER, is_used).await?;
        Ok(Action::Done)
    }
}

impl Protection {
    /// Whether a pod uses the claim; if the cache has none, all pods of the namespace are read live.
    async fn is_used(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        claim: &PersistentVolumeClaim,
        uses: fn(&Pod, &PersistentVolumeClaim) -> bool,
    ) -> Result<bool, ReconcileError> {
        if pods_using(&self.pods, key).iter().any(|pod| uses(pod, claim)) {
            return Ok(true);
        }
        let live = pass.api::<Pod>().within(&key.namespace).list_all(&ListParams::default()).await?;
        Ok(live.items.iter().any(|pod| uses(pod, claim)))
    }

    /// Sets the condition that no pod uses the claim, if it has changed; returns the claim after that. Claims that are
    /// not bound yet are left to the controller that binds them.
    async fn record_use(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        claim: Arc<PersistentVolumeClaim>,
    ) -> Result<Arc<PersistentVolumeClaim>, ReconcileError> {
        let has_condition = self.says_unused && !claim.metadata.is_terminating() && claim.status.phase == "Bound";
        if !has_condition {
            return Ok(claim);
        }
        let is_used = self.is_used(pass, key, &claim, refers_to).await?;
        let Some(condition) = unused(&claim, is_used, self.clock.now()) else { return Ok(claim) };
        pass.decided(|| format!("pods use it: {is_used}"));
        let mut changed = PersistentVolumeClaim::clone(&claim);
        let conditions = &mut changed.status.conditions;
        match conditions.iter_mut().find(|before| before.type_ == condition.type_) {
            Some(before) => *before = condition,
            None => conditions.push(condition),
        }
        Ok(Arc::new(pass.api().update_status(&changed).await?))
    }
}

/// Whether a scheduled pod uses the claim.
fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    pod.node_name().is_some() && has_volume(pod, claim, is_shut_down(pod))
}

/// Whether a pod that has not ended refers to the claim, scheduled or not.
fn refers_to(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    !is_terminated(pod) && has_volume(pod, claim, false)
}

/// Whether a pod has the claim as a volume: directly, or as its ephemeral volume.
fn has_volume(pod: &Pod, claim: &PersistentVolumeClaim, has_released_ephemeral: bool) -> bool {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let is_owner = claim.metadata.controller().map(|owner| &owner.uid) == pod.metadata.uid.as_ref();
    pod.spec.volumes.iter().any(|volume| match &volume.persistent_volume_claim {
        Some(source) => source.claim_name == name,
        None => {
            let is_made = volume.ephemeral.is_some() && ephemeral_claim(pod, volume) == name;
            is_made && is_owner && !has_released_ephemeral
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
        assert!(uses(&pod, &claim("data")) && !uses(&pod, &claim("other")));
        pod.spec.node_name.clear();
        assert!(!uses(&pod, &claim("data")));
    }

    #[test]
    fn a_pod_uses_the_claim_made_for_it_until_the_kubelet_is_done() {
        let mut pod = pod(Volume { name: "v".to_owned(), ephemeral: Some(Box::default()), ..Volume::default() });
        let mut claim = claim("p-v");
        assert!(!uses(&pod, &claim), "the claim has another owner");
        let owner = OwnerReference { uid: "u".to_owned(), controller: Some(true), ..OwnerReference::default() };
        claim.metadata.owner_references = vec![owner];
        assert!(uses(&pod, &claim));
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        pod.metadata.deletion_grace_period_seconds = Some(0);
        assert!(!uses(&pod, &claim));
    }
}
