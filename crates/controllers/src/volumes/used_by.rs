use std::sync::Arc;

use coracle_api::core_v1::{Pod, Volume};
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::ObjectKey;

/// The index of pods by the claims that they use.
const BY_CLAIM: &str = "claim";

/// Indexes pods by their claims, including those of ephemeral volumes.
pub(crate) fn index_by_claim(pods: &SharedInformer<Pod>) {
    pods.add_index(BY_CLAIM, |pod| {
        claims_of(pod).iter().map(|claim| format!("{}/{}", claim.namespace, claim.name)).collect()
    });
}

/// The pods that use a claim.
pub(crate) fn pods_using(pods: &Lister<Pod>, claim: &ObjectKey) -> Vec<Arc<Pod>> {
    pods.by_index(BY_CLAIM, &format!("{}/{}", claim.namespace, claim.name))
}

/// The claims that a pod uses.
pub(crate) fn claims_of(pod: &Pod) -> Vec<ObjectKey> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let claims = pod.spec.volumes.iter().filter_map(|volume| claim_of(pod, volume));
    claims.map(|claim| ObjectKey::new(namespace, claim)).collect()
}

/// The claim that a volume of a pod refers to.
fn claim_of(pod: &Pod, volume: &Volume) -> Option<String> {
    match &volume.persistent_volume_claim {
        Some(source) => Some(source.claim_name.clone()),
        None => volume.ephemeral.as_ref().map(|_| ephemeral_claim(pod, volume)),
    }
}

/// The name of the claim of a pod's ephemeral volume.
pub(crate) fn ephemeral_claim(pod: &Pod, volume: &Volume) -> String {
    format!("{}-{}", pod.name(), volume.name)
}
