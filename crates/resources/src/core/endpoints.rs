use std::net::IpAddr;

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use serde_json::Value;

use crate::cells::{age, some_of};
use crate::checks::{Wrong, each_invalid, ip, required_one_of, same};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `endpoints`. In Kubernetes: `pkg/registry/core/endpoint`.
pub(crate) const ENDPOINTS: Rules = Rules {
    deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    store_directory: Some("services/endpoints"),
    validate_create: |object| wrong_subsets(object.list("subsets")),
    // What is there may stay, also if it was written when less was checked.
    validate_change: |new, old| {
        let unchanged = same(new.at("subsets"), old.at("subsets"));
        if unchanged { Wrong::new() } else { wrong_subsets(new.list("subsets")) }
    },
    columns: columns::ENDPOINTS,
    cells,
    ..Rules::of("", "v1", "endpoints")
};

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let mut addresses = Vec::new();
    for subset in object.list("subsets") {
        let ports = subset.list("ports");
        let ips = || subset.list("addresses").iter().map(|address| address.text("ip"));
        if ports.is_empty() {
            addresses.extend(ips().map(str::to_owned));
        }
        for port in ports {
            addresses.extend(ips().map(|ip| host_and_port(ip, port.int("port"))));
        }
    }
    let shown = if object.list("subsets").is_empty() { "<none>".into() } else { some_of(&addresses, 3, ",", "") };
    vec![object.name().into(), shown, age(object, now)]
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

/// In Kubernetes: `validateEndpointSubsets`.
fn wrong_subsets(subsets: &[Value]) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, subset) in subsets.iter().enumerate() {
        let path = format!("subsets[{at}]");
        if subset.list("addresses").is_empty() && subset.list("notReadyAddresses").is_empty() {
            wrong.push(FieldError::required(&path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for list in ["addresses", "notReadyAddresses"] {
            for (at, address) in subset.list(list).iter().enumerate() {
                wrong.extend(wrong_address(address, &format!("{path}.{list}[{at}]")));
            }
        }
        let ports = subset.list("ports");
        for (at, port) in ports.iter().enumerate() {
            wrong.extend(wrong_port(port, ports.len() > 1, &format!("{path}.ports[{at}]")));
        }
    }
    wrong
}

fn wrong_address(address: &Value, path: &str) -> Wrong {
    let (text, ip_path) = (address.text("ip"), format!("{path}.ip"));
    let mut wrong = ip(text, &ip_path);
    let host = address.text("hostname");
    if !host.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.hostname"), host, names::dns1123_label(host)));
    }
    if let Some(node) = address.at("nodeName").as_str() {
        wrong.extend(each_invalid(&format!("{path}.nodeName"), node, names::dns1123_subdomain(node)));
    }
    wrong.extend(wrong_reach(text, &ip_path));
    wrong
}

/// Addresses that lead nowhere but here. In Kubernetes: `ValidateEndpointIP`.
fn wrong_reach(text: &str, path: &str) -> Wrong {
    let Ok(address) = text.parse::<IpAddr>() else {
        return vec![FieldError::invalid(path, text, "must be a valid IP address")];
    };
    let (is_link_local, is_link_local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02),
    };
    let what = if address.is_unspecified() {
        format!("may not be unspecified ({text})")
    } else if address.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()
    } else if is_link_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
    } else if is_link_local_multicast {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
    } else {
        return Wrong::new();
    };
    vec![FieldError::invalid(path, text, what)]
}

fn wrong_port(port: &Value, needs_name: bool, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let name = port.text("name");
    if !name.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_label(name)));
    } else if needs_name {
        wrong.push(FieldError::required(format!("{path}.name"), ""));
    }
    let number = port.int("port");
    let sentences = names::port_number(number).into_iter();
    wrong.extend(sentences.map(|what| FieldError::invalid(format!("{path}.port"), number, what)));
    wrong.extend(required_one_of(port, "protocol", path, &["SCTP", "TCP", "UDP"]));
    if let Some(protocol) = port.at("appProtocol").as_str() {
        wrong.extend(each_invalid(&format!("{path}.appProtocol"), protocol, names::qualified_name(protocol)));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_address_can_be_reached_from_elsewhere() {
        assert!(wrong_reach("10.0.0.1", "p").is_empty());
        for text in ["127.0.0.1", "169.254.1.1", "0.0.0.0", "::1", "fe80::1", "224.0.0.1", "nonsense"] {
            assert_eq!(wrong_reach(text, "p").len(), 1, "{text}");
        }
    }

    #[test]
    fn several_ports_have_names() {
        let port = json!({"port": 80, "protocol": "TCP"});
        let subset = json!({"addresses": [{"ip": "10.0.0.1"}], "ports": [port]});
        assert!(wrong_subsets(&[subset.clone()]).is_empty());
        let mut two = subset;
        two["ports"].as_array_mut().unwrap().push(port);
        assert_eq!(wrong_subsets(&[two]).len(), 2);
    }
}
