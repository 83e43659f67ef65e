//! What the node keeps of pod certificates, and the trust anchors of trust bundles. Decisions only: `sync` makes the
//! requests.

mod certificate_blocks;
mod pod_certificate;
mod pod_certificates;
mod trust_bundles;

pub(crate) use pod_certificate::{Credential, PodCertificate};
pub(crate) use pod_certificates::PodCertificates;
pub(crate) use trust_bundles::trust_anchors;
