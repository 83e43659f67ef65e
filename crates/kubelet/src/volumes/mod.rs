//! The volumes of a node's pods, and its CSI drivers: how the kubelet uses the crate `volume-manager`.

mod node_info_manager;
mod pod_volumes;

pub(crate) use node_info_manager::register_csi_driver;
pub(crate) use pod_volumes::PodVolumes;
