use std::sync::Arc;

use coracle_api::resource_v1::ResourceClaim;
use coracle_meta::Resource;
use tokio::time::Instant;

use super::SchedulerState;
use crate::devices::{Inventory, is_reserved};
use crate::filters::to_allocate;
use crate::framework::ClusterEvent;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::reserved::ReservedClaim;
use crate::snapshot::Snapshot;

impl SchedulerState {
    /// The devices.
    pub(crate) fn inventory_mut(&mut self) -> &mut Inventory {
        self.cache.inventory_mut()
    }

    /// A ResourceClaim was added, changed or deleted; `old` is its previous version, if known.
    pub fn resource_claim(
        &mut self,
        old: Option<&ResourceClaim>,
        claim: &Arc<ResourceClaim>,
        is_gone: bool,
        now: Instant,
    ) {
        let key = claim.key();
        self.cache.inventory_mut().set_claim(&key, (!is_gone).then(|| claim.clone()));
        let had = old.is_some_and(|old| old.status.allocation.is_some());
        let is_freed = had && claim.status.allocation.is_none();
        let is_news = old.is_none_or(|old| old.status != claim.status);
        if !is_gone && (is_news || is_freed) {
            self.tell(&ClusterEvent::ResourceClaim { key: key.clone(), is_freed }, now);
        }
        // Pods that waited for its creation are queued.
        let of_namespace = self.gated.values().filter(|pod| pod.metadata.namespace.as_deref() == Some(&key.namespace));
        for pod in of_namespace.cloned().collect::<Vec<_>>() {
            self.pod(None, &pod, &[], now);
        }
    }
}

/// The pod's ResourceClaims that must be allocated, or reserved for it, before it is bound.
pub(super) fn claims_to_bind(info: &PodInfo, snapshot: &Snapshot, node: &NodeInfo) -> Vec<ReservedClaim> {
    if !info.claims_devices() {
        return Vec::new();
    }
    let claims = snapshot.inventory().claims_of(info).unwrap_or_default();
    let wanting = to_allocate(&claims);
    // The node was chosen because this allocation succeeded with the current state.
    let found = snapshot.inventory().allocate(&wanting, node).ok().flatten().unwrap_or_default();
    let mut allocations = found.into_iter();
    let unreserved = claims.into_iter().filter(|claim| !is_reserved(claim, info));
    unreserved
        .map(|claim| {
            let allocation = if claim.status.allocation.is_none() { allocations.next() } else { None };
            ReservedClaim { claim, allocation }
        })
        .collect()
}
