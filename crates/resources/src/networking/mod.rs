//! `networking.k8s.io/v1` and `discovery.k8s.io/v1`.

pub(crate) mod endpoint_slice;
pub(crate) mod ingress;
pub(crate) mod ingress_class;
pub(crate) mod ip_address;
pub(crate) mod network_policy;
pub(crate) mod service_cidr;
