//! Validates a Service. In Kubernetes: `validateService`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_release::Release;
use serde_json::Value;

use super::service_needs::is_headless;
use crate::addresses::{parse_ip, wrong_reach};
use crate::field_checks::{Wrong, cidr, each_invalid, ip, labels, one_of, port_or_name, required_one_of};

const ADDRESSES: &str = "spec.clusterIPs";

/// The errors of a Service. It keeps the addresses that it had in `old`, even in forms that are refused now.
pub(super) fn wrong_service(object: &Object, old: Option<&Object>, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let kind = spec.text("type");
    let is_headless = is_headless(object);
    let ports = spec.list("ports");
    let mut wrong = wrong_topology(object);
    if ports.is_empty() && !is_headless && kind != "ExternalName" {
        wrong.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            let what = format!("may not be set to 'None' for {kind} services");
            wrong.push(FieldError::invalid(format!("{ADDRESSES}[0]"), "None", what));
        }
        "ExternalName" => wrong.extend(wrong_external_name(spec)),
        _ => {}
    }
    let mut port_names = BTreeSet::new();
    for (at, port) in ports.iter().enumerate() {
        wrong.extend(wrong_port(port, &mut port_names, ports.len() > 1, &format!("spec.ports[{at}]")));
    }
    wrong.extend(labels(spec.at("selector"), "spec.selector"));
    wrong.extend(required_one_of(spec, "sessionAffinity", "spec", &["ClientIP", "None"]));
    wrong.extend(wrong_affinity(spec));
    wrong.extend(wrong_cluster_ips(object, old, release));
    let kept = kept_texts(old, "spec.externalIPs");
    for (at, address) in spec.list("externalIPs").iter().filter_map(Value::as_str).enumerate() {
        let path = format!("spec.externalIPs[{at}]");
        let not_address = if kept.contains(address) { Wrong::new() } else { ip(address, &path, release) };
        wrong.extend(if not_address.is_empty() {
            each_invalid(&path, address, wrong_reach(address))
        } else {
            not_address
        });
    }
    wrong.extend(required_one_of(spec, "type", "spec", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]));
    if kind == "ClusterIP" {
        let with_node_port = ports.iter().enumerate().filter(|(_, port)| port.int("nodePort") != 0);
        let what = "may not be used when `type` is 'ClusterIP'";
        wrong.extend(with_node_port.map(|(at, _)| FieldError::forbidden(format!("spec.ports[{at}].nodePort"), what)));
    }
    wrong.extend(repeated_ports(ports));
    wrong.extend(wrong_load_balancer(object, old, release));
    wrong.extend(wrong_external_traffic(spec));
    if spec.has("internalTrafficPolicy") {
        wrong.extend(one_of(spec, "internalTrafficPolicy", "spec", &["Cluster", "Local"]));
    }
    if spec.has("trafficDistribution") {
        let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        wrong.extend(one_of(spec, "trafficDistribution", "spec", &known));
    }
    wrong
}

/// The texts of a list of the old object, without spaces around them.
fn kept_texts<'o>(old: Option<&'o Object>, path: &str) -> BTreeSet<&'o str> {
    old.into_iter().flat_map(|old| old.list(path)).filter_map(Value::as_str).map(str::trim).collect()
}

/// The old and the new annotation must be equal.
fn wrong_topology(object: &Object) -> Wrong {
    const MODE: &str = "service.kubernetes.io/topology-mode";
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    match (object.annotation(MODE), object.annotation(HINTS)) {
        (Some(mode), Some(hints)) if mode != hints => {
            let what = format!("must match annotations[{HINTS}] when both are specified");
            vec![FieldError::invalid(format!("metadata.annotations[{MODE}]"), mode, what)]
        }
        _ => Wrong::new(),
    }
}

/// In Kubernetes: `validateServiceExternalTrafficPolicy`.
fn wrong_external_traffic(spec: &Value) -> Wrong {
    let kind = spec.text("type");
    let is_reached =
        ["LoadBalancer", "NodePort"].contains(&kind) || kind == "ClusterIP" && !spec.list("externalIPs").is_empty();
    let policy = spec.text("externalTrafficPolicy");
    let mut wrong = Wrong::new();
    if is_reached {
        wrong.extend(required_one_of(spec, "externalTrafficPolicy", "spec", &["Cluster", "Local"]));
    } else if !policy.is_empty() {
        let what = "may only be set for externally-accessible services";
        wrong.push(FieldError::invalid("spec.externalTrafficPolicy", policy, what));
    }
    let port = spec.int("healthCheckNodePort");
    let path = "spec.healthCheckNodePort";
    if port != 0 && !(kind == "LoadBalancer" && policy == "Local") {
        let what = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        wrong.push(FieldError::invalid(path, port, what));
    } else if port != 0 {
        let sentences = names::port_number(port).into_iter();
        wrong.extend(sentences.map(|what| FieldError::invalid(path, port, what)));
    }
    wrong
}

/// The fields that only a load balancer has.
fn wrong_load_balancer(object: &Object, old: Option<&Object>, release: &Release) -> Wrong {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let spec = object.at("spec");
    let is_balanced = spec.text("type") == "LoadBalancer";
    let mut wrong = Wrong::new();
    let ranges = spec.list("loadBalancerSourceRanges");
    if !ranges.is_empty() && !is_balanced {
        wrong.push(FieldError::forbidden("spec.LoadBalancerSourceRanges", ONLY));
    }
    let kept = kept_texts(old, "spec.loadBalancerSourceRanges");
    let ranges_given = ranges.iter().filter_map(Value::as_str).map(str::trim).enumerate();
    for (at, range) in ranges_given.filter(|(_, range)| !kept.contains(range)) {
        wrong.extend(cidr(range, &format!("spec.LoadBalancerSourceRanges[{at}]"), release));
    }
    if let Some(given) = object.annotation(RANGES).filter(|_| ranges.is_empty()) {
        let path = format!("metadata.annotations[{RANGES}]");
        if !is_balanced {
            wrong.push(FieldError::forbidden(&path, ONLY));
        }
        let is_new = old.is_none_or(|old| old.annotation(RANGES) != Some(given));
        if is_new && !given.trim().is_empty() {
            wrong.extend(given.trim().split(',').flat_map(|range| cidr(range.trim(), &path, release)));
        }
    }
    if spec.has("allocateLoadBalancerNodePorts") && !is_balanced {
        wrong.push(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", ONLY));
    }
    if let Some(class) = spec.at("loadBalancerClass").as_str() {
        let path = "spec.loadBalancerClass";
        wrong.extend(if is_balanced {
            each_invalid(path, class, names::qualified_name(class))
        } else {
            vec![FieldError::forbidden(path, ONLY)]
        });
    }
    wrong
}

fn wrong_external_name(spec: &Value) -> Wrong {
    let what = "may not be set for ExternalName services";
    let not_set = ["clusterIPs", "ipFamilies"].into_iter().filter(|field| !spec.list(field).is_empty());
    let mut wrong: Wrong = not_set.map(|field| FieldError::forbidden(format!("spec.{field}"), what)).collect();
    if spec.has("ipFamilyPolicy") {
        wrong.push(FieldError::forbidden("spec.ipFamilyPolicy", what));
    }
    let name = spec.text("externalName");
    match name.strip_suffix('.').unwrap_or(name) {
        "" => wrong.push(FieldError::required("spec.externalName", "")),
        name => wrong.extend(each_invalid("spec.externalName", name, names::dns1123_subdomain(name))),
    }
    wrong
}

/// `seen` are the names of the ports before it.
fn wrong_port<'s>(port: &'s Value, seen: &mut BTreeSet<&'s str>, needs_name: bool, path: &str) -> Wrong {
    let name_path = format!("{path}.name");
    let mut wrong = match port.text("name") {
        "" if needs_name => vec![FieldError::required(name_path, "")],
        "" => Wrong::new(),
        name => {
            let mut wrong = each_invalid(&name_path, name, names::dns1123_label(name));
            if !seen.insert(name) {
                wrong.push(FieldError::duplicate(&name_path, name));
            }
            wrong
        }
    };
    let number = port.int("port");
    let port_path = format!("{path}.port");
    wrong.extend(names::port_number(number).into_iter().map(|what| FieldError::invalid(&port_path, number, what)));
    wrong.extend(required_one_of(port, "protocol", path, &["SCTP", "TCP", "UDP"]));
    wrong.extend(port_or_name(port.at("targetPort"), &format!("{path}.targetPort")));
    if let Some(protocol) = port.at("appProtocol").as_str() {
        wrong.extend(each_invalid(&format!("{path}.appProtocol"), protocol, names::qualified_name(protocol)));
    }
    wrong
}

/// Node ports of a protocol, and pairs of protocol and port, must be unique.
fn repeated_ports(ports: &[Value]) -> Wrong {
    let (mut known, mut known_node_ports) = (BTreeSet::new(), BTreeSet::new());
    let mut wrong = Wrong::new();
    for (at, port) in ports.iter().enumerate() {
        let node_port = port.int("nodePort");
        if node_port != 0 && !known_node_ports.insert((port.text("protocol"), node_port)) {
            wrong.push(FieldError::duplicate(format!("spec.ports[{at}].nodePort"), node_port));
        }
    }
    for (at, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{at}]");
        let (protocol, number) = (port.text("protocol"), port.int("port"));
        if !known.insert((protocol, number)) {
            // Go's format of the compared fields.
            let printed = format!(
                r#"{{"Name":"","Protocol":"{protocol}","AppProtocol":null,"Port":{number},"TargetPort":0,"NodePort":0}}"#
            );
            wrong.push(FieldError::duplicate(&path, port.clone()).printed_as(printed));
        }
    }
    wrong
}

fn wrong_affinity(spec: &Value) -> Wrong {
    const PATH: &str = "spec.sessionAffinityConfig";
    let config = spec.at("sessionAffinityConfig");
    match (spec.text("sessionAffinity"), config.int("clientIP.timeoutSeconds")) {
        ("ClientIP", seconds) if !(1..=86400).contains(&seconds) => {
            let what = "must be greater than 0 and less than 86400";
            vec![FieldError::invalid(format!("{PATH}.clientIP.timeoutSeconds"), seconds, what)]
        }
        ("None", _) if !config.is_null() => {
            vec![FieldError::forbidden(PATH, "must not be set when session affinity is None")]
        }
        _ => Wrong::new(),
    }
}

/// In Kubernetes: `ValidateServiceClusterIPsRelatedFields`, which also runs before addresses are allocated.
pub(super) fn wrong_cluster_ips(object: &Object, old: Option<&Object>, release: &Release) -> Wrong {
    let spec = object.at("spec");
    if spec.text("type") == "ExternalName" {
        return Wrong::new();
    }
    let all = spec.list("clusterIPs");
    let mut wrong = Wrong::new();
    match (spec.text("clusterIP"), all.first().and_then(Value::as_str)) {
        ("", None) => {}
        ("", Some(_)) => {
            let what = "must be empty when `clusterIP` is not specified";
            wrong.push(FieldError::invalid(ADDRESSES, all, what));
        }
        (_, None) => wrong.push(FieldError::required(ADDRESSES, "")),
        (one, Some(first)) if one != first => {
            wrong.push(FieldError::invalid(ADDRESSES, all, "first value must match `clusterIP`"));
        }
        _ => {}
    }
    let mut families = BTreeSet::new();
    for (at, family) in spec.list("ipFamilies").iter().filter_map(Value::as_str).enumerate() {
        let path = format!("spec.ipFamilies[{at}]");
        if !["IPv4", "IPv6"].contains(&family) {
            wrong.push(FieldError::not_supported(&path, family, &["IPv4", "IPv6"]));
        }
        if !families.insert(family) {
            wrong.push(FieldError::duplicate(path, family));
        }
    }
    if spec.has("ipFamilyPolicy") {
        let known = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        wrong.extend(one_of(spec, "ipFamilyPolicy", "spec", &known));
    }
    let mut has_invalid = false;
    let kept = kept_texts(old, ADDRESSES);
    for (at, address) in all.iter().filter_map(Value::as_str).enumerate() {
        if at == 0 && address == "None" {
            if all.len() > 1 {
                has_invalid = true;
                wrong.push(FieldError::invalid(ADDRESSES, all, "'None' must be the first and only value"));
            }
            continue;
        }
        if kept.contains(address) {
            continue;
        }
        let not_address = ip(address, &format!("{ADDRESSES}[{at}]"), release);
        has_invalid |= !not_address.is_empty();
        wrong.extend(not_address);
    }
    if all.len() > 2 {
        wrong.push(FieldError::invalid(ADDRESSES, all, "may only hold up to 2 values"));
    }
    if !has_invalid {
        wrong.extend(wrong_families(spec, all));
    }
    wrong
}

/// Two addresses must be of the two requested families.
fn wrong_families(spec: &Value, all: &[Value]) -> Wrong {
    let mut wrong = Wrong::new();
    let parsed: Vec<(&str, IpAddr)> =
        all.iter().filter_map(Value::as_str).filter_map(|text| Some((text, parse_ip(text)?))).collect();
    let count_v4 = parsed.iter().filter(|(_, address)| address.is_ipv4()).count();
    if all.len() > 1 && (count_v4 == 0 || count_v4 == parsed.len()) {
        let what = "may specify no more than one IP for each IP family";
        wrong.push(FieldError::invalid(ADDRESSES, all, what));
    }
    for (at, ((text, address), family)) in parsed.iter().zip(spec.list("ipFamilies")).enumerate() {
        let own = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        if family != own && (family == "IPv4" || family == "IPv6") {
            let what =
                format!("expected an {} value as indicated by `ipFamilies[{at}]`", family.as_str().unwrap_or(""));
            wrong.push(FieldError::invalid(format!("{ADDRESSES}[{at}]"), *text, what));
        }
    }
    wrong
}
