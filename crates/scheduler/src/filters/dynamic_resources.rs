use std::sync::Arc;

use coracle_api::resource_v1::ResourceClaim;

use crate::arguments::Arguments;
use crate::devices::is_available;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Rejects nodes where the devices of the pod's claims are not accessible or not available.
#[derive(Debug)]
struct DynamicResources;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(DynamicResources)
}

/// The claims without an allocation.
pub(crate) fn to_allocate(claims: &[Arc<ResourceClaim>]) -> Vec<Arc<ResourceClaim>> {
    claims.iter().filter(|claim| claim.status.allocation.is_none()).cloned().collect()
}

impl Filter for DynamicResources {
    fn name(&self) -> &'static str {
        "DynamicResources"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn refuse(&self, pod: &PodInfo, snapshot: &Snapshot) -> Option<String> {
        snapshot.inventory().refusal(pod).filter(|_| pod.claims_devices())
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        if !pod.claims_devices() {
            return None;
        }
        let claims = snapshot.inventory().claims_of(pod).unwrap_or_default();
        let wanting = to_allocate(&claims);
        // In Kubernetes an invalid request fails the attempt; here it makes the node unresolvable.
        let unresolvable = |why: String| FilterVerdict::Unresolvable([why].into_iter().collect());
        Some(Box::new(move |node| {
            if !wanting.is_empty() {
                match snapshot.inventory().allocate(&wanting, node) {
                    Ok(Some(_)) => {}
                    Ok(None) => return FilterVerdict::unresolvable("cannot allocate all claims"),
                    Err(why) => return unresolvable(why),
                }
            }
            if !claims.iter().all(|claim| is_available(claim, node)) {
                return FilterVerdict::unresolvable("resourceclaim not available on the node");
            }
            FilterVerdict::Fits
        }))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(
            event,
            ClusterEvent::Node { .. }
                | ClusterEvent::ResourceClaim { .. }
                | ClusterEvent::ResourceSlice
                | ClusterEvent::DeviceClass
        )
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::when(match event {
            ClusterEvent::Node { before, after } => before
                .as_ref()
                .is_none_or(|before| before.labels != after.labels || before.allocatable != after.allocatable),
            ClusterEvent::ResourceClaim { key, is_freed } => {
                let names = &pod.resource_claims.names;
                let is_own = pod.key.namespace == key.namespace && names.iter().any(|(name, _)| *name == key.name);
                *is_freed || is_own
            }
            ClusterEvent::ResourceSlice | ClusterEvent::DeviceClass => true,
            _ => false,
        })
    }
}
