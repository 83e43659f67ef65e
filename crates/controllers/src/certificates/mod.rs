//! Certificate signing requests: one controller each approves, signs and cleans up.
//!
//! [`request`] parses the request. In Kubernetes: `pkg/controller/certificates`.

mod approving;
mod cleaning;
mod request;
mod signing;

pub(crate) use approving::approving;
pub(crate) use cleaning::cleaning;
pub(crate) use signing::signing;
