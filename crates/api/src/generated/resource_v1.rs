// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `resource.v1.AllocatedDeviceStatus`.
    pub struct AllocatedDeviceStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
        data: Option<serde_json::Value> = "data",
        device: String = "device",
        driver: String = "driver",
        network_data: Option<Box<NetworkDeviceData>> = "networkData",
        pool: String = "pool",
        share_id: Option<String> = "shareID",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.AllocationResult`.
    pub struct AllocationResult {
        allocation_timestamp: Option<String> = "allocationTimestamp",
        devices: DeviceAllocationResult = "devices",
        node_selector: Option<Box<super::core_v1::NodeSelector>> = "nodeSelector",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.CELDeviceSelector`.
    pub struct CELDeviceSelector {
        expression: String = "expression",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.CapacityRequestPolicy`.
    pub struct CapacityRequestPolicy {
        default: Option<coracle_meta::Quantity> = "default",
        valid_range: Option<Box<CapacityRequestPolicyRange>> = "validRange",
        valid_values: Vec<coracle_meta::Quantity> = "validValues",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.CapacityRequestPolicyRange`.
    pub struct CapacityRequestPolicyRange {
        max: Option<coracle_meta::Quantity> = "max",
        min: Option<coracle_meta::Quantity> = "min",
        step: Option<coracle_meta::Quantity> = "step",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.CapacityRequirements`.
    pub struct CapacityRequirements {
        requests: BTreeMap<String, coracle_meta::Quantity> = "requests",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.Counter`.
    pub struct Counter {
        value: Option<coracle_meta::Quantity> = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.CounterSet`.
    pub struct CounterSet {
        counters: BTreeMap<String, Counter> = "counters",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.Device`.
    pub struct Device {
        all_nodes: Option<bool> = "allNodes",
        allow_multiple_allocations: Option<bool> = "allowMultipleAllocations",
        attributes: BTreeMap<String, DeviceAttribute> = "attributes",
        binding_conditions: Vec<String> = "bindingConditions",
        binding_failure_conditions: Vec<String> = "bindingFailureConditions",
        binds_to_node: Option<bool> = "bindsToNode",
        capacity: BTreeMap<String, DeviceCapacity> = "capacity",
        consumes_counters: Vec<DeviceCounterConsumption> = "consumesCounters",
        name: String = "name",
        node_allocatable_resources: BTreeMap<String, NodeAllocatableResource> = "nodeAllocatableResources",
        node_name: Option<String> = "nodeName",
        node_selector: Option<Box<super::core_v1::NodeSelector>> = "nodeSelector",
        taints: Vec<DeviceTaint> = "taints",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceAllocationConfiguration`.
    pub struct DeviceAllocationConfiguration {
        opaque: Option<Box<OpaqueDeviceConfiguration>> = "opaque",
        requests: Vec<String> = "requests",
        source: String = "source",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceAllocationResult`.
    pub struct DeviceAllocationResult {
        config: Vec<DeviceAllocationConfiguration> = "config",
        results: Vec<DeviceRequestAllocationResult> = "results",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceAttribute`.
    pub struct DeviceAttribute {
        bool: Option<bool> = "bool",
        bools: Vec<bool> = "bools",
        int: Option<i64> = "int",
        ints: Vec<i64> = "ints",
        string: Option<String> = "string",
        strings: Vec<String> = "strings",
        version: Option<String> = "version",
        versions: Vec<String> = "versions",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceCapacity`.
    pub struct DeviceCapacity {
        request_policy: Option<Box<CapacityRequestPolicy>> = "requestPolicy",
        value: Option<coracle_meta::Quantity> = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceClaim`.
    pub struct DeviceClaim {
        config: Vec<DeviceClaimConfiguration> = "config",
        constraints: Vec<DeviceConstraint> = "constraints",
        requests: Vec<DeviceRequest> = "requests",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceClaimConfiguration`.
    pub struct DeviceClaimConfiguration {
        opaque: Option<Box<OpaqueDeviceConfiguration>> = "opaque",
        requests: Vec<String> = "requests",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceClass`.
    pub struct DeviceClass("resource.k8s.io/v1", "DeviceClass") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: DeviceClassSpec = "spec",
    }
}
resource!(DeviceClass, "resource.k8s.io", "v1", "DeviceClass", "deviceclasses", Cluster);

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceClassConfiguration`.
    pub struct DeviceClassConfiguration {
        opaque: Option<Box<OpaqueDeviceConfiguration>> = "opaque",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceClassSpec`.
    pub struct DeviceClassSpec {
        config: Vec<DeviceClassConfiguration> = "config",
        extended_resource_name: Option<String> = "extendedResourceName",
        selectors: Vec<DeviceSelector> = "selectors",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceConstraint`.
    pub struct DeviceConstraint {
        distinct_attribute: Option<String> = "distinctAttribute",
        match_attribute: Option<String> = "matchAttribute",
        requests: Vec<String> = "requests",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceCounterConsumption`.
    pub struct DeviceCounterConsumption {
        compatibility_groups: Vec<String> = "compatibilityGroups",
        counter_set: String = "counterSet",
        counters: BTreeMap<String, Counter> = "counters",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceDerivedAttribute`.
    pub struct DeviceDerivedAttribute {
        expression: String = "expression",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceRequest`.
    pub struct DeviceRequest {
        exactly: Option<Box<ExactDeviceRequest>> = "exactly",
        first_available: Vec<DeviceSubRequest> = "firstAvailable",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceRequestAllocationResult`.
    pub struct DeviceRequestAllocationResult {
        admin_access: Option<bool> = "adminAccess",
        binding_conditions: Vec<String> = "bindingConditions",
        binding_failure_conditions: Vec<String> = "bindingFailureConditions",
        consumed_capacity: BTreeMap<String, coracle_meta::Quantity> = "consumedCapacity",
        device: String = "device",
        driver: String = "driver",
        pool: String = "pool",
        request: String = "request",
        share_id: Option<String> = "shareID",
        skip_node_operations: Vec<String> = "skipNodeOperations",
        tolerations: Vec<DeviceToleration> = "tolerations",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceSelector`.
    pub struct DeviceSelector {
        cel: Option<Box<CELDeviceSelector>> = "cel",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceSubRequest`.
    pub struct DeviceSubRequest {
        allocation_mode: String = "allocationMode" if nonzero,
        capacity: Option<Box<CapacityRequirements>> = "capacity",
        count: i64 = "count" if nonzero,
        derived_attributes: Vec<DeviceDerivedAttribute> = "derivedAttributes",
        device_class_name: String = "deviceClassName",
        name: String = "name",
        selectors: Vec<DeviceSelector> = "selectors",
        tolerations: Vec<DeviceToleration> = "tolerations",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceTaint`.
    pub struct DeviceTaint {
        effect: String = "effect",
        key: String = "key",
        time_added: Option<String> = "timeAdded",
        value: String = "value" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceTaintRule`.
    pub struct DeviceTaintRule("resource.k8s.io/v1", "DeviceTaintRule") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: DeviceTaintRuleSpec = "spec",
        status: DeviceTaintRuleStatus = "status",
    }
}
resource!(DeviceTaintRule, "resource.k8s.io", "v1", "DeviceTaintRule", "devicetaintrules", Cluster);

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceTaintRuleSpec`.
    pub struct DeviceTaintRuleSpec {
        device_selector: Option<Box<DeviceTaintSelector>> = "deviceSelector",
        taint: DeviceTaint = "taint",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceTaintRuleStatus`.
    pub struct DeviceTaintRuleStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceTaintSelector`.
    pub struct DeviceTaintSelector {
        device: Option<String> = "device",
        driver: Option<String> = "driver",
        pool: Option<String> = "pool",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.DeviceToleration`.
    pub struct DeviceToleration {
        effect: String = "effect" if nonzero,
        key: String = "key" if nonzero,
        operator: String = "operator" if nonzero,
        toleration_seconds: Option<i64> = "tolerationSeconds",
        value: String = "value" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ExactDeviceRequest`.
    pub struct ExactDeviceRequest {
        admin_access: Option<bool> = "adminAccess",
        allocation_mode: String = "allocationMode" if nonzero,
        capacity: Option<Box<CapacityRequirements>> = "capacity",
        count: i64 = "count" if nonzero,
        derived_attributes: Vec<DeviceDerivedAttribute> = "derivedAttributes",
        device_class_name: String = "deviceClassName",
        selectors: Vec<DeviceSelector> = "selectors",
        tolerations: Vec<DeviceToleration> = "tolerations",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.NetworkDeviceData`.
    pub struct NetworkDeviceData {
        hardware_address: String = "hardwareAddress" if nonzero,
        interface_name: String = "interfaceName" if nonzero,
        ips: Vec<String> = "ips",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.NodeAllocatableMapping`.
    pub struct NodeAllocatableMapping {
        capacity_key: Option<String> = "capacityKey",
        capacity_multiplier: Option<coracle_meta::Quantity> = "capacityMultiplier",
        device_multiplier: Option<coracle_meta::Quantity> = "deviceMultiplier",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.NodeAllocatableOverhead`.
    pub struct NodeAllocatableOverhead {
        per_container: Option<coracle_meta::Quantity> = "perContainer",
        per_pod: Option<coracle_meta::Quantity> = "perPod",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.NodeAllocatableResource`.
    pub struct NodeAllocatableResource {
        mapping: Option<Box<NodeAllocatableMapping>> = "mapping",
        overhead: Option<Box<NodeAllocatableOverhead>> = "overhead",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.OpaqueDeviceConfiguration`.
    pub struct OpaqueDeviceConfiguration {
        driver: String = "driver",
        parameters: Option<serde_json::Value> = "parameters",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceClaim`.
    pub struct ResourceClaim("resource.k8s.io/v1", "ResourceClaim") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ResourceClaimSpec = "spec",
        status: ResourceClaimStatus = "status",
    }
}
resource!(ResourceClaim, "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", Namespaced);

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceClaimConsumerReference`.
    pub struct ResourceClaimConsumerReference {
        api_group: String = "apiGroup" if nonzero,
        name: String = "name",
        resource: String = "resource",
        uid: String = "uid",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceClaimSpec`.
    pub struct ResourceClaimSpec {
        devices: DeviceClaim = "devices",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceClaimStatus`.
    pub struct ResourceClaimStatus {
        allocation: Option<Box<AllocationResult>> = "allocation",
        devices: Vec<AllocatedDeviceStatus> = "devices",
        reserved_for: Vec<ResourceClaimConsumerReference> = "reservedFor",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceClaimTemplate`.
    pub struct ResourceClaimTemplate("resource.k8s.io/v1", "ResourceClaimTemplate") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ResourceClaimTemplateSpec = "spec",
    }
}
resource!(
    ResourceClaimTemplate,
    "resource.k8s.io",
    "v1",
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    Namespaced
);

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceClaimTemplateSpec`.
    pub struct ResourceClaimTemplateSpec {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ResourceClaimSpec = "spec",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourcePool`.
    pub struct ResourcePool {
        generation: i64 = "generation",
        name: String = "name",
        resource_slice_count: i64 = "resourceSliceCount",
    }
}

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceSlice`.
    pub struct ResourceSlice("resource.k8s.io/v1", "ResourceSlice") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ResourceSliceSpec = "spec",
    }
}
resource!(ResourceSlice, "resource.k8s.io", "v1", "ResourceSlice", "resourceslices", Cluster);

lean_struct! {
    /// In Kubernetes: `resource.v1.ResourceSliceSpec`.
    pub struct ResourceSliceSpec {
        all_nodes: Option<bool> = "allNodes",
        devices: Vec<Device> = "devices",
        driver: String = "driver",
        node_name: Option<String> = "nodeName",
        node_selector: Option<Box<super::core_v1::NodeSelector>> = "nodeSelector",
        partition_type_attribute: Option<String> = "partitionTypeAttribute",
        per_device_node_selection: Option<bool> = "perDeviceNodeSelection",
        pool: ResourcePool = "pool",
        shared_counters: Vec<CounterSet> = "sharedCounters",
        skip_node_operations: Vec<String> = "skipNodeOperations",
    }
}
