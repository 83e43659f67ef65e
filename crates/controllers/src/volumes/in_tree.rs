use coracle_api::core_v1::PersistentVolumeSpec;

/// The prefix of the names of in-tree plugins.
pub(crate) const IN_TREE_PREFIX: &str = "kubernetes.io/";

/// The CSI drivers that replace in-tree plugins. In Kubernetes: `k8s.io/csi-translation-lib`.
const MIGRATED: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// The CSI driver that replaces an in-tree provisioner, if any.
pub(crate) fn csi_name(provisioner: &str) -> Option<&'static str> {
    MIGRATED.iter().find(|(name, _)| *name == provisioner).map(|(_, driver)| *driver)
}

/// The in-tree plugin of a volume. In Kubernetes: `GetInTreePluginNameFromSpec`.
pub(crate) fn in_tree_name(spec: &PersistentVolumeSpec) -> Option<&'static str> {
    let known = [
        ("kubernetes.io/aws-ebs", spec.aws_elastic_block_store.is_some()),
        ("kubernetes.io/azure-disk", spec.azure_disk.is_some()),
        ("kubernetes.io/azure-file", spec.azure_file.is_some()),
        ("kubernetes.io/cinder", spec.cinder.is_some()),
        ("kubernetes.io/gce-pd", spec.gce_persistent_disk.is_some()),
        ("kubernetes.io/portworx-volume", spec.portworx_volume.is_some()),
        ("kubernetes.io/vsphere-volume", spec.vsphere_volume.is_some()),
    ];
    known.into_iter().find(|(_, is_it)| *is_it).map(|(name, _)| name)
}
