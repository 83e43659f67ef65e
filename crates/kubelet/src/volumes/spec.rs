use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use coracle_meta::{ObjectKey, Quantity};
use serde::{Deserialize, Serialize};

use crate::written;

/// Which pod: its uid.
pub(crate) type PodUid = Arc<str>;

/// What nodes call a volume, the same wherever it is if it can be attached.
/// In Kubernetes: `v1.UniqueVolumeName`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct UniqueName(pub(crate) Arc<str>);

impl fmt::Display for UniqueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a volume is. In Kubernetes: `volume.Spec`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VolumeSpec {
    /// What it is called in messages: the PersistentVolume, or the volume of the pod.
    pub(crate) name: String,
    pub(crate) unique_name: UniqueName,
    pub(crate) source: Source,
}

/// Where a volume comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Source {
    /// It is made on the node, from the pod and what it names.
    Local,
    /// It is in the node's image store, or on its own disk, which are empty.
    Host,
    /// A driver makes it for one pod.
    Inline(Driver),
    /// It is a PersistentVolume of a driver.
    Csi(Box<CsiVolume>),
}

/// The driver of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Driver {
    pub(crate) name: String,
    /// What the annotations of claim and volume say of the driver's behaviour, or those of the pod.
    pub(crate) told: BTreeMap<String, String>,
}

/// A PersistentVolume of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CsiVolume {
    pub(crate) driver: Driver,
    /// What the driver calls it.
    pub(crate) handle: String,
    /// Whether it has to be attached to a node first.
    pub(crate) is_attachable: bool,
    /// Whether one pod alone may use it.
    pub(crate) is_for_one_pod: bool,
    /// Whether it is a device and no file system.
    pub(crate) is_block: bool,
    /// Whether it can be reached from this node.
    pub(crate) is_reachable: bool,
    #[serde(with = "written::key")]
    pub(crate) claim: ObjectKey,
    /// How large the volume is, and how large the claim knows it to be, if a node is to see to its file system.
    pub(crate) growth: Option<(Quantity, Quantity)>,
}

impl VolumeSpec {
    /// Whether a driver has to attach it before a node can mount it. In Kubernetes: `PluginIsAttachable`.
    pub(crate) fn is_attachable(&self) -> bool {
        matches!(&self.source, Source::Csi(volume) if volume.is_attachable)
    }

    /// Whether it is mounted once for all pods of the node first. In Kubernetes: `PluginIsDeviceMountable`.
    pub(crate) fn is_device_mountable(&self) -> bool {
        matches!(&self.source, Source::Csi(_))
    }

    /// The driver, if it has one.
    pub(crate) fn driver(&self) -> Option<&Driver> {
        match &self.source {
            Source::Csi(volume) => Some(&volume.driver),
            Source::Inline(driver) => Some(driver),
            Source::Local | Source::Host => None,
        }
    }

    pub(crate) fn csi(&self) -> Option<&CsiVolume> {
        match &self.source {
            Source::Csi(volume) => Some(volume),
            _ => None,
        }
    }
}
