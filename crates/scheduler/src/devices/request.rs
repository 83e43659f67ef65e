use coracle_api::resource_v1::{
    DeviceClass, DeviceRequest, DeviceSelector, DeviceSubRequest, DeviceToleration, ExactDeviceRequest, ResourceClaim,
};
use coracle_meta::Resource;

use super::found::FoundDevice;

/// One alternative of a request.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    /// Its name in results: the request, and after a slash the alternative.
    pub(super) reference: String,
    /// The name of the request, which constraints may use, too.
    pub(super) request: &'a str,
    pub(super) class: &'a DeviceClass,
    pub(super) selectors: &'a [DeviceSelector],
    pub(super) tolerations: &'a [DeviceToleration],
    pub(super) is_admin: bool,
    /// How many devices; with allocation mode `All`, the number of these.
    pub(super) count: usize,
    pub(super) all: Option<Vec<FoundDevice<'a>>>,
}

/// The fields of a request, or of one of its alternatives.
pub(super) struct RequestFields<'a> {
    pub(super) reference: String,
    pub(super) request: &'a str,
    pub(super) name: &'a str,
    pub(super) class: &'a str,
    pub(super) selectors: &'a [DeviceSelector],
    pub(super) tolerations: &'a [DeviceToleration],
    pub(super) is_admin: bool,
    pub(super) mode: &'a str,
    pub(super) count: i64,
}

impl<'a> RequestFields<'a> {
    /// The alternatives of a request, the preferred ones first.
    ///
    /// # Errors
    /// The unsupported field.
    pub(super) fn of(claim: &ResourceClaim, request: &'a DeviceRequest) -> Result<Vec<Self>, String> {
        let off = |feature: &str, what: &str| {
            let key = claim.key();
            format!("resource claim {key}, request {}: {what}, but the {feature} feature is disabled", request.name)
        };
        let asks_for_part = request.exactly.as_ref().is_some_and(|one| one.capacity.is_some())
            || request.first_available.iter().any(|one| one.capacity.is_some());
        if asks_for_part {
            return Err(off("DRAConsumableCapacity", "asks for a part of a device's capacity"));
        }
        match &request.exactly {
            Some(exactly) => Ok(vec![Self::exactly(request, exactly)]),
            None if request.first_available.is_empty() => {
                Err(format!("resource claim {}, request {}: unknown request type", claim.key(), request.name))
            }
            None => Ok(request.first_available.iter().map(|one| Self::alternative(request, one)).collect()),
        }
    }

    fn exactly(request: &'a DeviceRequest, exactly: &'a ExactDeviceRequest) -> Self {
        Self {
            reference: request.name.clone(),
            request: &request.name,
            name: &request.name,
            class: &exactly.device_class_name,
            selectors: &exactly.selectors,
            tolerations: &exactly.tolerations,
            is_admin: exactly.admin_access == Some(true),
            mode: &exactly.allocation_mode,
            count: exactly.count,
        }
    }

    fn alternative(request: &'a DeviceRequest, one: &'a DeviceSubRequest) -> Self {
        Self {
            reference: format!("{}/{}", request.name, one.name),
            request: &request.name,
            name: &one.name,
            class: &one.device_class_name,
            selectors: &one.selectors,
            tolerations: &one.tolerations,
            is_admin: false,
            mode: &one.allocation_mode,
            count: one.count,
        }
    }
}
