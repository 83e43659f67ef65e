//! Dynamic resource allocation (DRA) with structured parameters.
//!
//! ```text
//! ResourceSlices, DeviceClasses, ResourceClaims --> Inventory --pools of a node--> Search --picks--> AllocationResult
//! ```
//! Start at [`Inventory::allocate`]: claims and a node in, allocations out; the same input gives the same output. In
//! Kubernetes: `k8s.io/dynamic-resource-allocation/structured`, in the stable variant.

mod found;
mod inventory;
mod outcome;
mod pools;
mod request;
mod search;
mod selectors;

pub(crate) use inventory::{Inventory, is_available, is_reserved};

/// The identity of a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceId {
    pub(crate) driver: String,
    pub(crate) pool: String,
    pub(crate) device: String,
}
