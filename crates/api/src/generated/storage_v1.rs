// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `storage.v1.CSIDriver`.
    pub struct CSIDriver("storage.k8s.io/v1", "CSIDriver") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: CSIDriverSpec = "spec",
    }
}
resource!(CSIDriver, "storage.k8s.io", "v1", "CSIDriver", "csidrivers", Cluster);

lean_struct! {
    /// In Kubernetes: `storage.v1.CSIDriverSpec`.
    pub struct CSIDriverSpec {
        attach_required: Option<bool> = "attachRequired",
        fs_group_policy: Option<String> = "fsGroupPolicy",
        node_allocatable_update_period_seconds: Option<i64> = "nodeAllocatableUpdatePeriodSeconds",
        pod_info_on_mount: Option<bool> = "podInfoOnMount",
        prevent_pod_scheduling_if_missing: Option<bool> = "preventPodSchedulingIfMissing",
        requires_republish: Option<bool> = "requiresRepublish",
        se_linux_mount: Option<bool> = "seLinuxMount",
        service_account_token_in_secrets: Option<bool> = "serviceAccountTokenInSecrets",
        storage_capacity: Option<bool> = "storageCapacity",
        token_requests: Vec<TokenRequest> = "tokenRequests",
        volume_lifecycle_modes: Vec<String> = "volumeLifecycleModes",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.CSINode`.
    pub struct CSINode("storage.k8s.io/v1", "CSINode") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: CSINodeSpec = "spec",
        status: CSINodeStatus = "status",
    }
}
resource!(CSINode, "storage.k8s.io", "v1", "CSINode", "csinodes", Cluster);

lean_struct! {
    /// In Kubernetes: `storage.v1.CSINodeDriver`.
    pub struct CSINodeDriver {
        allocatable: Option<Box<VolumeNodeResources>> = "allocatable",
        name: String = "name",
        node_id: String = "nodeID",
        topology_keys: Vec<String> = "topologyKeys",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.CSINodeSpec`.
    pub struct CSINodeSpec {
        drivers: Vec<CSINodeDriver> = "drivers",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.CSINodeStatus`.
    pub struct CSINodeStatus {
        storage_health: Vec<StorageHealth> = "storageHealth",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.CSIStorageCapacity`.
    pub struct CSIStorageCapacity("storage.k8s.io/v1", "CSIStorageCapacity") {
        capacity: Option<coracle_meta::Quantity> = "capacity",
        maximum_volume_size: Option<coracle_meta::Quantity> = "maximumVolumeSize",
        metadata: coracle_meta::ObjectMeta = "metadata",
        node_topology: Option<Box<super::meta_v1::LabelSelector>> = "nodeTopology",
        storage_class_name: String = "storageClassName",
    }
}
resource!(CSIStorageCapacity, "storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", Namespaced);

lean_struct! {
    /// In Kubernetes: `storage.v1.StorageClass`.
    pub struct StorageClass("storage.k8s.io/v1", "StorageClass") {
        allow_volume_expansion: Option<bool> = "allowVolumeExpansion",
        allowed_topologies: Vec<super::core_v1::TopologySelectorTerm> = "allowedTopologies",
        metadata: coracle_meta::ObjectMeta = "metadata",
        mount_options: Vec<String> = "mountOptions",
        parameters: BTreeMap<String, String> = "parameters",
        provisioner: String = "provisioner",
        reclaim_policy: Option<String> = "reclaimPolicy",
        volume_binding_mode: Option<String> = "volumeBindingMode",
    }
}
resource!(StorageClass, "storage.k8s.io", "v1", "StorageClass", "storageclasses", Cluster);

lean_struct! {
    /// In Kubernetes: `storage.v1.StorageHealth`.
    pub struct StorageHealth {
        health_conditions: Vec<StorageHealthCondition> = "healthConditions",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.StorageHealthCondition`.
    pub struct StorageHealthCondition {
        access_mode: Option<String> = "accessMode",
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason",
        status: String = "status",
        volume_mode: Option<String> = "volumeMode",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.TokenRequest`.
    pub struct TokenRequest {
        audience: String = "audience",
        expiration_seconds: Option<i64> = "expirationSeconds",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeAttachment`.
    pub struct VolumeAttachment("storage.k8s.io/v1", "VolumeAttachment") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: VolumeAttachmentSpec = "spec",
        status: VolumeAttachmentStatus = "status",
    }
}
resource!(VolumeAttachment, "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", Cluster);

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeAttachmentSource`.
    pub struct VolumeAttachmentSource {
        inline_volume_spec: Option<Box<super::core_v1::PersistentVolumeSpec>> = "inlineVolumeSpec",
        persistent_volume_name: Option<String> = "persistentVolumeName",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeAttachmentSpec`.
    pub struct VolumeAttachmentSpec {
        attacher: String = "attacher",
        node_name: String = "nodeName",
        source: VolumeAttachmentSource = "source",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeAttachmentStatus`.
    pub struct VolumeAttachmentStatus {
        attach_error: Option<Box<VolumeError>> = "attachError",
        attached: bool = "attached",
        attachment_metadata: BTreeMap<String, String> = "attachmentMetadata",
        detach_error: Option<Box<VolumeError>> = "detachError",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeAttributesClass`.
    pub struct VolumeAttributesClass("storage.k8s.io/v1", "VolumeAttributesClass") {
        driver_name: String = "driverName",
        metadata: coracle_meta::ObjectMeta = "metadata",
        parameters: BTreeMap<String, String> = "parameters",
    }
}
resource!(VolumeAttributesClass, "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", Cluster);

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeError`.
    pub struct VolumeError {
        error_code: Option<i32> = "errorCode",
        message: String = "message" if nonzero,
        time: Option<String> = "time",
    }
}

lean_struct! {
    /// In Kubernetes: `storage.v1.VolumeNodeResources`.
    pub struct VolumeNodeResources {
        count: Option<i32> = "count",
    }
}
