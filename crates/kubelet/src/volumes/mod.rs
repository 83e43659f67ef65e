//! The volumes of a node's pods, and its CSI drivers: how the kubelet uses the crate `volume-manager`, and what it makes
//! for projected volumes.

mod certificate_blocks;
mod certificate_requests;
mod node_info_manager;
mod pod_certificate;
mod pod_certificates;
mod pod_volumes;
mod trust_bundles;

pub(crate) use certificate_requests::CertificateRequests;
pub(crate) use node_info_manager::register_csi_driver;
pub(crate) use pod_certificate::{Credential, PodCertificate};
pub(crate) use pod_certificates::PodCertificates;
pub(crate) use pod_volumes::PodVolumes;
pub(crate) use trust_bundles::trust_anchors;
