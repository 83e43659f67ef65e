// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `core.v1.AWSElasticBlockStoreVolumeSource`.
    pub struct AWSElasticBlockStoreVolumeSource {
        fs_type: String = "fsType" if nonzero,
        partition: i32 = "partition" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        volume_id: String = "volumeID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Affinity`.
    pub struct Affinity {
        node_affinity: Option<Box<NodeAffinity>> = "nodeAffinity",
        pod_affinity: Option<Box<PodAffinity>> = "podAffinity",
        pod_anti_affinity: Option<Box<PodAntiAffinity>> = "podAntiAffinity",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.AppArmorProfile`.
    pub struct AppArmorProfile {
        localhost_profile: Option<String> = "localhostProfile",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.AttachedVolume`.
    pub struct AttachedVolume {
        device_path: String = "devicePath",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.AzureDiskVolumeSource`.
    pub struct AzureDiskVolumeSource {
        caching_mode: Option<String> = "cachingMode",
        disk_name: String = "diskName",
        disk_uri: String = "diskURI",
        fs_type: Option<String> = "fsType",
        kind: Option<String> = "kind",
        read_only: Option<bool> = "readOnly",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.AzureFilePersistentVolumeSource`.
    pub struct AzureFilePersistentVolumeSource {
        read_only: bool = "readOnly" if nonzero,
        secret_name: String = "secretName",
        secret_namespace: Option<String> = "secretNamespace",
        share_name: String = "shareName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.AzureFileVolumeSource`.
    pub struct AzureFileVolumeSource {
        read_only: bool = "readOnly" if nonzero,
        secret_name: String = "secretName",
        share_name: String = "shareName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Binding`.
    pub struct Binding("v1", "Binding") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        target: ObjectReference = "target",
    }
}
resource!(Binding, "", "v1", "Binding", "bindings", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.CSIPersistentVolumeSource`.
    pub struct CSIPersistentVolumeSource {
        controller_expand_secret_ref: Option<Box<SecretReference>> = "controllerExpandSecretRef",
        controller_publish_secret_ref: Option<Box<SecretReference>> = "controllerPublishSecretRef",
        driver: String = "driver",
        fs_type: String = "fsType" if nonzero,
        node_expand_secret_ref: Option<Box<SecretReference>> = "nodeExpandSecretRef",
        node_publish_secret_ref: Option<Box<SecretReference>> = "nodePublishSecretRef",
        node_stage_secret_ref: Option<Box<SecretReference>> = "nodeStageSecretRef",
        read_only: bool = "readOnly" if nonzero,
        volume_attributes: BTreeMap<String, String> = "volumeAttributes",
        volume_handle: String = "volumeHandle",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.CSIVolumeSource`.
    pub struct CSIVolumeSource {
        driver: String = "driver",
        fs_type: Option<String> = "fsType",
        node_publish_secret_ref: Option<Box<LocalObjectReference>> = "nodePublishSecretRef",
        read_only: Option<bool> = "readOnly",
        volume_attributes: BTreeMap<String, String> = "volumeAttributes",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Capabilities`.
    pub struct Capabilities {
        add: Vec<String> = "add",
        drop: Vec<String> = "drop",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.CephFSPersistentVolumeSource`.
    pub struct CephFSPersistentVolumeSource {
        monitors: Vec<String> = "monitors",
        path: String = "path" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_file: String = "secretFile" if nonzero,
        secret_ref: Option<Box<SecretReference>> = "secretRef",
        user: String = "user" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.CephFSVolumeSource`.
    pub struct CephFSVolumeSource {
        monitors: Vec<String> = "monitors",
        path: String = "path" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_file: String = "secretFile" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
        user: String = "user" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.CinderPersistentVolumeSource`.
    pub struct CinderPersistentVolumeSource {
        fs_type: String = "fsType" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<SecretReference>> = "secretRef",
        volume_id: String = "volumeID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.CinderVolumeSource`.
    pub struct CinderVolumeSource {
        fs_type: String = "fsType" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
        volume_id: String = "volumeID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ClientIPConfig`.
    pub struct ClientIPConfig {
        timeout_seconds: Option<i32> = "timeoutSeconds",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ClusterTrustBundleProjection`.
    pub struct ClusterTrustBundleProjection {
        label_selector: Option<Box<super::meta_v1::LabelSelector>> = "labelSelector",
        name: Option<String> = "name",
        optional: Option<bool> = "optional",
        path: String = "path",
        signer_name: Option<String> = "signerName",
        user: Option<i64> = "user",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ComponentCondition`.
    pub struct ComponentCondition {
        error: String = "error" if nonzero,
        message: String = "message" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ComponentStatus`.
    pub struct ComponentStatus("v1", "ComponentStatus") {
        conditions: Vec<ComponentCondition> = "conditions",
        metadata: coracle_meta::ObjectMeta = "metadata",
    }
}
resource!(ComponentStatus, "", "v1", "ComponentStatus", "componentstatuses", Cluster);

lean_struct! {
    /// In Kubernetes: `core.v1.ConfigMap`.
    pub struct ConfigMap("v1", "ConfigMap") {
        binary_data: BTreeMap<String, String> = "binaryData",
        data: BTreeMap<String, String> = "data",
        immutable: Option<bool> = "immutable",
        metadata: coracle_meta::ObjectMeta = "metadata",
    }
}
resource!(ConfigMap, "", "v1", "ConfigMap", "configmaps", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.ConfigMapEnvSource`.
    pub struct ConfigMapEnvSource {
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ConfigMapKeySelector`.
    pub struct ConfigMapKeySelector {
        key: String = "key",
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ConfigMapNodeConfigSource`.
    pub struct ConfigMapNodeConfigSource {
        kubelet_config_key: String = "kubeletConfigKey",
        name: String = "name",
        namespace: String = "namespace",
        resource_version: String = "resourceVersion" if nonzero,
        uid: String = "uid" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ConfigMapProjection`.
    pub struct ConfigMapProjection {
        items: Vec<KeyToPath> = "items",
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ConfigMapVolumeSource`.
    pub struct ConfigMapVolumeSource {
        default_mode: Option<i32> = "defaultMode",
        default_user: Option<i64> = "defaultUser",
        items: Vec<KeyToPath> = "items",
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Container`.
    pub struct Container {
        args: Vec<String> = "args",
        command: Vec<String> = "command",
        env: Vec<EnvVar> = "env",
        env_from: Vec<EnvFromSource> = "envFrom",
        image: String = "image" if nonzero,
        image_pull_policy: String = "imagePullPolicy" if nonzero,
        lifecycle: Option<Box<Lifecycle>> = "lifecycle",
        liveness_probe: Option<Box<Probe>> = "livenessProbe",
        name: String = "name",
        ports: Vec<ContainerPort> = "ports",
        readiness_probe: Option<Box<Probe>> = "readinessProbe",
        resize_policy: Vec<ContainerResizePolicy> = "resizePolicy",
        resources: ResourceRequirements = "resources",
        restart_policy: Option<String> = "restartPolicy",
        restart_policy_rules: Vec<ContainerRestartRule> = "restartPolicyRules",
        security_context: Option<Box<SecurityContext>> = "securityContext",
        startup_probe: Option<Box<Probe>> = "startupProbe",
        stdin: bool = "stdin" if nonzero,
        stdin_once: bool = "stdinOnce" if nonzero,
        termination_message_path: String = "terminationMessagePath" if nonzero,
        termination_message_policy: String = "terminationMessagePolicy" if nonzero,
        tty: bool = "tty" if nonzero,
        volume_devices: Vec<VolumeDevice> = "volumeDevices",
        volume_mounts: Vec<VolumeMount> = "volumeMounts",
        working_dir: String = "workingDir" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerExtendedResourceRequest`.
    pub struct ContainerExtendedResourceRequest {
        container_name: String = "containerName",
        request_name: String = "requestName",
        resource_name: String = "resourceName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerImage`.
    pub struct ContainerImage {
        names: Vec<String> = "names",
        size_bytes: i64 = "sizeBytes" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerPort`.
    pub struct ContainerPort {
        container_port: i32 = "containerPort",
        host_ip: String = "hostIP" if nonzero,
        host_port: i32 = "hostPort" if nonzero,
        name: String = "name" if nonzero,
        protocol: String = "protocol" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerResizePolicy`.
    pub struct ContainerResizePolicy {
        resource_name: String = "resourceName",
        restart_policy: String = "restartPolicy",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerRestartRule`.
    pub struct ContainerRestartRule {
        action: String = "action" if nonzero,
        exit_codes: Option<Box<ContainerRestartRuleOnExitCodes>> = "exitCodes",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerRestartRuleOnExitCodes`.
    pub struct ContainerRestartRuleOnExitCodes {
        operator: String = "operator" if nonzero,
        values: Vec<i32> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerState`.
    pub struct ContainerState {
        running: Option<Box<ContainerStateRunning>> = "running",
        terminated: Option<Box<ContainerStateTerminated>> = "terminated",
        waiting: Option<Box<ContainerStateWaiting>> = "waiting",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerStateRunning`.
    pub struct ContainerStateRunning {
        started_at: Option<String> = "startedAt",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerStateTerminated`.
    pub struct ContainerStateTerminated {
        container_id: String = "containerID" if nonzero,
        exit_code: i32 = "exitCode",
        finished_at: Option<String> = "finishedAt",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        signal: i32 = "signal" if nonzero,
        started_at: Option<String> = "startedAt",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerStateWaiting`.
    pub struct ContainerStateWaiting {
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerStatus`.
    pub struct ContainerStatus {
        allocated_resources: BTreeMap<String, coracle_meta::Quantity> = "allocatedResources",
        allocated_resources_status: Vec<ResourceStatus> = "allocatedResourcesStatus",
        container_id: String = "containerID" if nonzero,
        image: String = "image",
        image_id: String = "imageID",
        last_state: ContainerState = "lastState",
        name: String = "name",
        ready: bool = "ready",
        resources: Option<Box<ResourceRequirements>> = "resources",
        restart_count: i32 = "restartCount",
        started: Option<bool> = "started",
        state: ContainerState = "state",
        stop_signal: Option<String> = "stopSignal",
        user: Option<Box<ContainerUser>> = "user",
        volume_mounts: Vec<VolumeMountStatus> = "volumeMounts",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ContainerUser`.
    pub struct ContainerUser {
        linux: Option<Box<LinuxContainerUser>> = "linux",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.DaemonEndpoint`.
    pub struct DaemonEndpoint {
        port: i32 = "Port",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.DownwardAPIProjection`.
    pub struct DownwardAPIProjection {
        items: Vec<DownwardAPIVolumeFile> = "items",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.DownwardAPIVolumeFile`.
    pub struct DownwardAPIVolumeFile {
        field_ref: Option<Box<ObjectFieldSelector>> = "fieldRef",
        mode: Option<i32> = "mode",
        path: String = "path",
        resource_field_ref: Option<Box<ResourceFieldSelector>> = "resourceFieldRef",
        user: Option<i64> = "user",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.DownwardAPIVolumeSource`.
    pub struct DownwardAPIVolumeSource {
        default_mode: Option<i32> = "defaultMode",
        default_user: Option<i64> = "defaultUser",
        items: Vec<DownwardAPIVolumeFile> = "items",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EmptyDirVolumeSource`.
    pub struct EmptyDirVolumeSource {
        medium: String = "medium" if nonzero,
        mode: Option<i32> = "mode",
        size_limit: Option<coracle_meta::Quantity> = "sizeLimit",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EndpointAddress`.
    pub struct EndpointAddress {
        hostname: String = "hostname" if nonzero,
        ip: String = "ip",
        node_name: Option<String> = "nodeName",
        target_ref: Option<Box<ObjectReference>> = "targetRef",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EndpointPort`.
    pub struct EndpointPort {
        app_protocol: Option<String> = "appProtocol",
        name: String = "name" if nonzero,
        port: i32 = "port",
        protocol: String = "protocol" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EndpointSubset`.
    pub struct EndpointSubset {
        addresses: Vec<EndpointAddress> = "addresses",
        not_ready_addresses: Vec<EndpointAddress> = "notReadyAddresses",
        ports: Vec<EndpointPort> = "ports",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Endpoints`.
    pub struct Endpoints("v1", "Endpoints") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        subsets: Vec<EndpointSubset> = "subsets",
    }
}
resource!(Endpoints, "", "v1", "Endpoints", "endpoints", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.EnvFromSource`.
    pub struct EnvFromSource {
        config_map_ref: Option<Box<ConfigMapEnvSource>> = "configMapRef",
        prefix: String = "prefix" if nonzero,
        secret_ref: Option<Box<SecretEnvSource>> = "secretRef",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EnvVar`.
    pub struct EnvVar {
        name: String = "name",
        value: String = "value" if nonzero,
        value_from: Option<Box<EnvVarSource>> = "valueFrom",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EnvVarSource`.
    pub struct EnvVarSource {
        config_map_key_ref: Option<Box<ConfigMapKeySelector>> = "configMapKeyRef",
        field_ref: Option<Box<ObjectFieldSelector>> = "fieldRef",
        file_key_ref: Option<Box<FileKeySelector>> = "fileKeyRef",
        resource_field_ref: Option<Box<ResourceFieldSelector>> = "resourceFieldRef",
        secret_key_ref: Option<Box<SecretKeySelector>> = "secretKeyRef",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EphemeralContainer`.
    pub struct EphemeralContainer {
        args: Vec<String> = "args",
        command: Vec<String> = "command",
        env: Vec<EnvVar> = "env",
        env_from: Vec<EnvFromSource> = "envFrom",
        image: String = "image" if nonzero,
        image_pull_policy: String = "imagePullPolicy" if nonzero,
        lifecycle: Option<Box<Lifecycle>> = "lifecycle",
        liveness_probe: Option<Box<Probe>> = "livenessProbe",
        name: String = "name",
        ports: Vec<ContainerPort> = "ports",
        readiness_probe: Option<Box<Probe>> = "readinessProbe",
        resize_policy: Vec<ContainerResizePolicy> = "resizePolicy",
        resources: ResourceRequirements = "resources",
        restart_policy: Option<String> = "restartPolicy",
        restart_policy_rules: Vec<ContainerRestartRule> = "restartPolicyRules",
        security_context: Option<Box<SecurityContext>> = "securityContext",
        startup_probe: Option<Box<Probe>> = "startupProbe",
        stdin: bool = "stdin" if nonzero,
        stdin_once: bool = "stdinOnce" if nonzero,
        target_container_name: String = "targetContainerName" if nonzero,
        termination_message_path: String = "terminationMessagePath" if nonzero,
        termination_message_policy: String = "terminationMessagePolicy" if nonzero,
        tty: bool = "tty" if nonzero,
        volume_devices: Vec<VolumeDevice> = "volumeDevices",
        volume_mounts: Vec<VolumeMount> = "volumeMounts",
        working_dir: String = "workingDir" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EphemeralVolumeSource`.
    pub struct EphemeralVolumeSource {
        volume_claim_template: Option<Box<PersistentVolumeClaimTemplate>> = "volumeClaimTemplate",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Event`.
    pub struct Event("v1", "Event") {
        action: String = "action" if nonzero,
        count: i32 = "count" if nonzero,
        event_time: Option<String> = "eventTime",
        first_timestamp: Option<String> = "firstTimestamp",
        involved_object: ObjectReference = "involvedObject",
        last_timestamp: Option<String> = "lastTimestamp",
        message: String = "message" if nonzero,
        metadata: coracle_meta::ObjectMeta = "metadata",
        reason: String = "reason" if nonzero,
        related: Option<Box<ObjectReference>> = "related",
        reporting_component: String = "reportingComponent",
        reporting_instance: String = "reportingInstance",
        series: Option<Box<EventSeries>> = "series",
        source: EventSource = "source",
        type_: String = "type" if nonzero,
    }
}
resource!(Event, "", "v1", "Event", "events", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.EventSeries`.
    pub struct EventSeries {
        count: i32 = "count" if nonzero,
        last_observed_time: Option<String> = "lastObservedTime",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EventSource`.
    pub struct EventSource {
        component: String = "component" if nonzero,
        host: String = "host" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.EvictionResponder`.
    pub struct EvictionResponder {
        name: String = "name",
        priority: Option<i32> = "priority",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ExecAction`.
    pub struct ExecAction {
        command: Vec<String> = "command",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.FCVolumeSource`.
    pub struct FCVolumeSource {
        fs_type: String = "fsType" if nonzero,
        lun: Option<i32> = "lun",
        read_only: bool = "readOnly" if nonzero,
        target_wwns: Vec<String> = "targetWWNs",
        wwids: Vec<String> = "wwids",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.FileKeySelector`.
    pub struct FileKeySelector {
        key: String = "key",
        optional: Option<bool> = "optional",
        path: String = "path",
        volume_name: String = "volumeName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.FlexPersistentVolumeSource`.
    pub struct FlexPersistentVolumeSource {
        driver: String = "driver",
        fs_type: String = "fsType" if nonzero,
        options: BTreeMap<String, String> = "options",
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<SecretReference>> = "secretRef",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.FlexVolumeSource`.
    pub struct FlexVolumeSource {
        driver: String = "driver",
        fs_type: String = "fsType" if nonzero,
        options: BTreeMap<String, String> = "options",
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.FlockerVolumeSource`.
    pub struct FlockerVolumeSource {
        dataset_name: String = "datasetName" if nonzero,
        dataset_uuid: String = "datasetUUID" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.GCEPersistentDiskVolumeSource`.
    pub struct GCEPersistentDiskVolumeSource {
        fs_type: String = "fsType" if nonzero,
        partition: i32 = "partition" if nonzero,
        pd_name: String = "pdName",
        read_only: bool = "readOnly" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.GRPCAction`.
    pub struct GRPCAction {
        mode: Option<String> = "mode",
        port: i32 = "port",
        service: Option<String> = "service",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.GitRepoVolumeSource`.
    pub struct GitRepoVolumeSource {
        directory: String = "directory" if nonzero,
        repository: String = "repository",
        revision: String = "revision" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.GlusterfsPersistentVolumeSource`.
    pub struct GlusterfsPersistentVolumeSource {
        endpoints: String = "endpoints",
        endpoints_namespace: Option<String> = "endpointsNamespace",
        path: String = "path",
        read_only: bool = "readOnly" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.GlusterfsVolumeSource`.
    pub struct GlusterfsVolumeSource {
        endpoints: String = "endpoints",
        path: String = "path",
        read_only: bool = "readOnly" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.HTTPGetAction`.
    pub struct HTTPGetAction {
        host: String = "host" if nonzero,
        http_headers: Vec<HTTPHeader> = "httpHeaders",
        path: String = "path" if nonzero,
        port: Option<coracle_meta::IntOrString> = "port",
        protocol: Option<String> = "protocol",
        scheme: String = "scheme" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.HTTPHeader`.
    pub struct HTTPHeader {
        name: String = "name",
        value: String = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.HostAlias`.
    pub struct HostAlias {
        hostnames: Vec<String> = "hostnames",
        ip: String = "ip",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.HostIP`.
    pub struct HostIP {
        ip: String = "ip",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.HostPathVolumeSource`.
    pub struct HostPathVolumeSource {
        path: String = "path",
        type_: Option<String> = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ISCSIPersistentVolumeSource`.
    pub struct ISCSIPersistentVolumeSource {
        chap_auth_discovery: bool = "chapAuthDiscovery" if nonzero,
        chap_auth_session: bool = "chapAuthSession" if nonzero,
        fs_type: String = "fsType" if nonzero,
        initiator_name: Option<String> = "initiatorName",
        iqn: String = "iqn",
        iscsi_interface: String = "iscsiInterface" if nonzero,
        lun: i32 = "lun",
        portals: Vec<String> = "portals",
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<SecretReference>> = "secretRef",
        target_portal: String = "targetPortal",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ISCSIVolumeSource`.
    pub struct ISCSIVolumeSource {
        chap_auth_discovery: bool = "chapAuthDiscovery" if nonzero,
        chap_auth_session: bool = "chapAuthSession" if nonzero,
        fs_type: String = "fsType" if nonzero,
        initiator_name: Option<String> = "initiatorName",
        iqn: String = "iqn",
        iscsi_interface: String = "iscsiInterface" if nonzero,
        lun: i32 = "lun",
        portals: Vec<String> = "portals",
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
        target_portal: String = "targetPortal",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ImageVolumeSource`.
    pub struct ImageVolumeSource {
        pull_policy: String = "pullPolicy" if nonzero,
        reference: String = "reference" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ImageVolumeStatus`.
    pub struct ImageVolumeStatus {
        image_ref: String = "imageRef" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.KeyToPath`.
    pub struct KeyToPath {
        key: String = "key",
        mode: Option<i32> = "mode",
        path: String = "path",
        user: Option<i64> = "user",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Lifecycle`.
    pub struct Lifecycle {
        post_start: Option<Box<LifecycleHandler>> = "postStart",
        pre_stop: Option<Box<LifecycleHandler>> = "preStop",
        stop_signal: Option<String> = "stopSignal",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LifecycleHandler`.
    pub struct LifecycleHandler {
        exec: Option<Box<ExecAction>> = "exec",
        http_get: Option<Box<HTTPGetAction>> = "httpGet",
        sleep: Option<Box<SleepAction>> = "sleep",
        tcp_socket: Option<Box<TCPSocketAction>> = "tcpSocket",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LimitRange`.
    pub struct LimitRange("v1", "LimitRange") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: LimitRangeSpec = "spec",
    }
}
resource!(LimitRange, "", "v1", "LimitRange", "limitranges", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.LimitRangeItem`.
    pub struct LimitRangeItem {
        default: BTreeMap<String, coracle_meta::Quantity> = "default",
        default_request: BTreeMap<String, coracle_meta::Quantity> = "defaultRequest",
        max: BTreeMap<String, coracle_meta::Quantity> = "max",
        max_limit_request_ratio: BTreeMap<String, coracle_meta::Quantity> = "maxLimitRequestRatio",
        min: BTreeMap<String, coracle_meta::Quantity> = "min",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LimitRangeSpec`.
    pub struct LimitRangeSpec {
        limits: Vec<LimitRangeItem> = "limits",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LinuxContainerUser`.
    pub struct LinuxContainerUser {
        gid: i64 = "gid",
        supplemental_groups: Vec<i64> = "supplementalGroups",
        uid: i64 = "uid",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LoadBalancerIngress`.
    pub struct LoadBalancerIngress {
        hostname: String = "hostname" if nonzero,
        ip: String = "ip" if nonzero,
        ip_mode: Option<String> = "ipMode",
        ports: Vec<PortStatus> = "ports",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LoadBalancerStatus`.
    pub struct LoadBalancerStatus {
        ingress: Vec<LoadBalancerIngress> = "ingress",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LocalObjectReference`.
    pub struct LocalObjectReference {
        name: String = "name" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.LocalVolumeSource`.
    pub struct LocalVolumeSource {
        fs_type: Option<String> = "fsType",
        path: String = "path",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ModifyVolumeStatus`.
    pub struct ModifyVolumeStatus {
        status: String = "status",
        target_volume_attributes_class_name: String = "targetVolumeAttributesClassName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NFSVolumeSource`.
    pub struct NFSVolumeSource {
        path: String = "path",
        read_only: bool = "readOnly" if nonzero,
        server: String = "server",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Namespace`.
    pub struct Namespace("v1", "Namespace") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: NamespaceSpec = "spec",
        status: NamespaceStatus = "status",
    }
}
resource!(Namespace, "", "v1", "Namespace", "namespaces", Cluster);

lean_struct! {
    /// In Kubernetes: `core.v1.NamespaceCondition`.
    pub struct NamespaceCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NamespaceSpec`.
    pub struct NamespaceSpec {
        finalizers: Vec<String> = "finalizers",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NamespaceStatus`.
    pub struct NamespaceStatus {
        conditions: Vec<NamespaceCondition> = "conditions",
        phase: String = "phase" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Node`.
    pub struct Node("v1", "Node") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: NodeSpec = "spec",
        status: NodeStatus = "status",
    }
}
resource!(Node, "", "v1", "Node", "nodes", Cluster);

lean_struct! {
    /// In Kubernetes: `core.v1.NodeAddress`.
    pub struct NodeAddress {
        address: String = "address",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeAffinity`.
    pub struct NodeAffinity {
        preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm> = "preferredDuringSchedulingIgnoredDuringExecution",
        required_during_scheduling_ignored_during_execution: Option<Box<NodeSelector>> = "requiredDuringSchedulingIgnoredDuringExecution",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeAllocatableMappedResources`.
    pub struct NodeAllocatableMappedResources {
        name: String = "name",
        quantity: Option<coracle_meta::Quantity> = "quantity",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeAllocatableOverheadResources`.
    pub struct NodeAllocatableOverheadResources {
        name: String = "name",
        per_container: Option<coracle_meta::Quantity> = "perContainer",
        per_pod: Option<coracle_meta::Quantity> = "perPod",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeAllocatableResourceClaimStatus`.
    pub struct NodeAllocatableResourceClaimStatus {
        containers: Vec<String> = "containers",
        mapping: Vec<NodeAllocatableMappedResources> = "mapping",
        overhead: Vec<NodeAllocatableOverheadResources> = "overhead",
        resource_claim_name: String = "resourceClaimName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeCondition`.
    pub struct NodeCondition {
        last_heartbeat_time: Option<String> = "lastHeartbeatTime",
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeConfigSource`.
    pub struct NodeConfigSource {
        config_map: Option<Box<ConfigMapNodeConfigSource>> = "configMap",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeConfigStatus`.
    pub struct NodeConfigStatus {
        active: Option<Box<NodeConfigSource>> = "active",
        assigned: Option<Box<NodeConfigSource>> = "assigned",
        error: String = "error" if nonzero,
        last_known_good: Option<Box<NodeConfigSource>> = "lastKnownGood",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeDaemonEndpoints`.
    pub struct NodeDaemonEndpoints {
        kubelet_endpoint: DaemonEndpoint = "kubeletEndpoint",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeFeatures`.
    pub struct NodeFeatures {
        supplemental_groups_policy: Option<bool> = "supplementalGroupsPolicy",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodePodPreemptionPolicy`.
    pub struct NodePodPreemptionPolicy {
        disable_resize_preemption: Vec<String> = "disableResizePreemption",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeProxyOptions`.
    pub struct NodeProxyOptions {
        path: String = "path" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeRuntimeHandler`.
    pub struct NodeRuntimeHandler {
        features: Option<Box<NodeRuntimeHandlerFeatures>> = "features",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeRuntimeHandlerFeatures`.
    pub struct NodeRuntimeHandlerFeatures {
        recursive_read_only_mounts: Option<bool> = "recursiveReadOnlyMounts",
        user_namespaces: Option<bool> = "userNamespaces",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeSelector`.
    pub struct NodeSelector {
        node_selector_terms: Vec<NodeSelectorTerm> = "nodeSelectorTerms",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeSelectorRequirement`.
    pub struct NodeSelectorRequirement {
        key: String = "key",
        operator: String = "operator",
        values: Vec<String> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeSelectorTerm`.
    pub struct NodeSelectorTerm {
        match_expressions: Vec<NodeSelectorRequirement> = "matchExpressions",
        match_fields: Vec<NodeSelectorRequirement> = "matchFields",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeSpec`.
    pub struct NodeSpec {
        config_source: Option<Box<NodeConfigSource>> = "configSource",
        external_id: String = "externalID" if nonzero,
        pod_cidr: String = "podCIDR" if nonzero,
        pod_cidrs: Vec<String> = "podCIDRs",
        pod_preemption_policy: Option<Box<NodePodPreemptionPolicy>> = "podPreemptionPolicy",
        provider_id: String = "providerID" if nonzero,
        taints: Vec<Taint> = "taints",
        unschedulable: bool = "unschedulable" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeStatus`.
    pub struct NodeStatus {
        addresses: Vec<NodeAddress> = "addresses",
        allocatable: BTreeMap<String, coracle_meta::Quantity> = "allocatable",
        capacity: BTreeMap<String, coracle_meta::Quantity> = "capacity",
        conditions: Vec<NodeCondition> = "conditions",
        config: Option<Box<NodeConfigStatus>> = "config",
        daemon_endpoints: NodeDaemonEndpoints = "daemonEndpoints",
        declared_features: Vec<String> = "declaredFeatures",
        features: Option<Box<NodeFeatures>> = "features",
        images: Vec<ContainerImage> = "images",
        node_info: NodeSystemInfo = "nodeInfo",
        phase: String = "phase" if nonzero,
        runtime_handlers: Vec<NodeRuntimeHandler> = "runtimeHandlers",
        volumes_attached: Vec<AttachedVolume> = "volumesAttached",
        volumes_in_use: Vec<String> = "volumesInUse",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeSwapStatus`.
    pub struct NodeSwapStatus {
        capacity: Option<i64> = "capacity",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.NodeSystemInfo`.
    pub struct NodeSystemInfo {
        architecture: String = "architecture",
        boot_id: String = "bootID",
        container_runtime_version: String = "containerRuntimeVersion",
        kernel_version: String = "kernelVersion",
        kube_proxy_version: String = "kubeProxyVersion",
        kubelet_version: String = "kubeletVersion",
        machine_id: String = "machineID",
        operating_system: String = "operatingSystem",
        os_image: String = "osImage",
        running_in_user_namespace: Option<bool> = "runningInUserNamespace",
        swap: Option<Box<NodeSwapStatus>> = "swap",
        system_uuid: String = "systemUUID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ObjectFieldSelector`.
    pub struct ObjectFieldSelector {
        api_version: String = "apiVersion" if nonzero,
        field_path: String = "fieldPath",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ObjectReference`.
    pub struct ObjectReference {
        api_version: String = "apiVersion" if nonzero,
        field_path: String = "fieldPath" if nonzero,
        kind: String = "kind" if nonzero,
        name: String = "name" if nonzero,
        namespace: String = "namespace" if nonzero,
        resource_version: String = "resourceVersion" if nonzero,
        uid: String = "uid" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolume`.
    pub struct PersistentVolume("v1", "PersistentVolume") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PersistentVolumeSpec = "spec",
        status: PersistentVolumeStatus = "status",
    }
}
resource!(PersistentVolume, "", "v1", "PersistentVolume", "persistentvolumes", Cluster);

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeClaim`.
    pub struct PersistentVolumeClaim("v1", "PersistentVolumeClaim") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PersistentVolumeClaimSpec = "spec",
        status: PersistentVolumeClaimStatus = "status",
    }
}
resource!(PersistentVolumeClaim, "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeClaimCondition`.
    pub struct PersistentVolumeClaimCondition {
        last_probe_time: Option<String> = "lastProbeTime",
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeClaimSpec`.
    pub struct PersistentVolumeClaimSpec {
        access_modes: Vec<String> = "accessModes",
        data_source: Option<Box<TypedLocalObjectReference>> = "dataSource",
        data_source_ref: Option<Box<TypedObjectReference>> = "dataSourceRef",
        resources: VolumeResourceRequirements = "resources",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        storage_class_name: Option<String> = "storageClassName",
        volume_attributes_class_name: Option<String> = "volumeAttributesClassName",
        volume_mode: Option<String> = "volumeMode",
        volume_name: String = "volumeName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeClaimStatus`.
    pub struct PersistentVolumeClaimStatus {
        access_modes: Vec<String> = "accessModes",
        allocated_resource_statuses: BTreeMap<String, String> = "allocatedResourceStatuses",
        allocated_resources: BTreeMap<String, coracle_meta::Quantity> = "allocatedResources",
        capacity: BTreeMap<String, coracle_meta::Quantity> = "capacity",
        conditions: Vec<PersistentVolumeClaimCondition> = "conditions",
        current_volume_attributes_class_name: Option<String> = "currentVolumeAttributesClassName",
        health_status: Option<Box<VolumeHealthStatus>> = "healthStatus",
        modify_volume_status: Option<Box<ModifyVolumeStatus>> = "modifyVolumeStatus",
        phase: String = "phase" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeClaimTemplate`.
    pub struct PersistentVolumeClaimTemplate {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PersistentVolumeClaimSpec = "spec",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeClaimVolumeSource`.
    pub struct PersistentVolumeClaimVolumeSource {
        claim_name: String = "claimName",
        read_only: bool = "readOnly" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeSpec`.
    pub struct PersistentVolumeSpec {
        access_modes: Vec<String> = "accessModes",
        aws_elastic_block_store: Option<Box<AWSElasticBlockStoreVolumeSource>> = "awsElasticBlockStore",
        azure_disk: Option<Box<AzureDiskVolumeSource>> = "azureDisk",
        azure_file: Option<Box<AzureFilePersistentVolumeSource>> = "azureFile",
        capacity: BTreeMap<String, coracle_meta::Quantity> = "capacity",
        cephfs: Option<Box<CephFSPersistentVolumeSource>> = "cephfs",
        cinder: Option<Box<CinderPersistentVolumeSource>> = "cinder",
        claim_ref: Option<Box<ObjectReference>> = "claimRef",
        csi: Option<Box<CSIPersistentVolumeSource>> = "csi",
        fc: Option<Box<FCVolumeSource>> = "fc",
        flex_volume: Option<Box<FlexPersistentVolumeSource>> = "flexVolume",
        flocker: Option<Box<FlockerVolumeSource>> = "flocker",
        gce_persistent_disk: Option<Box<GCEPersistentDiskVolumeSource>> = "gcePersistentDisk",
        glusterfs: Option<Box<GlusterfsPersistentVolumeSource>> = "glusterfs",
        host_path: Option<Box<HostPathVolumeSource>> = "hostPath",
        iscsi: Option<Box<ISCSIPersistentVolumeSource>> = "iscsi",
        local: Option<Box<LocalVolumeSource>> = "local",
        mount_options: Vec<String> = "mountOptions",
        nfs: Option<Box<NFSVolumeSource>> = "nfs",
        node_affinity: Option<Box<VolumeNodeAffinity>> = "nodeAffinity",
        persistent_volume_reclaim_policy: String = "persistentVolumeReclaimPolicy" if nonzero,
        photon_persistent_disk: Option<Box<PhotonPersistentDiskVolumeSource>> = "photonPersistentDisk",
        portworx_volume: Option<Box<PortworxVolumeSource>> = "portworxVolume",
        quobyte: Option<Box<QuobyteVolumeSource>> = "quobyte",
        rbd: Option<Box<RBDPersistentVolumeSource>> = "rbd",
        scale_io: Option<Box<ScaleIOPersistentVolumeSource>> = "scaleIO",
        storage_class_name: String = "storageClassName" if nonzero,
        storageos: Option<Box<StorageOSPersistentVolumeSource>> = "storageos",
        volume_attributes_class_name: Option<String> = "volumeAttributesClassName",
        volume_mode: Option<String> = "volumeMode",
        vsphere_volume: Option<Box<VsphereVirtualDiskVolumeSource>> = "vsphereVolume",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PersistentVolumeStatus`.
    pub struct PersistentVolumeStatus {
        last_phase_transition_time: Option<String> = "lastPhaseTransitionTime",
        message: String = "message" if nonzero,
        phase: String = "phase" if nonzero,
        reason: String = "reason" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PhotonPersistentDiskVolumeSource`.
    pub struct PhotonPersistentDiskVolumeSource {
        fs_type: String = "fsType" if nonzero,
        pd_id: String = "pdID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Pod`.
    pub struct Pod("v1", "Pod") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PodSpec = "spec",
        status: PodStatus = "status",
    }
}
resource!(Pod, "", "v1", "Pod", "pods", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.PodAffinity`.
    pub struct PodAffinity {
        preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm> = "preferredDuringSchedulingIgnoredDuringExecution",
        required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm> = "requiredDuringSchedulingIgnoredDuringExecution",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodAffinityTerm`.
    pub struct PodAffinityTerm {
        label_selector: Option<Box<super::meta_v1::LabelSelector>> = "labelSelector",
        match_label_keys: Vec<String> = "matchLabelKeys",
        mismatch_label_keys: Vec<String> = "mismatchLabelKeys",
        namespace_selector: Option<Box<super::meta_v1::LabelSelector>> = "namespaceSelector",
        namespaces: Vec<String> = "namespaces",
        topology_key: String = "topologyKey",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodAntiAffinity`.
    pub struct PodAntiAffinity {
        preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm> = "preferredDuringSchedulingIgnoredDuringExecution",
        required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm> = "requiredDuringSchedulingIgnoredDuringExecution",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodAttachOptions`.
    pub struct PodAttachOptions {
        container: String = "container" if nonzero,
        stderr: bool = "stderr" if nonzero,
        stdin: bool = "stdin" if nonzero,
        stdout: bool = "stdout" if nonzero,
        tty: bool = "tty" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodCertificateProjection`.
    pub struct PodCertificateProjection {
        certificate_chain_path: String = "certificateChainPath" if nonzero,
        credential_bundle_path: String = "credentialBundlePath" if nonzero,
        key_path: String = "keyPath" if nonzero,
        key_type: String = "keyType" if nonzero,
        max_expiration_seconds: Option<i32> = "maxExpirationSeconds",
        signer_name: String = "signerName" if nonzero,
        user: Option<i64> = "user",
        user_annotations: BTreeMap<String, String> = "userAnnotations",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodCondition`.
    pub struct PodCondition {
        last_probe_time: Option<String> = "lastProbeTime",
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodDNSConfig`.
    pub struct PodDNSConfig {
        nameservers: Vec<String> = "nameservers",
        options: Vec<PodDNSConfigOption> = "options",
        searches: Vec<String> = "searches",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodDNSConfigOption`.
    pub struct PodDNSConfigOption {
        name: String = "name" if nonzero,
        value: Option<String> = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodExecOptions`.
    pub struct PodExecOptions {
        command: Vec<String> = "command",
        container: String = "container" if nonzero,
        stderr: bool = "stderr" if nonzero,
        stdin: bool = "stdin" if nonzero,
        stdout: bool = "stdout" if nonzero,
        tty: bool = "tty" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodExtendedResourceClaimStatus`.
    pub struct PodExtendedResourceClaimStatus {
        request_mappings: Vec<ContainerExtendedResourceRequest> = "requestMappings",
        resource_claim_name: String = "resourceClaimName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodIP`.
    pub struct PodIP {
        ip: String = "ip",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodOS`.
    pub struct PodOS {
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodPortForwardOptions`.
    pub struct PodPortForwardOptions {
        ports: Vec<i32> = "ports",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodProxyOptions`.
    pub struct PodProxyOptions {
        path: String = "path" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodReadinessGate`.
    pub struct PodReadinessGate {
        condition_type: String = "conditionType",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodResourceClaim`.
    pub struct PodResourceClaim {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
        resource_claim_template_name: Option<String> = "resourceClaimTemplateName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodResourceClaimStatus`.
    pub struct PodResourceClaimStatus {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodSchedulingGate`.
    pub struct PodSchedulingGate {
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodSchedulingGroup`.
    pub struct PodSchedulingGroup {
        pod_group_name: Option<String> = "podGroupName",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodSecurityContext`.
    pub struct PodSecurityContext {
        app_armor_profile: Option<Box<AppArmorProfile>> = "appArmorProfile",
        fs_group: Option<i64> = "fsGroup",
        fs_group_change_policy: Option<String> = "fsGroupChangePolicy",
        run_as_group: Option<i64> = "runAsGroup",
        run_as_non_root: Option<bool> = "runAsNonRoot",
        run_as_user: Option<i64> = "runAsUser",
        se_linux_change_policy: Option<String> = "seLinuxChangePolicy",
        se_linux_options: Option<Box<SELinuxOptions>> = "seLinuxOptions",
        seccomp_profile: Option<Box<SeccompProfile>> = "seccompProfile",
        supplemental_groups: Vec<i64> = "supplementalGroups",
        supplemental_groups_policy: Option<String> = "supplementalGroupsPolicy",
        sysctls: Vec<Sysctl> = "sysctls",
        windows_options: Option<Box<WindowsSecurityContextOptions>> = "windowsOptions",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodSpec`.
    pub struct PodSpec {
        active_deadline_seconds: Option<i64> = "activeDeadlineSeconds",
        affinity: Option<Box<Affinity>> = "affinity",
        automount_service_account_token: Option<bool> = "automountServiceAccountToken",
        containers: Vec<Container> = "containers",
        dns_config: Option<Box<PodDNSConfig>> = "dnsConfig",
        dns_policy: String = "dnsPolicy" if nonzero,
        enable_service_links: Option<bool> = "enableServiceLinks",
        ephemeral_containers: Vec<EphemeralContainer> = "ephemeralContainers",
        eviction_responders: Vec<EvictionResponder> = "evictionResponders",
        host_aliases: Vec<HostAlias> = "hostAliases",
        host_ipc: bool = "hostIPC" if nonzero,
        host_network: bool = "hostNetwork" if nonzero,
        host_pid: bool = "hostPID" if nonzero,
        host_users: Option<bool> = "hostUsers",
        hostname: String = "hostname" if nonzero,
        hostname_override: Option<String> = "hostnameOverride",
        image_pull_secrets: Vec<LocalObjectReference> = "imagePullSecrets",
        init_containers: Vec<Container> = "initContainers",
        node_name: String = "nodeName" if nonzero,
        node_selector: BTreeMap<String, String> = "nodeSelector",
        os: Option<Box<PodOS>> = "os",
        overhead: BTreeMap<String, coracle_meta::Quantity> = "overhead",
        preemption_policy: Option<String> = "preemptionPolicy",
        priority: Option<i32> = "priority",
        priority_class_name: String = "priorityClassName" if nonzero,
        readiness_gates: Vec<PodReadinessGate> = "readinessGates",
        resource_claims: Vec<PodResourceClaim> = "resourceClaims",
        resources: Option<Box<ResourceRequirements>> = "resources",
        restart_policy: String = "restartPolicy" if nonzero,
        runtime_class_name: Option<String> = "runtimeClassName",
        scheduler_name: String = "schedulerName" if nonzero,
        scheduling_gates: Vec<PodSchedulingGate> = "schedulingGates",
        scheduling_group: Option<Box<PodSchedulingGroup>> = "schedulingGroup",
        security_context: Option<Box<PodSecurityContext>> = "securityContext",
        service_account: String = "serviceAccount" if nonzero,
        service_account_name: String = "serviceAccountName" if nonzero,
        set_hostname_as_fqdn: Option<bool> = "setHostnameAsFQDN",
        share_process_namespace: Option<bool> = "shareProcessNamespace",
        subdomain: String = "subdomain" if nonzero,
        termination_grace_period_seconds: Option<i64> = "terminationGracePeriodSeconds",
        tolerations: Vec<Toleration> = "tolerations",
        topology_spread_constraints: Vec<TopologySpreadConstraint> = "topologySpreadConstraints",
        volumes: Vec<Volume> = "volumes",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodStatus`.
    pub struct PodStatus {
        allocated_resources: BTreeMap<String, coracle_meta::Quantity> = "allocatedResources",
        conditions: Vec<PodCondition> = "conditions",
        container_statuses: Vec<ContainerStatus> = "containerStatuses",
        ephemeral_container_statuses: Vec<ContainerStatus> = "ephemeralContainerStatuses",
        extended_resource_claim_status: Option<Box<PodExtendedResourceClaimStatus>> = "extendedResourceClaimStatus",
        host_ip: String = "hostIP" if nonzero,
        host_ips: Vec<HostIP> = "hostIPs",
        init_container_statuses: Vec<ContainerStatus> = "initContainerStatuses",
        message: String = "message" if nonzero,
        node_allocatable_resource_claim_statuses: Vec<NodeAllocatableResourceClaimStatus> = "nodeAllocatableResourceClaimStatuses",
        nominated_node_name: String = "nominatedNodeName" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        phase: String = "phase" if nonzero,
        pod_ip: String = "podIP" if nonzero,
        pod_ips: Vec<PodIP> = "podIPs",
        qos_class: String = "qosClass" if nonzero,
        reason: String = "reason" if nonzero,
        resize: String = "resize" if nonzero,
        resource_claim_statuses: Vec<PodResourceClaimStatus> = "resourceClaimStatuses",
        resources: Option<Box<ResourceRequirements>> = "resources",
        start_time: Option<String> = "startTime",
        volume_health: Vec<PodVolumeHealth> = "volumeHealth",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodTemplate`.
    pub struct PodTemplate("v1", "PodTemplate") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        template: PodTemplateSpec = "template",
    }
}
resource!(PodTemplate, "", "v1", "PodTemplate", "podtemplates", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.PodTemplateSpec`.
    pub struct PodTemplateSpec {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PodSpec = "spec",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PodVolumeHealth`.
    pub struct PodVolumeHealth {
        health_conditions: Vec<VolumeHealthCondition> = "healthConditions",
        last_transition_time: Option<String> = "lastTransitionTime",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PortStatus`.
    pub struct PortStatus {
        error: Option<String> = "error",
        port: i32 = "port",
        protocol: String = "protocol",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PortworxVolumeSource`.
    pub struct PortworxVolumeSource {
        fs_type: String = "fsType" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        volume_id: String = "volumeID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.PreferredSchedulingTerm`.
    pub struct PreferredSchedulingTerm {
        preference: NodeSelectorTerm = "preference",
        weight: i32 = "weight",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Probe`.
    pub struct Probe {
        exec: Option<Box<ExecAction>> = "exec",
        failure_threshold: i32 = "failureThreshold" if nonzero,
        grpc: Option<Box<GRPCAction>> = "grpc",
        http_get: Option<Box<HTTPGetAction>> = "httpGet",
        initial_delay_seconds: i32 = "initialDelaySeconds" if nonzero,
        period_seconds: i32 = "periodSeconds" if nonzero,
        success_threshold: i32 = "successThreshold" if nonzero,
        tcp_socket: Option<Box<TCPSocketAction>> = "tcpSocket",
        termination_grace_period_seconds: Option<i64> = "terminationGracePeriodSeconds",
        timeout_seconds: i32 = "timeoutSeconds" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ProjectedVolumeSource`.
    pub struct ProjectedVolumeSource {
        default_mode: Option<i32> = "defaultMode",
        default_user: Option<i64> = "defaultUser",
        sources: Vec<VolumeProjection> = "sources",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.QuobyteVolumeSource`.
    pub struct QuobyteVolumeSource {
        group: String = "group" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        registry: String = "registry",
        tenant: String = "tenant" if nonzero,
        user: String = "user" if nonzero,
        volume: String = "volume",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.RBDPersistentVolumeSource`.
    pub struct RBDPersistentVolumeSource {
        fs_type: String = "fsType" if nonzero,
        image: String = "image",
        keyring: String = "keyring" if nonzero,
        monitors: Vec<String> = "monitors",
        pool: String = "pool" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<SecretReference>> = "secretRef",
        user: String = "user" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.RBDVolumeSource`.
    pub struct RBDVolumeSource {
        fs_type: String = "fsType" if nonzero,
        image: String = "image",
        keyring: String = "keyring" if nonzero,
        monitors: Vec<String> = "monitors",
        pool: String = "pool" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
        user: String = "user" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ReplicationController`.
    pub struct ReplicationController("v1", "ReplicationController") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ReplicationControllerSpec = "spec",
        status: ReplicationControllerStatus = "status",
    }
}
resource!(ReplicationController, "", "v1", "ReplicationController", "replicationcontrollers", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.ReplicationControllerCondition`.
    pub struct ReplicationControllerCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ReplicationControllerSpec`.
    pub struct ReplicationControllerSpec {
        min_ready_seconds: i32 = "minReadySeconds" if nonzero,
        replicas: Option<i32> = "replicas",
        selector: BTreeMap<String, String> = "selector",
        template: Option<Box<PodTemplateSpec>> = "template",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ReplicationControllerStatus`.
    pub struct ReplicationControllerStatus {
        available_replicas: i32 = "availableReplicas" if nonzero,
        conditions: Vec<ReplicationControllerCondition> = "conditions",
        fully_labeled_replicas: i32 = "fullyLabeledReplicas" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        ready_replicas: i32 = "readyReplicas" if nonzero,
        replicas: i32 = "replicas",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceClaim`.
    pub struct ResourceClaim {
        name: String = "name",
        request: String = "request" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceFieldSelector`.
    pub struct ResourceFieldSelector {
        container_name: String = "containerName" if nonzero,
        divisor: Option<coracle_meta::Quantity> = "divisor",
        resource: String = "resource",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceHealth`.
    pub struct ResourceHealth {
        health: String = "health" if nonzero,
        message: Option<String> = "message",
        resource_id: String = "resourceID",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceQuota`.
    pub struct ResourceQuota("v1", "ResourceQuota") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ResourceQuotaSpec = "spec",
        status: ResourceQuotaStatus = "status",
    }
}
resource!(ResourceQuota, "", "v1", "ResourceQuota", "resourcequotas", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceQuotaSpec`.
    pub struct ResourceQuotaSpec {
        hard: BTreeMap<String, coracle_meta::Quantity> = "hard",
        scope_selector: Option<Box<ScopeSelector>> = "scopeSelector",
        scopes: Vec<String> = "scopes",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceQuotaStatus`.
    pub struct ResourceQuotaStatus {
        hard: BTreeMap<String, coracle_meta::Quantity> = "hard",
        used: BTreeMap<String, coracle_meta::Quantity> = "used",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceRequirements`.
    pub struct ResourceRequirements {
        claims: Vec<ResourceClaim> = "claims",
        limits: BTreeMap<String, coracle_meta::Quantity> = "limits",
        requests: BTreeMap<String, coracle_meta::Quantity> = "requests",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ResourceStatus`.
    pub struct ResourceStatus {
        name: String = "name",
        resources: Vec<ResourceHealth> = "resources",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SELinuxOptions`.
    pub struct SELinuxOptions {
        level: String = "level" if nonzero,
        role: String = "role" if nonzero,
        type_: String = "type" if nonzero,
        user: String = "user" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ScaleIOPersistentVolumeSource`.
    pub struct ScaleIOPersistentVolumeSource {
        fs_type: String = "fsType" if nonzero,
        gateway: String = "gateway",
        protection_domain: String = "protectionDomain" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<SecretReference>> = "secretRef",
        ssl_enabled: bool = "sslEnabled" if nonzero,
        storage_mode: String = "storageMode" if nonzero,
        storage_pool: String = "storagePool" if nonzero,
        system: String = "system",
        volume_name: String = "volumeName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ScaleIOVolumeSource`.
    pub struct ScaleIOVolumeSource {
        fs_type: String = "fsType" if nonzero,
        gateway: String = "gateway",
        protection_domain: String = "protectionDomain" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
        ssl_enabled: bool = "sslEnabled" if nonzero,
        storage_mode: String = "storageMode" if nonzero,
        storage_pool: String = "storagePool" if nonzero,
        system: String = "system",
        volume_name: String = "volumeName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ScopeSelector`.
    pub struct ScopeSelector {
        match_expressions: Vec<ScopedResourceSelectorRequirement> = "matchExpressions",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ScopedResourceSelectorRequirement`.
    pub struct ScopedResourceSelectorRequirement {
        operator: String = "operator",
        scope_name: String = "scopeName",
        values: Vec<String> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SeccompProfile`.
    pub struct SeccompProfile {
        localhost_profile: Option<String> = "localhostProfile",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Secret`.
    pub struct Secret("v1", "Secret") {
        data: BTreeMap<String, String> = "data",
        immutable: Option<bool> = "immutable",
        metadata: coracle_meta::ObjectMeta = "metadata",
        string_data: BTreeMap<String, String> = "stringData",
        type_: String = "type" if nonzero,
    }
}
resource!(Secret, "", "v1", "Secret", "secrets", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.SecretEnvSource`.
    pub struct SecretEnvSource {
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SecretKeySelector`.
    pub struct SecretKeySelector {
        key: String = "key",
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SecretProjection`.
    pub struct SecretProjection {
        items: Vec<KeyToPath> = "items",
        name: String = "name" if nonzero,
        optional: Option<bool> = "optional",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SecretReference`.
    pub struct SecretReference {
        name: String = "name" if nonzero,
        namespace: String = "namespace" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SecretVolumeSource`.
    pub struct SecretVolumeSource {
        default_mode: Option<i32> = "defaultMode",
        default_user: Option<i64> = "defaultUser",
        items: Vec<KeyToPath> = "items",
        optional: Option<bool> = "optional",
        secret_name: String = "secretName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SecurityContext`.
    pub struct SecurityContext {
        allow_privilege_escalation: Option<bool> = "allowPrivilegeEscalation",
        app_armor_profile: Option<Box<AppArmorProfile>> = "appArmorProfile",
        capabilities: Option<Box<Capabilities>> = "capabilities",
        privileged: Option<bool> = "privileged",
        proc_mount: Option<String> = "procMount",
        read_only_root_filesystem: Option<bool> = "readOnlyRootFilesystem",
        run_as_group: Option<i64> = "runAsGroup",
        run_as_non_root: Option<bool> = "runAsNonRoot",
        run_as_user: Option<i64> = "runAsUser",
        se_linux_options: Option<Box<SELinuxOptions>> = "seLinuxOptions",
        seccomp_profile: Option<Box<SeccompProfile>> = "seccompProfile",
        windows_options: Option<Box<WindowsSecurityContextOptions>> = "windowsOptions",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Service`.
    pub struct Service("v1", "Service") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ServiceSpec = "spec",
        status: ServiceStatus = "status",
    }
}
resource!(Service, "", "v1", "Service", "services", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.ServiceAccount`.
    pub struct ServiceAccount("v1", "ServiceAccount") {
        automount_service_account_token: Option<bool> = "automountServiceAccountToken",
        image_pull_secrets: Vec<LocalObjectReference> = "imagePullSecrets",
        metadata: coracle_meta::ObjectMeta = "metadata",
        secrets: Vec<ObjectReference> = "secrets",
    }
}
resource!(ServiceAccount, "", "v1", "ServiceAccount", "serviceaccounts", Namespaced);

lean_struct! {
    /// In Kubernetes: `core.v1.ServiceAccountTokenProjection`.
    pub struct ServiceAccountTokenProjection {
        audience: String = "audience" if nonzero,
        expiration_seconds: Option<i64> = "expirationSeconds",
        path: String = "path",
        user: Option<i64> = "user",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ServicePort`.
    pub struct ServicePort {
        app_protocol: Option<String> = "appProtocol",
        name: String = "name" if nonzero,
        node_port: i32 = "nodePort" if nonzero,
        port: i32 = "port",
        protocol: String = "protocol" if nonzero,
        target_port: Option<coracle_meta::IntOrString> = "targetPort",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ServiceProxyOptions`.
    pub struct ServiceProxyOptions {
        path: String = "path" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ServiceSpec`.
    pub struct ServiceSpec {
        allocate_load_balancer_node_ports: Option<bool> = "allocateLoadBalancerNodePorts",
        cluster_ip: String = "clusterIP" if nonzero,
        cluster_ips: Vec<String> = "clusterIPs",
        external_ips: Vec<String> = "externalIPs",
        external_name: String = "externalName" if nonzero,
        external_traffic_policy: String = "externalTrafficPolicy" if nonzero,
        health_check_node_port: i32 = "healthCheckNodePort" if nonzero,
        internal_traffic_policy: Option<String> = "internalTrafficPolicy",
        ip_families: Vec<String> = "ipFamilies",
        ip_family_policy: Option<String> = "ipFamilyPolicy",
        load_balancer_class: Option<String> = "loadBalancerClass",
        load_balancer_ip: String = "loadBalancerIP" if nonzero,
        load_balancer_source_ranges: Vec<String> = "loadBalancerSourceRanges",
        ports: Vec<ServicePort> = "ports",
        publish_not_ready_addresses: bool = "publishNotReadyAddresses" if nonzero,
        selector: BTreeMap<String, String> = "selector",
        session_affinity: String = "sessionAffinity" if nonzero,
        session_affinity_config: Option<Box<SessionAffinityConfig>> = "sessionAffinityConfig",
        traffic_distribution: Option<String> = "trafficDistribution",
        type_: String = "type" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.ServiceStatus`.
    pub struct ServiceStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
        load_balancer: LoadBalancerStatus = "loadBalancer",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SessionAffinityConfig`.
    pub struct SessionAffinityConfig {
        client_ip: Option<Box<ClientIPConfig>> = "clientIP",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.SleepAction`.
    pub struct SleepAction {
        seconds: i64 = "seconds",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.StorageOSPersistentVolumeSource`.
    pub struct StorageOSPersistentVolumeSource {
        fs_type: String = "fsType" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<ObjectReference>> = "secretRef",
        volume_name: String = "volumeName" if nonzero,
        volume_namespace: String = "volumeNamespace" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.StorageOSVolumeSource`.
    pub struct StorageOSVolumeSource {
        fs_type: String = "fsType" if nonzero,
        read_only: bool = "readOnly" if nonzero,
        secret_ref: Option<Box<LocalObjectReference>> = "secretRef",
        volume_name: String = "volumeName" if nonzero,
        volume_namespace: String = "volumeNamespace" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Sysctl`.
    pub struct Sysctl {
        name: String = "name",
        value: String = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.TCPSocketAction`.
    pub struct TCPSocketAction {
        host: String = "host" if nonzero,
        port: Option<coracle_meta::IntOrString> = "port",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Taint`.
    pub struct Taint {
        effect: String = "effect",
        key: String = "key",
        time_added: Option<String> = "timeAdded",
        value: String = "value" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Toleration`.
    pub struct Toleration {
        effect: String = "effect" if nonzero,
        key: String = "key" if nonzero,
        operator: String = "operator" if nonzero,
        toleration_seconds: Option<i64> = "tolerationSeconds",
        value: String = "value" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.TopologySelectorLabelRequirement`.
    pub struct TopologySelectorLabelRequirement {
        key: String = "key",
        values: Vec<String> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.TopologySelectorTerm`.
    pub struct TopologySelectorTerm {
        match_label_expressions: Vec<TopologySelectorLabelRequirement> = "matchLabelExpressions",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.TopologySpreadConstraint`.
    pub struct TopologySpreadConstraint {
        label_selector: Option<Box<super::meta_v1::LabelSelector>> = "labelSelector",
        match_label_keys: Vec<String> = "matchLabelKeys",
        max_skew: i32 = "maxSkew",
        min_domains: Option<i32> = "minDomains",
        node_affinity_policy: Option<String> = "nodeAffinityPolicy",
        node_taints_policy: Option<String> = "nodeTaintsPolicy",
        topology_key: String = "topologyKey",
        when_unsatisfiable: String = "whenUnsatisfiable",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.TypedLocalObjectReference`.
    pub struct TypedLocalObjectReference {
        api_group: Option<String> = "apiGroup",
        kind: String = "kind",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.TypedObjectReference`.
    pub struct TypedObjectReference {
        api_group: Option<String> = "apiGroup",
        kind: String = "kind",
        name: String = "name",
        namespace: Option<String> = "namespace",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.Volume`.
    pub struct Volume {
        aws_elastic_block_store: Option<Box<AWSElasticBlockStoreVolumeSource>> = "awsElasticBlockStore",
        azure_disk: Option<Box<AzureDiskVolumeSource>> = "azureDisk",
        azure_file: Option<Box<AzureFileVolumeSource>> = "azureFile",
        cephfs: Option<Box<CephFSVolumeSource>> = "cephfs",
        cinder: Option<Box<CinderVolumeSource>> = "cinder",
        config_map: Option<Box<ConfigMapVolumeSource>> = "configMap",
        csi: Option<Box<CSIVolumeSource>> = "csi",
        downward_api: Option<Box<DownwardAPIVolumeSource>> = "downwardAPI",
        empty_dir: Option<Box<EmptyDirVolumeSource>> = "emptyDir",
        ephemeral: Option<Box<EphemeralVolumeSource>> = "ephemeral",
        fc: Option<Box<FCVolumeSource>> = "fc",
        flex_volume: Option<Box<FlexVolumeSource>> = "flexVolume",
        flocker: Option<Box<FlockerVolumeSource>> = "flocker",
        gce_persistent_disk: Option<Box<GCEPersistentDiskVolumeSource>> = "gcePersistentDisk",
        git_repo: Option<Box<GitRepoVolumeSource>> = "gitRepo",
        glusterfs: Option<Box<GlusterfsVolumeSource>> = "glusterfs",
        host_path: Option<Box<HostPathVolumeSource>> = "hostPath",
        image: Option<Box<ImageVolumeSource>> = "image",
        iscsi: Option<Box<ISCSIVolumeSource>> = "iscsi",
        name: String = "name",
        nfs: Option<Box<NFSVolumeSource>> = "nfs",
        persistent_volume_claim: Option<Box<PersistentVolumeClaimVolumeSource>> = "persistentVolumeClaim",
        photon_persistent_disk: Option<Box<PhotonPersistentDiskVolumeSource>> = "photonPersistentDisk",
        portworx_volume: Option<Box<PortworxVolumeSource>> = "portworxVolume",
        projected: Option<Box<ProjectedVolumeSource>> = "projected",
        quobyte: Option<Box<QuobyteVolumeSource>> = "quobyte",
        rbd: Option<Box<RBDVolumeSource>> = "rbd",
        scale_io: Option<Box<ScaleIOVolumeSource>> = "scaleIO",
        secret: Option<Box<SecretVolumeSource>> = "secret",
        storageos: Option<Box<StorageOSVolumeSource>> = "storageos",
        vsphere_volume: Option<Box<VsphereVirtualDiskVolumeSource>> = "vsphereVolume",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeDevice`.
    pub struct VolumeDevice {
        device_path: String = "devicePath",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeHealthCondition`.
    pub struct VolumeHealthCondition {
        message: String = "message" if nonzero,
        reason: String = "reason",
        status: String = "status",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeHealthStatus`.
    pub struct VolumeHealthStatus {
        health_conditions: Vec<VolumeHealthCondition> = "healthConditions",
        last_transition_time: Option<String> = "lastTransitionTime",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeMount`.
    pub struct VolumeMount {
        bind_mount_options: Vec<String> = "bindMountOptions",
        mount_path: String = "mountPath",
        mount_propagation: Option<String> = "mountPropagation",
        name: String = "name",
        read_only: bool = "readOnly" if nonzero,
        recursive_read_only: Option<String> = "recursiveReadOnly",
        sub_path: String = "subPath" if nonzero,
        sub_path_expr: String = "subPathExpr" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeMountStatus`.
    pub struct VolumeMountStatus {
        mount_path: String = "mountPath",
        name: String = "name",
        read_only: bool = "readOnly" if nonzero,
        recursive_read_only: Option<String> = "recursiveReadOnly",
        volume_status: Option<Box<VolumeStatus>> = "volumeStatus",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeNodeAffinity`.
    pub struct VolumeNodeAffinity {
        required: Option<Box<NodeSelector>> = "required",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeProjection`.
    pub struct VolumeProjection {
        cluster_trust_bundle: Option<Box<ClusterTrustBundleProjection>> = "clusterTrustBundle",
        config_map: Option<Box<ConfigMapProjection>> = "configMap",
        downward_api: Option<Box<DownwardAPIProjection>> = "downwardAPI",
        pod_certificate: Option<Box<PodCertificateProjection>> = "podCertificate",
        secret: Option<Box<SecretProjection>> = "secret",
        service_account_token: Option<Box<ServiceAccountTokenProjection>> = "serviceAccountToken",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeResourceRequirements`.
    pub struct VolumeResourceRequirements {
        limits: BTreeMap<String, coracle_meta::Quantity> = "limits",
        requests: BTreeMap<String, coracle_meta::Quantity> = "requests",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VolumeStatus`.
    pub struct VolumeStatus {
        image: Option<Box<ImageVolumeStatus>> = "image",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.VsphereVirtualDiskVolumeSource`.
    pub struct VsphereVirtualDiskVolumeSource {
        fs_type: String = "fsType" if nonzero,
        storage_policy_id: String = "storagePolicyID" if nonzero,
        storage_policy_name: String = "storagePolicyName" if nonzero,
        volume_path: String = "volumePath",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.WeightedPodAffinityTerm`.
    pub struct WeightedPodAffinityTerm {
        pod_affinity_term: PodAffinityTerm = "podAffinityTerm",
        weight: i32 = "weight",
    }
}

lean_struct! {
    /// In Kubernetes: `core.v1.WindowsSecurityContextOptions`.
    pub struct WindowsSecurityContextOptions {
        gmsa_credential_spec: Option<String> = "gmsaCredentialSpec",
        gmsa_credential_spec_name: Option<String> = "gmsaCredentialSpecName",
        host_process: Option<bool> = "hostProcess",
        run_as_user_name: Option<String> = "runAsUserName",
    }
}
