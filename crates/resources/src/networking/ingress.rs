use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, load_balancer_addresses, set_or};
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::Fields;

/// `ingresses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ingress`.
pub(crate) const INGRESS: Rules = Rules {
    generation: BY_SPEC,
    store_directory: Some("ingress"),
    warnings: |new, old| if old.is_none() { class_by_annotation(new) } else { Vec::new() },
    columns: columns::INGRESS,
    cells,
    ..Rules::of("networking.k8s.io", "v1", "ingresses")
};

fn class_by_annotation(object: &Object) -> Vec<String> {
    const CLASS: &str = "kubernetes.io/ingress.class";
    if object.annotation(CLASS).is_none() || object.has("spec.ingressClassName") {
        return Vec::new();
    }
    vec![format!("annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead")]
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let ports = if object.list("spec.tls").is_empty() { "80" } else { "80, 443" };
    vec![
        object.name().into(),
        set_or(object.at("spec.ingressClassName"), "<none>"),
        hosts(object).into(),
        load_balancer_addresses(object).join(",").into(),
        ports.into(),
        age(object, now),
    ]
}

fn hosts(object: &Object) -> String {
    let rules = object.list("spec.rules");
    let mut hosts: Vec<&str> = Vec::new();
    for rule in rules {
        if hosts.len() == 3 {
            return format!("{} + {} more...", hosts.join(","), rules.len() - 3);
        }
        if !rule.text("host").is_empty() {
            hosts.push(rule.text("host"));
        }
    }
    if hosts.is_empty() { "*".to_owned() } else { hosts.join(",") }
}
