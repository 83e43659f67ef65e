use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use coracle_kubelet_api::save_format;
use coracle_meta::{ObjectKey, Quantity};
use serde::{Deserialize, Serialize};

/// Identifies a pod by its uid.
pub(crate) type PodUid = Arc<str>;

/// The unique name of a volume on a node; an attachable volume has the same name on all nodes. In Kubernetes:
/// `v1.UniqueVolumeName`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct UniqueName(pub(crate) Arc<str>);

impl fmt::Display for UniqueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The spec of a volume. In Kubernetes: `volume.Spec`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VolumeSpec {
    /// Its name in messages: that of the PersistentVolume, or of the volume in the pod.
    pub(crate) name: String,
    pub(crate) unique_name: UniqueName,
    pub(crate) source: VolumeSource,
}

/// The source of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum VolumeSource {
    /// The node creates it from the pod and the objects that the pod refers to.
    Local,
    /// It is on the node's image store or disk, which are empty.
    Host,
    /// A driver creates it for one pod.
    Inline(Driver),
    /// It is a PersistentVolume of a driver.
    Csi(Box<CsiVolume>),
}

/// The driver of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Driver {
    pub(crate) name: String,
    /// The annotations that set the driver's behaviour: those of claim and volume, or those of the pod.
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A PersistentVolume of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CsiVolume {
    pub(crate) driver: Driver,
    /// The driver's handle of the volume.
    pub(crate) handle: String,
    /// Whether it has to be attached to a node first.
    pub(crate) is_attachable: bool,
    /// Whether only one pod may use it.
    pub(crate) is_for_one_pod: bool,
    /// Whether it is a block device without a file system.
    pub(crate) is_block: bool,
    /// Whether this node can reach it.
    pub(crate) is_reachable: bool,
    #[serde(with = "save_format::key")]
    pub(crate) claim: ObjectKey,
    /// The size of the volume and the size in the claim's status, if the node has to expand the file system.
    pub(crate) growth: Option<(Quantity, Quantity)>,
}

impl VolumeSpec {
    /// Whether a driver has to attach it before a node can mount it. In Kubernetes: `PluginIsAttachable`.
    pub(crate) fn is_attachable(&self) -> bool {
        matches!(&self.source, VolumeSource::Csi(volume) if volume.is_attachable)
    }

    /// Whether it is mounted on the node first, for all pods. In Kubernetes: `PluginIsDeviceMountable`.
    pub(crate) fn is_device_mountable(&self) -> bool {
        matches!(&self.source, VolumeSource::Csi(_))
    }

    /// Its driver, if it has one.
    pub(crate) fn driver(&self) -> Option<&Driver> {
        match &self.source {
            VolumeSource::Csi(volume) => Some(&volume.driver),
            VolumeSource::Inline(driver) => Some(driver),
            VolumeSource::Local | VolumeSource::Host => None,
        }
    }

    pub(crate) fn csi(&self) -> Option<&CsiVolume> {
        match &self.source {
            VolumeSource::Csi(volume) => Some(volume),
            _ => None,
        }
    }
}
