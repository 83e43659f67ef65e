use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::addresses::{ip_warning, wrong_reach};
use crate::built_in::built_in;
use crate::cells::some_of_so_many;
use crate::field_checks::{Wrong, each_invalid, ip, one_of};

/// `endpoints`. In Kubernetes: `pkg/registry/core/endpoint`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned()),
        store_directory: "services/endpoints".to_owned(),
        validate: wrong,
        warnings: |new, _, release| warnings(new, release),
        columns: columns(),
        ..built_in(release, "", "v1", "endpoints")
    }
}

/// The warnings about addresses in an older form; objects of the controller have none.
fn warnings(object: &Object, release: &Release) -> Vec<String> {
    if object.label("endpoints.kubernetes.io/managed-by") == Some("endpoint-controller") {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for (at, subset) in object.list("subsets").iter().enumerate() {
        for field in ["addresses", "notReadyAddresses"] {
            let addresses = subset.list(field).iter().enumerate();
            warnings.extend(addresses.filter_map(|(address_at, address)| {
                ip_warning(address.text("ip"), &format!("subsets[{at}].{field}[{address_at}].ip"), release)
            }));
        }
    }
    warnings
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Endpoints",
            "The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to the IPs they share. A single address with multiple ports, some of which are ready and some of which are not (because they come from different containers) will result in the address being displayed in different subsets for the different ports. No address will appear in both Addresses and NotReadyAddresses in the same subset. Sets of addresses and ports that comprise a service.",
            addresses,
        ),
        TableColumn::age(),
    ]
}

/// The maximum number of shown addresses.
const SHOWN: usize = 3;

fn addresses(object: &Object) -> Value {
    let (mut addresses, mut count) = (Vec::new(), 0_usize);
    for subset in object.list("subsets") {
        let ports = subset.list("ports");
        let ips = || subset.list("addresses").iter().map(|address| address.text("ip"));
        count = count.saturating_add(ips().len().saturating_mul(ports.len().max(1)));
        if ports.is_empty() {
            addresses.extend(ips().take(SHOWN).map(str::to_owned));
        }
        // If there are addresses, each port has one to show.
        for port in ports.iter().take(SHOWN) {
            addresses.extend(ips().take(SHOWN).map(|ip| host_and_port(ip, port.int("port"))));
        }
    }
    if object.list("subsets").is_empty() { "<none>".into() } else { some_of_so_many(&addresses, count, SHOWN, ",", "") }
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

/// In Kubernetes: `validateEndpointSubsets`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, subset) in object.list("subsets").iter().enumerate() {
        let path = format!("subsets[{at}]");
        if subset.list("addresses").is_empty() && subset.list("notReadyAddresses").is_empty() {
            wrong.push(FieldError::required(&path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for field in ["addresses", "notReadyAddresses"] {
            for (at, address) in subset.list(field).iter().enumerate() {
                wrong.extend(wrong_address(address, &format!("{path}.{field}[{at}]"), release));
            }
        }
        let ports = subset.list("ports");
        for (at, port) in ports.iter().enumerate() {
            wrong.extend(wrong_port(port, ports.len() > 1, &format!("{path}.ports[{at}]")));
        }
    }
    wrong
}

fn wrong_address(address: &Value, path: &str, release: &Release) -> Wrong {
    let (own, host, node) = (address.text("ip"), address.text("hostname"), address.text("nodeName"));
    let mut wrong = ip(own, &format!("{path}.ip"), release);
    if !host.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.hostname"), host, names::dns1123_label(host)));
    }
    if address.has("nodeName") {
        wrong.extend(each_invalid(&format!("{path}.nodeName"), node, names::dns1123_subdomain(node)));
    }
    let path = format!("{path}.ip");
    wrong.extend(each_invalid(&path, own, wrong_reach(own)));
    wrong
}

fn wrong_port(port: &Value, needs_name: bool, path: &str) -> Wrong {
    let (name, number, protocol) = (port.text("name"), port.int("port"), port.text("appProtocol"));
    let mut wrong = Wrong::new();
    match name {
        "" if needs_name => wrong.push(FieldError::required(format!("{path}.name"), "")),
        "" => {}
        name => wrong.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_label(name))),
    }
    let wrong_number = names::port_number(number).into_iter();
    wrong.extend(wrong_number.map(|what| FieldError::invalid(format!("{path}.port"), number, what)));
    match port.text("protocol") {
        "" => wrong.push(FieldError::required(format!("{path}.protocol"), "")),
        _ => wrong.extend(one_of(port, "protocol", path, &["SCTP", "TCP", "UDP"])),
    }
    if port.has("appProtocol") {
        wrong.extend(each_invalid(&format!("{path}.appProtocol"), protocol, names::qualified_name(protocol)));
    }
    wrong
}
