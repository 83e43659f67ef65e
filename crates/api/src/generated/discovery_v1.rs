// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `discovery.v1.Endpoint`.
    pub struct Endpoint {
        addresses: Vec<String> = "addresses",
        conditions: EndpointConditions = "conditions",
        deprecated_topology: BTreeMap<String, String> = "deprecatedTopology",
        hints: Option<Box<EndpointHints>> = "hints",
        hostname: Option<String> = "hostname",
        node_name: Option<String> = "nodeName",
        target_ref: Option<Box<super::core_v1::ObjectReference>> = "targetRef",
        zone: Option<String> = "zone",
    }
}

lean_struct! {
    /// In Kubernetes: `discovery.v1.EndpointConditions`.
    pub struct EndpointConditions {
        ready: Option<bool> = "ready",
        serving: Option<bool> = "serving",
        terminating: Option<bool> = "terminating",
    }
}

lean_struct! {
    /// In Kubernetes: `discovery.v1.EndpointHints`.
    pub struct EndpointHints {
        for_nodes: Vec<ForNode> = "forNodes",
        for_zones: Vec<ForZone> = "forZones",
    }
}

lean_struct! {
    /// In Kubernetes: `discovery.v1.EndpointPort`.
    pub struct EndpointPort {
        app_protocol: Option<String> = "appProtocol",
        name: Option<String> = "name",
        port: Option<i32> = "port",
        protocol: Option<String> = "protocol",
    }
}

lean_struct! {
    /// In Kubernetes: `discovery.v1.EndpointSlice`.
    pub struct EndpointSlice("discovery.k8s.io/v1", "EndpointSlice") {
        address_type: String = "addressType",
        endpoints: Vec<Endpoint> = "endpoints",
        metadata: coracle_meta::ObjectMeta = "metadata",
        ports: Vec<EndpointPort> = "ports",
    }
}
resource!(EndpointSlice, "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", Namespaced);

lean_struct! {
    /// In Kubernetes: `discovery.v1.ForNode`.
    pub struct ForNode {
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `discovery.v1.ForZone`.
    pub struct ForZone {
        name: String = "name",
    }
}
