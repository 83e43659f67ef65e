//! The types of volumes, and which of them are simulated.

use coracle_api::core_v1::{PersistentVolumeSpec, Volume};

/// How a type of volume is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    /// The node creates it; the name is the plug-in's.
    Local(&'static str),
    /// It is on the node already.
    Host(&'static str),
    /// A CSI driver creates it for the pod.
    Inline,
    /// A claim refers to it.
    Claim,
    /// It is not simulated.
    Absent(&'static str),
}

/// Whether a plug-in handles a volume of a pod.
type IsMeant = fn(&Volume) -> bool;

/// The plug-ins for the volumes of a pod, and which volumes each handles. To add one, add a line here. In Kubernetes:
/// `cmd/kubelet/app/plugins.go`.
const PLUGINS: &[(Plugin, IsMeant)] = &[
    (Plugin::Claim, |volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some()),
    (Plugin::Local("kubernetes.io/empty-dir"), |volume| volume.empty_dir.is_some()),
    (Plugin::Local("kubernetes.io/configmap"), |volume| volume.config_map.is_some()),
    (Plugin::Local("kubernetes.io/secret"), |volume| volume.secret.is_some()),
    (Plugin::Local("kubernetes.io/projected"), |volume| volume.projected.is_some()),
    (Plugin::Local("kubernetes.io/downward-api"), |volume| volume.downward_api.is_some()),
    (Plugin::Host("kubernetes.io/host-path"), |volume| volume.host_path.is_some()),
    (Plugin::Host("kubernetes.io/image"), |volume| volume.image.is_some()),
    (Plugin::Inline, |volume| volume.csi.is_some()),
    (Plugin::Absent("nfs"), |volume| volume.nfs.is_some()),
    (Plugin::Absent("iscsi"), |volume| volume.iscsi.is_some()),
    (Plugin::Absent("fc"), |volume| volume.fc.is_some()),
    (Plugin::Absent("flexVolume"), |volume| volume.flex_volume.is_some()),
    (Plugin::Absent("gitRepo"), |volume| volume.git_repo.is_some()),
    (Plugin::Absent("cephfs"), |volume| volume.cephfs.is_some()),
    (Plugin::Absent("rbd"), |volume| volume.rbd.is_some()),
    (Plugin::Absent("glusterfs"), |volume| volume.glusterfs.is_some()),
    (Plugin::Absent("awsElasticBlockStore"), |volume| volume.aws_elastic_block_store.is_some()),
    (Plugin::Absent("azureDisk"), |volume| volume.azure_disk.is_some()),
    (Plugin::Absent("azureFile"), |volume| volume.azure_file.is_some()),
    (Plugin::Absent("cinder"), |volume| volume.cinder.is_some()),
    (Plugin::Absent("gcePersistentDisk"), |volume| volume.gce_persistent_disk.is_some()),
    (Plugin::Absent("portworxVolume"), |volume| volume.portworx_volume.is_some()),
    (Plugin::Absent("vsphereVolume"), |volume| volume.vsphere_volume.is_some()),
];

/// The plug-in of a volume of a pod.
pub(crate) fn plugin(volume: &Volume) -> Plugin {
    let found = PLUGINS.iter().find(|(_, is_meant)| is_meant(volume));
    found.map_or(Plugin::Absent("unknown"), |(plugin, _)| *plugin)
}

/// The plug-in of a PersistentVolume without a CSI driver, or its type if it is not simulated.
pub(crate) fn persistent(spec: &PersistentVolumeSpec) -> Plugin {
    let known = [
        (Plugin::Inline, spec.csi.is_some()),
        (Plugin::Host("kubernetes.io/host-path"), spec.host_path.is_some()),
        (Plugin::Host("kubernetes.io/local-volume"), spec.local.is_some()),
        (Plugin::Absent("nfs"), spec.nfs.is_some()),
        (Plugin::Absent("iscsi"), spec.iscsi.is_some()),
        (Plugin::Absent("fc"), spec.fc.is_some()),
    ];
    known.into_iter().find(|(_, is_it)| *is_it).map_or(Plugin::Absent("unknown"), |(plugin, _)| plugin)
}

/// The error for a volume of a type that is not simulated.
pub(crate) fn absent(sort: &str) -> String {
    format!("volumes of type {sort} are not simulated")
}
