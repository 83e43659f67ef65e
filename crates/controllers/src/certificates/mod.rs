//! Certificate signing requests: approved, signed and cleaned up, by a controller each.
//!
//! [`request`] reads what is asked for. In Kubernetes: `pkg/controller/certificates`.

mod approving;
mod cleaning;
mod request;
mod signing;

pub(crate) use approving::approving;
pub(crate) use cleaning::cleaning;
pub(crate) use signing::signing;
