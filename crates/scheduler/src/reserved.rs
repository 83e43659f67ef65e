use std::sync::Arc;

use coracle_api::resource_v1::{AllocationResult, ResourceClaim};

use crate::filters::Placed;
use crate::pod_info::Unbound;

/// What is done for a pod before it is bound to its node. In Kubernetes: what `Reserve` leaves for `PreBind`.
#[derive(Clone, Debug, Default)]
pub struct Reserved {
    /// The claims on volumes that waited for it, and what each gets.
    pub volumes: Vec<(Unbound, Placed)>,
    /// The claims on devices that are not yet reserved for it.
    pub claims: Vec<ReservedClaim>,
}

/// A claim on devices that a pod is going to use.
#[derive(Clone, Debug)]
pub struct ReservedClaim {
    /// The claim.
    pub claim: Arc<ResourceClaim>,
    /// Its devices; none if it has them.
    pub allocation: Option<AllocationResult>,
}

impl Reserved {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty() && self.claims.is_empty()
    }
}
