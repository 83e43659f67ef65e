//! Devices that pods claim: structured parameters.
//!
//! ```text
//! ResourceSlices, DeviceClasses, ResourceClaims --> Inventory --pools of a node--> Search --picks--> AllocationResult
//! ```
//! Start at [`Inventory::allocate`]: claims and a node in, allocations out; the same in gives the same out.
//! In Kubernetes: `k8s.io/dynamic-resource-allocation/structured`, of which the stable allocator is meant.

mod found;
mod inventory;
mod outcome;
mod pools;
mod request;
mod search;
mod selectors;

pub(crate) use inventory::{Inventory, is_available, is_reserved};

/// A device by the names that make it known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceId {
    pub(crate) driver: String,
    pub(crate) pool: String,
    pub(crate) device: String,
}
