//! What the endpoints of the service `kubernetes` should be. In Kubernetes: `pkg/controlplane/reconcilers`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionKind, Object, ObjectKey};
use serde_json::{Value, json};

/// The label of endpoints that the EndpointSlice mirroring controller ignores: their slice is written here, too.
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The content of the endpoints.
#[derive(Clone, Debug)]
pub(super) struct DesiredEndpoints {
    /// The addresses of the API servers.
    pub(super) addresses: BTreeSet<String>,
    /// Their port.
    pub(super) port: u16,
    /// Whether this port replaces an existing one, which another server may have written.
    pub(super) sets_port: bool,
}

/// The Endpoints `key` as they should be.
pub(super) fn endpoints(key: &ObjectKey, existing: Option<&Object>, wanted: &DesiredEndpoints) -> Object {
    let mut endpoints = existing.cloned().unwrap_or_else(|| named(key, &GroupVersionKind::new("", "v1", "Endpoints")));
    let kept = match endpoints.list("subsets") {
        [subset] if !wanted.sets_port => Some(subset.at("ports").clone()).filter(Value::is_array),
        _ => None,
    };
    let ports = kept.unwrap_or_else(|| ports(wanted.port));
    let addresses: Vec<Value> = wanted.addresses.iter().map(|ip| json!({"ip": ip})).collect();
    let subsets = (!addresses.is_empty()).then(|| json!([{"addresses": addresses, "ports": ports}]));
    endpoints.set_or_remove("subsets", subsets);
    let mut labels = endpoints.labels();
    labels.insert(SKIP_MIRROR.to_owned(), "true".to_owned());
    endpoints.set("metadata.labels", json!(labels));
    endpoints
}

/// The EndpointSlice with the content of the Endpoints; a new one if `existing` is of the other address type.
pub(super) fn slice(existing: Option<&Object>, endpoints: &Object) -> Object {
    let subset = endpoints.list("subsets").first().unwrap_or(&Value::Null);
    let addresses = || subset.list("addresses").iter().map(|address| address.text("ip"));
    let is_v6 = |ip: &str| ip.parse().is_ok_and(|ip: IpAddr| ip.is_ipv6());
    let all_v6 = addresses().next().is_some() && addresses().all(is_v6);
    let address_type = if all_v6 { "IPv6" } else { "IPv4" };
    let existing = existing.filter(|slice| slice.text("addressType") == address_type);
    let kind = GroupVersionKind::new("discovery.k8s.io", "v1", "EndpointSlice");
    let mut slice = existing.cloned().unwrap_or_else(|| named(&endpoints.key(), &kind));
    let one = |ip: &str| json!({"addresses": [ip], "conditions": {"ready": true}});
    slice.set("addressType", address_type);
    slice.set("metadata.labels", json!({SERVICE_NAME: endpoints.name()}));
    slice.set("endpoints", addresses().filter(|ip| is_v6(ip) == all_v6).map(one).collect::<Vec<Value>>());
    // Without addresses there are no ports, which is stored as null.
    slice.set("ports", subset.at("ports").clone());
    slice
}

fn ports(port: u16) -> Value {
    json!([{"name": "https", "port": port, "protocol": "TCP"}])
}

fn named(key: &ObjectKey, kind: &GroupVersionKind) -> Object {
    let mut object = Object::of_kind(kind);
    object.set("metadata", json!({"name": key.name, "namespace": key.namespace}));
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(existing: Option<&Object>, addresses: &[&str], port: u16, sets_port: bool) -> Object {
        let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
        endpoints(&ObjectKey::new("default", "kubernetes"), existing, &DesiredEndpoints { addresses, port, sets_port })
    }

    #[test]
    fn endpoints_name_every_server_and_are_left_alone_when_they_do() {
        let two = made(None, &["10.1.0.2", "10.1.0.1"], 6443, false);
        let addresses = two.list("subsets")[0].list("addresses");
        assert_eq!(addresses, [json!({"ip": "10.1.0.1"}), json!({"ip": "10.1.0.2"})]);
        assert_eq!(two.label(SKIP_MIRROR), Some("true"));
        assert_eq!(made(Some(&two), &["10.1.0.1", "10.1.0.2"], 6443, true), two);
        assert_eq!(made(Some(&two), &["10.1.0.1"], 6443, false).list("subsets")[0].list("addresses").len(), 1);
        assert!(made(Some(&two), &[], 6443, true).list("subsets").is_empty());
    }

    #[test]
    fn the_port_of_another_server_is_kept_unless_it_must_be_replaced() {
        let one = made(None, &["10.1.0.1"], 6443, false);
        assert_eq!(made(Some(&one), &["10.1.0.1"], 7443, false), one);
        let set = made(Some(&one), &["10.1.0.1"], 7443, true);
        assert_eq!(set.list("subsets")[0].list("ports")[0].at("port"), 7443);
    }

    #[test]
    fn damaged_endpoints_are_written_again_and_labels_of_clients_stay() {
        let mut mangled = made(None, &["10.1.0.1"], 6443, false);
        for subsets in [json!("no"), json!([]), json!([{"addresses": 3}]), json!([{}, {}])] {
            mangled.set("subsets", subsets);
            let mended = made(Some(&mangled), &["10.1.0.1"], 6443, false);
            assert_eq!(mended.list("subsets")[0].list("addresses")[0].text("ip"), "10.1.0.1");
            assert_eq!(mended.list("subsets")[0].at("ports"), &ports(6443));
        }
        mangled.set("metadata.labels", json!({"a": "b"}));
        assert_eq!(made(Some(&mangled), &["10.1.0.1"], 6443, false).label("a"), Some("b"));
    }

    #[test]
    fn the_slice_has_the_content_of_the_endpoints() {
        let four = made(None, &["10.1.0.1"], 6443, false);
        let sliced = slice(None, &four);
        assert_eq!(sliced.list("endpoints"), [json!({"addresses": ["10.1.0.1"], "conditions": {"ready": true}})]);
        assert_eq!((sliced.text("addressType"), sliced.at("ports")), ("IPv4", &ports(6443)));
        assert_eq!(sliced.label(SERVICE_NAME), Some("kubernetes"));
        let mut stored = sliced.clone();
        stored.set_resource_version("7");
        assert_eq!(slice(Some(&stored), &four), stored);
        let six = slice(Some(&stored), &made(None, &["fd00::1"], 6443, false));
        assert_eq!((six.text("addressType"), six.resource_version()), ("IPv6", ""));
    }
}
