use std::collections::BTreeMap;
use std::time::Duration;

use coracle_api::core_v1::Node;
use coracle_api::storage_v1::CSINodeDriver;

/// What a driver has to know about a volume: annotations of its claim and PersistentVolume, or of its pod. In CSI:
/// `volume_context`.
pub type VolumeContext = BTreeMap<String, String>;

/// The calls of a CSI driver's node service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCall {
    /// Mounts a volume on the node, once for all pods.
    NodeStageVolume,
    /// Undoes [`NodeStageVolume`](Self::NodeStageVolume).
    NodeUnstageVolume,
    /// Mounts a volume for a pod.
    NodePublishVolume,
    /// Undoes [`NodePublishVolume`](Self::NodePublishVolume).
    NodeUnpublishVolume,
    /// Expands the file system of a volume.
    NodeExpandVolume,
}

/// How a call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// With success.
    Succeeds,
    /// With this gRPC error.
    Fails(String),
    /// Never: the caller gives up at its timeout.
    Hangs,
}

/// The result of a call, known when the call starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// How long the call takes.
    pub takes: Duration,
    /// How it ends.
    pub end: CallEnd,
}

/// The node service of a CSI driver: the driver's part on each node, which the kubelet calls.
///
/// In Kubernetes: a socket below `/var/lib/kubelet/plugins_registry`. Unlike Kubernetes: a function call, without gRPC.
pub trait NodeService: Send + Sync {
    /// The name of the driver. In CSI: `GetPluginInfo`.
    fn name(&self) -> &str;

    /// The driver's entry in the CSINode of a node: node id, topology keys, volume limit. In CSI: `NodeGetInfo`.
    fn node_info(&self, node: &Node) -> CSINodeDriver;

    /// What the driver needs of the annotations of a claim, a PersistentVolume or a pod.
    fn volume_context(&self, annotations: &BTreeMap<String, String>) -> VolumeContext;

    /// Makes a call for a volume.
    fn call(&self, call: NodeCall, context: &VolumeContext) -> CallResult;
}
