use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, Subresource, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use super::pod_connect::NoProxy;
use super::service_allocation::ServiceHooks;
use super::service_change::wrong_change;
use super::service_needs::{needs_cluster_ip, needs_health_check_port, needs_node_ports};
use super::service_validation::wrong_service;
use crate::addresses::{cidr_warnings, ip_warning};
use crate::built_in::built_in;
use crate::cells::{labels, load_balancer_addresses};
use crate::config::Config;
use crate::field_checks::{Wrong, ip};
use crate::status_counts::wrong_host;

/// `services`. In Kubernetes: `pkg/registry/core/service`. [`super::service_allocation`] allocates addresses and node
/// ports.
pub(crate) fn kind(config: &Config) -> KindSpec {
    let release = &config.release;
    let (first_port, last_port) = config.service_node_ports;
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        prepare_update: |new, old, _, _| drop_fields_of_other_types(new, old),
        validate_create: |object, release| wrong_service(object, None, release),
        warnings: |new, _, release| warnings(new, release),
        validate_change: |new, old, release| [wrong_service(new, Some(old), release), wrong_change(new, old)].concat(),
        validate_status: wrong_status,
        name: name_of_service(release),
        store_directory: "services/specs".to_owned(),
        selectable: Some(&["spec.clusterIP", "spec.type"]),
        columns: columns(),
        subresources: vec![Subresource::Connect(Arc::new(NoProxy))],
        hooks: Arc::new(ServiceHooks::new(config.service_cluster_ip_ranges.clone(), first_port..=last_port)),
        ..built_in(release, "", "v1", "services")
    }
}

/// The rule of the name of a Service.
pub(crate) fn name_of_service(release: &Release) -> fn(&str) -> Vec<String> {
    if release.enabled("RelaxedServiceNameValidation") { names::dns1123_label } else { names::dns1035_label }
}

fn set_defaults(object: &mut Object) {
    edit_spec(object, set_spec_defaults);
    object.edit(|tree| {
        let is_balanced = tree.text("spec.type") == "LoadBalancer";
        let balancer = tree.object_in("status").and_then(|status| status.object_in("loadBalancer"));
        if let (true, Some(balancer)) = (is_balanced, balancer) {
            balancer.each_in("ingress", |ingress| {
                if !ingress.text("ip").is_empty() {
                    ingress.fill("ipMode", "VIP");
                }
            });
        }
    });
}

fn set_spec_defaults(spec: &mut Tree) {
    spec.fill_text("sessionAffinity", "None");
    match spec.text("sessionAffinity") {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" if !spec.has("sessionAffinityConfig.clientIP.timeoutSeconds") => {
            spec.insert("sessionAffinityConfig".to_owned(), json!({"clientIP": {"timeoutSeconds": 10800}}));
        }
        _ => {}
    }
    spec.fill_text("type", "ClusterIP");
    spec.each_in("ports", |port| {
        port.fill_text("protocol", "TCP");
        let number = port.at("port").clone();
        let target = port.at("targetPort");
        if target.is_null() || target == 0 || target == "" {
            port.insert("targetPort".to_owned(), number);
        }
    });
    if is_external(spec) {
        spec.fill_text("externalTrafficPolicy", "Cluster");
    }
    if spec.text("type") != "ExternalName" {
        spec.fill("internalTrafficPolicy", "Cluster");
    }
    if spec.text("type") == "LoadBalancer" {
        spec.fill("allocateLoadBalancerNodePorts", true);
    }
}

/// In Kubernetes: `GetWarningsForService`.
fn warnings(object: &Object, release: &Release) -> Vec<String> {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    let spec = object.at("spec");
    let is_external = spec.text("type") == "ExternalName";
    let mut warnings = Vec::new();
    if object.annotation(HINTS).is_some() {
        let instead = "service.kubernetes.io/topology-mode";
        warnings.push(format!("annotation {HINTS} is deprecated, please use {instead} instead"));
    }
    let address_warnings = |list: &str| -> Vec<String> {
        let addresses = spec.list(list).iter().filter_map(Value::as_str).enumerate();
        addresses.filter_map(|(at, address)| ip_warning(address, &format!("spec.{list}[{at}]"), release)).collect()
    };
    warnings.extend(address_warnings("clusterIPs"));
    let is_headless = spec.text("type") == "ClusterIP" && spec.text("clusterIP") == "None";
    if is_headless {
        for (field, is_ignored) in [
            ("loadBalancerIP", !spec.text("loadBalancerIP").is_empty()),
            ("externalIPs", !spec.list("externalIPs").is_empty()),
            ("SessionAffinity", spec.text("sessionAffinity") != "None"),
        ] {
            if is_ignored {
                warnings.push(format!("spec.{field} is ignored for headless services"));
            }
        }
    }
    warnings.extend(address_warnings("externalIPs"));
    if release.has("ExternalIPsAreDeprecated") && !spec.list("externalIPs").is_empty() && !is_external && !is_headless {
        warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    warnings.extend(ip_warning(spec.text("loadBalancerIP"), "spec.loadBalancerIP", release));
    let ranges = spec.list("loadBalancerSourceRanges").iter().filter_map(Value::as_str).enumerate();
    warnings.extend(
        ranges.flat_map(|(at, range)| cidr_warnings(range, &format!("spec.loadBalancerSourceRanges[{at}]"), release)),
    );
    if is_external && !spec.list("externalIPs").is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_external && !spec.text("externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        let what = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(what.to_owned());
    }
    warnings
}

/// Whether the Service is reachable from outside the cluster. In Kubernetes: `ExternallyAccessible`.
fn is_external(spec: &Tree) -> bool {
    match spec.text("type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec.list("externalIPs").is_empty(),
        _ => false,
    }
}

/// Drops the fields that only the previous type of the Service uses when the type changes, unless the update changes
/// them. In Kubernetes: `dropTypeDependentFields`.
fn drop_fields_of_other_types(new: &mut Object, old: &Object) {
    let same = |new: &Object, field: &str| new.at("spec").at(field) == old.at("spec").at(field);
    let had_cluster_ip = needs_cluster_ip(old);
    let has_cluster_ip = needs_cluster_ip(new);
    if had_cluster_ip && !has_cluster_ip {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            for field in ["clusterIP", "clusterIPs"] {
                new.remove(&["spec", field]);
            }
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(new, field) {
                new.remove(&["spec", field]);
            }
        }
    }
    if needs_node_ports(old) && !needs_node_ports(new) && same_node_ports(new, old) {
        edit_spec(new, |spec| spec.each_in("ports", |port| drop(port.remove("nodePort"))));
    }
    let had_check = needs_health_check_port(old);
    let has_check = needs_health_check_port(new);
    if had_check && !has_check && same(new, "healthCheckNodePort") {
        new.remove("spec.healthCheckNodePort");
    }
    let is_balanced = |object: &Object| object.text("spec.type") == "LoadBalancer";
    if is_balanced(old) && !is_balanced(new) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, field) {
                new.remove(&["spec", field]);
            }
        }
    }
    let is_external = |object: &Object| object.at("spec").as_object().is_some_and(is_external);
    if is_external(old) && !is_external(new) && same(new, "externalTrafficPolicy") {
        new.remove("spec.externalTrafficPolicy");
    }
    if new.text("spec.type") == "ExternalName" && same(new, "internalTrafficPolicy") {
        new.remove("spec.internalTrafficPolicy");
    }
}

fn same_node_ports(new: &Object, old: &Object) -> bool {
    let ports = |object: &Object| -> Vec<i64> {
        object.list("spec.ports").iter().map(|port| port.int("nodePort")).filter(|port| *port != 0).collect()
    };
    let before: BTreeSet<i64> = ports(old).into_iter().collect();
    ports(new).iter().all(|port| before.contains(port))
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Type",
            "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, ClusterIP, NodePort, and LoadBalancer. \"ClusterIP\" allocates a cluster-internal IP address for load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is \"None\", no virtual IP is allocated and the endpoints are published as a set of endpoints rather than a virtual IP. \"NodePort\" builds on ClusterIP and allocates a port on every node which routes to the same endpoints as the clusterIP. \"LoadBalancer\" builds on NodePort and creates an external load-balancer (if supported in the current cloud) which routes to the same endpoints as the clusterIP. \"ExternalName\" aliases this service to the specified externalName. Several other fields do not apply to ExternalName services. More info: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
            |object| object.text("spec.type").into(),
        ),
        TableColumn::text(
            "Cluster-IP",
            "clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; otherwise creation of the service will fail. This field may not be changed through updates unless the type field is also being changed to ExternalName (which requires this field to be blank) or the type field is being changed from ExternalName (in which case this field may optionally be specified, as describe above).  Valid values are \"None\", empty string (\"\"), or a valid IP address. Setting this to \"None\" makes a \"headless service\" (no virtual IP), which is useful when direct endpoint connections are preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when updating a Service to type ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
            |object| object.list("spec.clusterIPs").first().and_then(Value::as_str).unwrap_or("<none>").into(),
        ),
        TableColumn::text(
            "External-IP",
            "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic arrives at a node with this IP.  A common example is external load-balancers that are not part of the Kubernetes system.",
            |object| external_ip(object).into(),
        ),
        TableColumn::text(
            "Port(s)",
            "The list of ports that are exposed by this service. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
            |object| ports(object).into(),
        ),
        TableColumn::age(),
        TableColumn::text(
            "Selector",
            "Route service traffic to pods with label keys and values matching this selector. If empty or not present, the service is assumed to have an external process managing its endpoints, which Kubernetes will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/",
            |object| labels(object.at("spec.selector")),
        ).wide(),
    ]
}

fn external_ip(object: &Object) -> String {
    let given = object.texts("spec.externalIPs");
    match object.text("spec.type") {
        "ClusterIP" | "NodePort" if given.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => given.join(","),
        "LoadBalancer" => {
            let addresses = [load_balancer_addresses(object), given].concat();
            if addresses.is_empty() { "<pending>".to_owned() } else { addresses.join(",") }
        }
        "ExternalName" => object.text("spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(object: &Object) -> String {
    let port = |port: &Value| match port.int("nodePort") {
        ..=0 => format!("{}/{}", port.int("port"), port.text("protocol")),
        node_port => format!("{}:{node_port}/{}", port.int("port"), port.text("protocol")),
    };
    let ports: Vec<_> = object.list("spec.ports").iter().map(port).collect();
    if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") }
}
/// In Kubernetes: `ValidateLoadBalancerStatus`.
fn wrong_status(new: &Object, old: &Object, release: &Release) -> Wrong {
    const PATH: &str = "status.loadBalancer.ingress";
    let entries = new.list(PATH);
    if new.text("spec.type") != "LoadBalancer" && !entries.is_empty() {
        return vec![FieldError::forbidden(PATH, "may only be used when `spec.type` is 'LoadBalancer'")];
    }
    let mut wrong = Wrong::new();
    let before: BTreeSet<&str> = old.list(PATH).iter().map(|before| before.text("ip")).collect();
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("{PATH}[{at}]");
        let address = entry.text("ip");
        if !address.is_empty() && !before.contains(address) {
            wrong.extend(ip(address, &format!("{path}.ip"), release));
        }
        let mode_path = format!("{path}.ipMode");
        match (entry.at("ipMode").as_str(), address.is_empty()) {
            (None, true) | (Some("Proxy" | "VIP"), false) => {}
            (None, false) => wrong.push(FieldError::required(mode_path, "must be specified when `ip` is set")),
            (Some(_), true) => {
                wrong.push(FieldError::forbidden(mode_path, "may not be specified when `ip` is not set"));
            }
            (Some(mode), false) => wrong.push(FieldError::not_supported(mode_path, mode, &["Proxy", "VIP"])),
        }
        wrong.extend(wrong_host(entry.text("hostname"), &format!("{path}.hostname")));
    }
    wrong
}
