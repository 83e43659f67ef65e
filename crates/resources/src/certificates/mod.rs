//! The group `certificates.k8s.io`: requests for certificates.

pub(crate) mod certificate_signing_request;

mod encoded_certificate;
mod encoded_request;
mod request_validation;
mod signer_name;
