use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, some_of};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `endpoints`. In Kubernetes: `pkg/registry/core/endpoint`.
pub(crate) const ENDPOINTS: Rules = Rules {
    deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    store_directory: Some("services/endpoints"),
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
