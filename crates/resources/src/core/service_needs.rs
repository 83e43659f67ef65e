//! What a service needs from the cluster, and what it has of it.

use coracle_meta::Object;
use coracle_meta::fields::Fields;

/// Whether a service has an address of the cluster.
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

/// Whether load balancers ask each node how it is.
pub(super) fn needs_health_check_port(service: &Object) -> bool {
    service.text("spec.type") == "LoadBalancer" && service.text("spec.externalTrafficPolicy") == "Local"
}

/// Whether it is to have no address.
pub(super) fn is_headless(service: &Object) -> bool {
    service.list("spec.clusterIPs").first().is_some_and(|first| first == "None")
        || service.text("spec.clusterIP") == "None"
}

/// The addresses that a service holds.
pub(super) fn addresses_of(service: &Object) -> Vec<String> {
    let addresses = service.texts("spec.clusterIPs");
    addresses.into_iter().filter(|address| !address.is_empty() && address != "None").collect()
}

/// The node ports that a service holds.
pub(super) fn ports_of(service: &Object) -> Vec<i64> {
    let ports = service.list("spec.ports").iter().map(|port| port.int("nodePort"));
    ports.chain([service.int("spec.healthCheckNodePort")]).filter(|port| *port != 0).collect()
}
