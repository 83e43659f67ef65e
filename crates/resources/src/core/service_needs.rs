//! The addresses and ports that a Service needs, and those that it has.

use coracle_meta::Object;
use coracle_meta::fields::Fields;

/// Whether a Service has a cluster IP.
pub(super) fn needs_cluster_ip(service: &Object) -> bool {
    service.text("spec.type") != "ExternalName"
}

/// Whether its ports get node ports.
pub(super) fn needs_node_ports(service: &Object) -> bool {
    match service.text("spec.type") {
        "NodePort" => true,
        "LoadBalancer" => service.at("spec.allocateLoadBalancerNodePorts").as_bool().unwrap_or(true),
        _ => false,
    }
}

/// Whether load balancers probe the health of each node.
pub(super) fn needs_health_check_port(service: &Object) -> bool {
    service.text("spec.type") == "LoadBalancer" && service.text("spec.externalTrafficPolicy") == "Local"
}

/// Whether it is headless.
pub(super) fn is_headless(service: &Object) -> bool {
    service.list("spec.clusterIPs").first().is_some_and(|first| first == "None")
        || service.text("spec.clusterIP") == "None"
}

/// The addresses of a Service.
pub(super) fn addresses_of(service: &Object) -> Vec<String> {
    let addresses = service.texts("spec.clusterIPs");
    addresses.into_iter().filter(|address| !address.is_empty() && address != "None").collect()
}

/// The node ports of a Service.
pub(super) fn ports_of(service: &Object) -> Vec<i64> {
    let ports = service.list("spec.ports").iter().map(|port| port.int("nodePort"));
    ports.chain([service.int("spec.healthCheckNodePort")]).filter(|port| *port != 0).collect()
}
