use coracle_api::resource_v1::{Device, DeviceAttribute, ResourceSlice};

use super::DeviceId;
use super::pools::Pool;

/// A device in its slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundDevice<'a> {
    pub(super) pool: &'a Pool,
    pub(super) slice: &'a ResourceSlice,
    pub(super) device: &'a Device,
}

impl FoundDevice<'_> {
    pub(super) fn id(&self) -> DeviceId {
        let (driver, pool) = (self.pool.driver.clone(), self.pool.name.clone());
        DeviceId { driver, pool, device: self.device.name.clone() }
    }
}

/// The devices of a pool that a node can access.
pub(super) fn devices(pool: &Pool) -> impl Iterator<Item = FoundDevice<'_>> {
    let slices = pool.slices.iter();
    slices.flat_map(move |slice| slice.spec.devices.iter().map(move |device| FoundDevice { pool, slice, device }))
}

/// In Kubernetes: `lookupAttribute`.
pub(super) fn attribute<'a>(found: &FoundDevice<'a>, name: &str) -> Option<&'a DeviceAttribute> {
    let attributes = &found.device.attributes;
    let of_driver = || {
        let (domain, name) = name.split_once('/')?;
        attributes.get(name).filter(|_| domain == found.pool.driver)
    };
    attributes.get(name).or_else(of_driver)
}
