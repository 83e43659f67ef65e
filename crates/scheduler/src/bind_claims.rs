//! Writes allocations and reservations of ResourceClaims.

use coracle_api::core_v1::Pod;
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimConsumerReference};
use coracle_client::{Api, Client, Patch};
use coracle_meta::Resource;
use serde_json::json;

use crate::reserved::ReservedClaim;

/// The finalizer of an allocated claim. In Kubernetes: `resourceapi.Finalizer`.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";
/// How often a write is tried that fails with a conflict. In Kubernetes: `retry.DefaultRetry`.
const TRIES: usize = 5;

/// Writes the allocations of claims, and reserves them for a pod.
///
/// # Errors
/// The message for the pod.
pub(crate) async fn bind_claims(client: &Client, pod: &Pod, claims: &[ReservedClaim]) -> Result<(), String> {
    for reserved in claims {
        bind_claim(client, pod, reserved).await?;
    }
    Ok(())
}

/// In Kubernetes: `bindClaim`.
async fn bind_claim(client: &Client, pod: &Pod, reserved: &ReservedClaim) -> Result<(), String> {
    let api: Api<ResourceClaim> = Api::of(client);
    let key = reserved.claim.key();
    let mut claim = ResourceClaim::clone(&reserved.claim);
    for _ in 1..TRIES {
        match write(&api, pod, reserved, claim).await {
            Err(Refusal::Late) => {}
            Err(Refusal::Final(why)) => return Err(why),
            Ok(()) => return Ok(()),
        }
        claim = api.get(&key).await.map_err(|error| format!("get updated claim {key} after conflict: {error}"))?;
    }
    match write(&api, pod, reserved, claim).await {
        Err(Refusal::Late) => Err(format!("add reservation to claim {key}: the object has been modified")),
        Err(Refusal::Final(why)) => Err(why),
        Ok(()) => Ok(()),
    }
}

enum Refusal {
    /// Another client wrote in between.
    Late,
    Final(String),
}

fn refusal(error: &coracle_client::Error, what: &str) -> Refusal {
    if error.is_conflict() { Refusal::Late } else { Refusal::Final(format!("{what}: {error}")) }
}

async fn write(
    api: &Api<ResourceClaim>,
    pod: &Pod,
    reserved: &ReservedClaim,
    mut claim: ResourceClaim,
) -> Result<(), Refusal> {
    let (key, name) = (claim.key(), claim.key());
    if claim.metadata.is_terminating() {
        return Err(Refusal::Final(format!("claim {name} got deleted in the meantime")));
    }
    if let Some(allocation) = &reserved.allocation {
        if claim.status.allocation.is_some() {
            return Err(Refusal::Final(format!("claim {name} got allocated elsewhere in the meantime")));
        }
        if !claim.metadata.finalizers.iter().any(|one| one == FINALIZER) {
            claim.metadata.finalizers.push(FINALIZER.to_owned());
            let what = format!("add finalizer to claim {key}");
            claim = api.update(&claim).await.map_err(|error| refusal(&error, &what))?;
        }
        claim.status.allocation = Some(Box::new(allocation.clone()));
    }
    claim.status.reserved_for.push(ResourceClaimConsumerReference {
        resource: "pods".to_owned(),
        name: pod.name().to_owned(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        ..ResourceClaimConsumerReference::default()
    });
    let what = if reserved.allocation.is_some() { "allocation and reservation" } else { "reservation" };
    let what = format!("add {what} to claim {key}");
    api.update_status(&claim).await.map(drop).map_err(|error| refusal(&error, &what))
}

/// Removes the pod's reservations. In Kubernetes: `Unreserve`.
pub(crate) async fn unreserve(client: &Client, pod: &Pod, claims: &[ReservedClaim]) {
    for reserved in claims {
        let who = json!({"$patch": "delete", "uid": pod.metadata.uid});
        let patch = json!({"metadata": {"uid": reserved.claim.metadata.uid}, "status": {"reservedFor": [who]}});
        let api: Api<ResourceClaim> = Api::of(client);
        let key = reserved.claim.key();
        if let Err(error) = api.patch_status(&key, &Patch::Strategic(patch)).await {
            tracing::debug!(%error, claim = %key, "a claim could not be given back");
        }
    }
}

/// Removes the allocation of a claim, so that its pod can run on another node. In Kubernetes: `PostFilter`.
pub(crate) async fn deallocate(client: &Client, claim: &ResourceClaim) {
    let mut claim = claim.clone();
    claim.status = coracle_api::resource_v1::ResourceClaimStatus::default();
    if let Err(error) = Api::of(client).update_status(&claim).await {
        tracing::debug!(%error, claim = %claim.key(), "a claim could not be deallocated");
    }
}
