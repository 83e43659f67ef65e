//! `resource.k8s.io/v1`: devices that are claimed.

pub(crate) mod device_class;
pub(crate) mod resource_claim;
pub(crate) mod resource_claim_template;
pub(crate) mod resource_slice;

const GROUP: &str = "resource.k8s.io";
