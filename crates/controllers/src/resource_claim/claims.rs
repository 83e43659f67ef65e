use coracle_api::core_v1::Pod;
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimConsumerReference};
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;

use super::decide::{is_done, owning_pod};

/// The finalizer of an allocated claim. In Kubernetes: `resourceapi.Finalizer`.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// The worker of claims: the pods that they are reserved for.
pub(super) struct Claims {
    pub(super) pods: Lister<Pod>,
    pub(super) claims: Lister<ResourceClaim>,
}

impl Claims {
    /// In Kubernetes: `syncClaim`.
    pub(super) async fn sync(&self, pass: &Pass, key: &ObjectKey) -> Result<(), ReconcileError> {
        let Some(claim) = self.claims.get(key) else { return pass.gone().map(drop) };
        let mut valid = Vec::new();
        for consumer in &claim.status.reserved_for {
            if !consumer.api_group.is_empty() || consumer.resource != "pods" {
                return Err(ReconcileError::Object(format!("unsupported ReservedFor entry: {consumer:?}")));
            }
            if self.uses(pass, &key.namespace, consumer).await? {
                valid.push(consumer.clone());
            }
        }
        let is_unused = valid.is_empty();
        let has_freed = self.free(pass, &claim, valid).await?;
        if is_unused && self.is_abandoned(&claim) {
            pass.decided(|| "its pod will not use it any more: delete");
            pass.delete_if_there::<ResourceClaim>(key, &DeleteParams::default()).await?;
        } else if !has_freed {
            pass.decided(|| format!("all of {} reservations count", claim.status.reserved_for.len()));
        }
        Ok(())
    }

    /// Whether a pod exists and may still use its reservation. A pod that is missing in the cache is read live.
    async fn uses(
        &self,
        pass: &Pass,
        namespace: &str,
        consumer: &ResourceClaimConsumerReference,
    ) -> Result<bool, ReconcileError> {
        let key = ObjectKey::new(namespace, consumer.name.as_str());
        let is_meant = |pod: &Pod| pod.metadata.uid.as_ref() == Some(&consumer.uid);
        match self.pods.get(&key) {
            Some(pod) => Ok(is_meant(&pod) && !is_done(&pod)),
            None => Ok(pass.api::<Pod>().find(&key).await?.is_some_and(|pod| is_meant(&pod))),
        }
    }

    /// Removes obsolete reservations, and the allocation with the last of them. Returns whether there was one.
    async fn free(
        &self,
        pass: &Pass,
        claim: &ResourceClaim,
        valid: Vec<ResourceClaimConsumerReference>,
    ) -> Result<bool, ReconcileError> {
        let reserved = claim.status.reserved_for.len();
        let is_protected = claim.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER);
        let is_freed = valid.len() < reserved;
        let is_going = is_protected && claim.metadata.is_terminating() && valid.is_empty();
        if !is_freed && !is_going {
            return Ok(false);
        }
        pass.decided(|| format!("of {reserved} reservations {} count", valid.len()));
        let mut changed = claim.clone();
        if valid.is_empty() && is_protected {
            changed.status.allocation = None;
        }
        changed.status.reserved_for = valid;
        // Based on the observed version: a concurrent reservation must not be lost.
        let mut current = claim.clone();
        if changed != *claim {
            current = pass.api().update_status(&changed).await?;
        }
        if is_protected && current.status.allocation.is_none() {
            current.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER);
            pass.api::<ResourceClaim>().update(&current).await?;
        }
        Ok(true)
    }

    /// Whether a claim was created for a pod that will not use it. If that pod is unknown, the garbage collector
    /// deletes the claim.
    fn is_abandoned(&self, claim: &ResourceClaim) -> bool {
        let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
        let Some(owner) = owning_pod(claim) else { return false };
        let pod = self.pods.get(&ObjectKey::new(namespace, owner.name.as_str()));
        pod.is_some_and(|pod| pod.metadata.uid.as_ref() != Some(&owner.uid) || is_done(&pod))
    }
}
