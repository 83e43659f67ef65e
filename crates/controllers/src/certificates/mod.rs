//! Certificate signing requests: one controller each approves, signs and cleans up.
//!
//! [`request`] parses the request. In Kubernetes: `pkg/controller/certificates`.

mod approving;
mod cleaning;
mod cleaning_pod_certificates;
mod pod_certificate_signing;
mod request;
mod signing;

pub(crate) use approving::approving;
pub(crate) use cleaning::cleaning;
pub(crate) use cleaning_pod_certificates::cleaning_pod_certificates;
pub(crate) use pod_certificate_signing::pod_certificate_signing;
pub(crate) use signing::signing;
