use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Generation, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::addresses::{ip_warning, parse_ip, wrong_canonical_ip, wrong_reach};
use crate::built_in::built_in;
use crate::cells::some_of;
use crate::field_checks::{Wrong, each_invalid, immutable, ip, one_of, required_one_of};

/// `endpointslices.discovery.k8s.io`. In Kubernetes: `pkg/registry/discovery/endpointslice`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        generation: Generation::Fields(&["addressType", "endpoints", "ports", "metadata.labels"]),
        // Only objects of older versions have it.
        prepare_create: |object, _, _| drop_old_topology(object),
        prepare_update: |object, _, _, _| drop_old_topology(object),
        validate: wrong,
        validate_change: |new, old, _| immutable(new, old, "addressType"),
        warnings,
        columns: columns(),
        ..built_in(release, "discovery.k8s.io", "v1", "endpointslices")
    }
}

fn drop_old_topology(object: &mut Object) {
    if !object.list("endpoints").iter().any(|endpoint| endpoint.has("deprecatedTopology")) {
        return;
    }
    object.edit(|tree| {
        for endpoint in tree.get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten() {
            endpoint.as_object_mut().and_then(|endpoint| endpoint.remove("deprecatedTopology"));
        }
    });
}

fn warnings(new: &Object, old: Option<&Object>, release: &Release) -> Vec<String> {
    let is_fqdn = new.text("addressType") == "FQDN";
    if is_fqdn {
        let what = "spec.addressType: FQDN endpoints are deprecated".to_owned();
        return if old.is_none() { vec![what] } else { Vec::new() };
    }
    let is_controllers = matches!(
        new.label("endpointslice.kubernetes.io/managed-by"),
        Some("endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io")
    );
    let mut warnings = Vec::new();
    for (at, endpoint) in new.list("endpoints").iter().enumerate().filter(|_| !is_controllers) {
        let addresses = endpoint.list("addresses").iter().filter_map(Value::as_str).enumerate();
        warnings.extend(addresses.filter_map(|(address_at, address)| {
            ip_warning(address, &format!("endpoints[{at}].addresses[{address_at}]"), release)
        }));
    }
    warnings
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "AddressType",
            "addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type. This field is immutable after creation. The following address types are currently supported: * IPv4: Represents an IPv4 Address. * IPv6: Represents an IPv6 Address. * FQDN: Represents a Fully Qualified Domain Name.",
            |object| object.text("addressType").into(),
        ),
        TableColumn::text(
            "Ports",
            "ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name. When ports is empty, it indicates that there are no defined ports. When a port is defined with a nil port value, it indicates \"all ports\". Each slice may include a maximum of 100 ports.",
            |object| some(&ports(object)),
        ),
        TableColumn::text(
            "Endpoints",
            "endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 endpoints.",
            |object| some(&addresses(object)),
        ),
        TableColumn::age(),
    ]
}

fn ports(object: &Object) -> Vec<String> {
    let port = |port: &Value| match (port.int_if_set("port"), port.at("name").as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    object.list("ports").iter().map(port).collect()
}

fn addresses(object: &Object) -> Vec<String> {
    let addresses = object.list("endpoints").iter().flat_map(|endpoint| endpoint.list("addresses"));
    addresses.filter_map(|address| address.as_str().map(str::to_owned)).collect()
}

fn some(list: &[String]) -> Value {
    match some_of(list, 3, ",", "<unset>") {
        Value::String(text) if text.is_empty() => "<unset>".into(),
        cell => cell,
    }
}

/// In Kubernetes: `ValidateEndpointSlice`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let mut wrong = required_one_of(object, "addressType", "", &["FQDN", "IPv4", "IPv6"]);
    let ports = object.list("ports");
    if ports.len() > 20_000 {
        wrong.push(FieldError::too_many("ports", ports.len(), 20_000));
        return wrong;
    }
    let mut seen = BTreeSet::new();
    for (at, port) in ports.iter().enumerate() {
        let name = port.text("name");
        if !name.is_empty() {
            wrong.extend(each_invalid(&format!("ports[{at}].name"), name, names::dns1123_label(name)));
        }
        if !seen.insert(name) {
            wrong.push(FieldError::duplicate(format!("ports[{at}].name"), name));
        }
        let protocols = ["SCTP", "TCP", "UDP"];
        if port.has("protocol") {
            wrong.extend(one_of(port, "protocol", &format!("ports[{at}]"), &protocols))
        } else {
            wrong.push(FieldError::required(format!("ports[{at}].protocol"), ""))
        }
        let protocol = port.text("appProtocol");
        if port.has("appProtocol") {
            let path = format!("ports[{at}].appProtocol");
            wrong.extend(each_invalid(&path, protocol, names::qualified_name(protocol)));
        }
    }
    let kind = object.text("addressType");
    let endpoints = object.list("endpoints");
    if endpoints.len() > 1000 {
        wrong.push(FieldError::too_many("endpoints", endpoints.len(), 1000));
        return wrong;
    }
    for (at, endpoint) in endpoints.iter().enumerate() {
        let path = format!("endpoints[{at}].addresses");
        let addresses = endpoint.list("addresses");
        if addresses.is_empty() {
            wrong.push(FieldError::required(&path, "must contain at least 1 address").declared());
        } else if addresses.len() > 100 {
            wrong.push(FieldError::too_many(&path, addresses.len(), 100));
        }
        for (at, address) in addresses.iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(wrong_address(address, kind, &path, at, release));
        }
        wrong.extend(wrong_place(endpoint, &format!("endpoints[{at}]")));
    }
    wrong
}

/// The errors of an endpoint's node and hints.
fn wrong_place(endpoint: &Value, path: &str) -> Wrong {
    const HINTS_MOST: usize = 8;
    let mut wrong = Wrong::new();
    if endpoint.has("nodeName") {
        let node = endpoint.text("nodeName");
        wrong.extend(each_invalid(&format!("{path}.nodeName"), node, names::dns1123_subdomain(node)));
    }
    if endpoint.has("hostname") {
        let host = endpoint.text("hostname");
        wrong.extend(each_invalid(&format!("{path}.hostname"), host, names::dns1123_label(host)));
    }
    for (field, of_name) in
        [("forZones", names::label_value as fn(&str) -> Vec<String>), ("forNodes", names::dns1123_subdomain)]
    {
        let path = format!("{path}.hints.{field}");
        let hints = endpoint.at("hints").list(field);
        if hints.len() > HINTS_MOST {
            wrong.push(FieldError::too_many(&path, hints.len(), HINTS_MOST));
            return wrong;
        }
        for (at, hint) in hints.iter().enumerate() {
            let (name, path) = (hint.text("name"), format!("{path}[{at}].name"));
            if hints[..at].iter().any(|earlier| earlier.text("name") == name) {
                wrong.push(FieldError::duplicate(&path, name));
            }
            wrong.extend(each_invalid(&path, name, of_name(name)));
        }
    }
    wrong
}

/// A name of at least two labels. In Kubernetes: `IsFullyQualifiedDomainName`.
fn wrong_full_name(given: &str, path: &str) -> Wrong {
    if given.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let name = given.strip_suffix('.').unwrap_or(given);
    let refuse = |name: &str, what: String| vec![FieldError::invalid(path, name, what)];
    let sentences = names::dns1123_subdomain(name);
    if !sentences.is_empty() {
        return refuse(name, sentences.join(","));
    }
    if !name.contains('.') {
        return refuse(name, "should be a domain with at least two segments separated by dots".to_owned());
    }
    let wrong_label = name.split('.').find(|label| !names::dns1123_label(label).is_empty());
    wrong_label.map_or_else(Wrong::new, |label| refuse(label, names::dns1123_label(label).join(",")))
}

fn wrong_address(address: &str, kind: &str, path: &str, at: usize, release: &Release) -> Wrong {
    let own = format!("{path}[{at}]");
    let not_address = match kind {
        "FQDN" => return wrong_full_name(address, &own),
        "IPv4" => ip(address, &own, release),
        "IPv6" => each_invalid(&own, address, wrong_canonical_ip(address)),
        _ => return Wrong::new(),
    };
    if !not_address.is_empty() {
        return not_address;
    }
    let mut wrong = Wrong::new();
    if parse_ip(address).is_some_and(|parsed| parsed.is_ipv4() != (kind == "IPv4")) {
        wrong.push(FieldError::invalid(path, address, format!("must be an {kind} address")));
    }
    wrong.extend(each_invalid(&own, address, wrong_reach(address)));
    wrong
}
