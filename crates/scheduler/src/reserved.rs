use std::sync::Arc;

use coracle_api::resource_v1::{AllocationResult, ResourceClaim};

use crate::filters::Placed;
use crate::pod_info::Unbound;

/// What must be done for a pod before it is bound. In Kubernetes: what `Reserve` leaves for `PreBind`.
#[derive(Clone, Debug, Default)]
pub struct Reserved {
    /// The volume claims that waited for the pod, with the choice for each.
    pub volumes: Vec<(Unbound, Placed)>,
    /// The ResourceClaims that are not yet reserved for it.
    pub claims: Vec<ReservedClaim>,
}

/// A ResourceClaim that a pod will use.
#[derive(Clone, Debug)]
pub struct ReservedClaim {
    /// The claim.
    pub claim: Arc<ResourceClaim>,
    /// The new allocation; `None` if it is already allocated.
    pub allocation: Option<AllocationResult>,
}

impl Reserved {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty() && self.claims.is_empty()
    }
}
