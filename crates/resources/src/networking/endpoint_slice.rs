use coracle_ambient::Timestamp;
use coracle_meta::Object;
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::{age, some_of};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `endpointslices.discovery.k8s.io`. In Kubernetes: `pkg/registry/discovery/endpointslice`.
pub(crate) const ENDPOINT_SLICE: Rules = Rules {
    generation: Generation::Fields(&["addressType", "endpoints", "ports", "metadata.labels"]),
    warnings,
    columns: columns::ENDPOINT_SLICE,
    cells,
    ..Rules::of("discovery.k8s.io", "v1", "endpointslices")
};

fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let is_fqdn = new.text(&["addressType"]) == "FQDN";
    if old.is_none() && is_fqdn {
        return vec!["addressType: FQDN endpoints are deprecated".to_owned()];
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
