use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::{age, some_of};
use crate::checks::{Wrong, each_invalid, immutable, ip, one_of, required, required_one_of};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `endpointslices.discovery.k8s.io`. In Kubernetes: `pkg/registry/discovery/endpointslice`.
pub(crate) const ENDPOINT_SLICE: Rules = Rules {
    generation: Generation::Fields(&["addressType", "endpoints", "ports", "metadata.labels"]),
    validate: wrong,
    validate_change: |new, old| immutable(new, old, "addressType"),
    warnings,
    columns: columns::ENDPOINT_SLICE,
    cells,
    ..Rules::of("discovery.k8s.io", "v1", "endpointslices")
};

fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let is_fqdn = new.text(&["addressType"]) == "FQDN";
    if old.is_none() && is_fqdn {
        return vec!["spec.addressType: FQDN endpoints are deprecated".to_owned()];
    }
    Vec::new()
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let port = |port: &Value| match (port.int_if_set("port"), port.at("name").as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    let ports: Vec<String> = object.list("ports").iter().map(port).collect();
    let endpoints = object.list("endpoints").iter();
    let addresses: Vec<String> = endpoints
        .flat_map(|endpoint| endpoint.list("addresses"))
        .filter_map(|address| address.as_str().map(str::to_owned))
        .collect();
    let some = |list: &[String]| match some_of(list, 3, ",", "<unset>") {
        Value::String(text) if text.is_empty() => "<unset>".into(),
        cell => cell,
    };
    vec![object.name().into(), object.text(&["addressType"]).into(), some(&ports), some(&addresses), age(object, now)]
}

/// In Kubernetes: `ValidateEndpointSlice`.
fn wrong(object: &Object) -> Wrong {
    let mut wrong = required_one_of(object, "addressType", "", &["FQDN", "IPv4", "IPv6"]);
    let kind = object.text(&["addressType"]);
    let endpoints = object.list("endpoints");
    if endpoints.len() > 1000 {
        wrong.push(FieldError::too_many("endpoints", endpoints.len(), 1000));
    }
    for (at, endpoint) in endpoints.iter().enumerate() {
        let path = format!("endpoints[{at}].addresses");
        let addresses = endpoint.list("addresses");
        if addresses.is_empty() {
            wrong.push(FieldError::required(&path, "must contain at least 1 address"));
        } else if addresses.len() > 100 {
            wrong.push(FieldError::too_many(&path, addresses.len(), 100));
        }
        for (at, address) in addresses.iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(wrong_address(address, kind, &format!("{path}[{at}]")));
        }
        if let Some(node) = endpoint.at("nodeName").as_str() {
            wrong.extend(each_invalid(&format!("endpoints[{at}].nodeName"), node, names::dns1123_subdomain(node)));
        }
        let host = endpoint.text("hostname");
        if !host.is_empty() {
            wrong.extend(each_invalid(&format!("endpoints[{at}].hostname"), host, names::dns1123_label(host)));
        }
    }
    let ports = object.list("ports");
    if ports.len() > 20_000 {
        wrong.push(FieldError::too_many("ports", ports.len(), 20_000));
    }
    for (at, port) in ports.iter().enumerate() {
        let name = port.text("name");
        if !name.is_empty() {
            wrong.extend(each_invalid(&format!("ports[{at}].name"), name, names::dns1123_label(name)));
        }
        if ports[..at].iter().any(|earlier| earlier.text("name") == name) {
            wrong.push(FieldError::duplicate(format!("ports[{at}].name"), name));
        }
        let path = format!("ports[{at}]");
        if port.has("protocol") {
            wrong.extend(one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"]));
        } else {
            wrong.extend(required(port, "protocol", &path));
        }
        if let Some(protocol) = port.at("appProtocol").as_str() {
            wrong.extend(each_invalid(&format!("{path}.appProtocol"), protocol, names::qualified_name(protocol)));
        }
    }
    wrong
}

fn wrong_address(address: &str, kind: &str, path: &str) -> Wrong {
    let not_address = if kind == "FQDN" { Wrong::new() } else { ip(address, path) };
    if !not_address.is_empty() {
        return not_address;
    }
    let parsed = address.parse::<std::net::IpAddr>().ok();
    match kind {
        "IPv4" if !parsed.is_some_and(|address| address.is_ipv4()) => {
            vec![FieldError::invalid(path, address, "must be a valid IPv4 address")]
        }
        "IPv6" if !parsed.is_some_and(|address| address.is_ipv6()) => {
            vec![FieldError::invalid(path, address, "must be a valid IPv6 address")]
        }
        "FQDN" => each_invalid(path, address, names::dns1123_subdomain(address.trim_end_matches('.'))),
        _ => Wrong::new(),
    }
}
