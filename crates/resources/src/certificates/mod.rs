//! The group `certificates.k8s.io`: requests for certificates, and authorities to trust.

pub(crate) mod certificate_signing_request;
pub(crate) mod cluster_trust_bundle;
pub(crate) mod pod_certificate_request;

mod encoded_certificate;
mod encoded_request;
mod issuance;
mod issued_chain;
mod request_validation;
pub(crate) mod signer_name;
mod stub_request;
mod trust_anchors;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The bytes of a field of type `[]byte`.
fn decoded(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}
