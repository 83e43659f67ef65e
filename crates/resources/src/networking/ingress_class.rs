use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::cells::age;
use crate::checks::immutable;
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_at};

/// `ingressclasses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ingressclass`.
pub(crate) const INGRESS_CLASS: Rules = Rules {
    set_defaults: |object| edit_at(object, "spec.parameters", |parameters| parameters.fill("scope", "Cluster")),
    generation: BY_SPEC,
    validate: |object| {
        let controller = object.text(&["spec", "controller"]);
        if controller.is_empty() {
            return vec![FieldError::required("spec.controller", "")];
        }
        if controller.len() > 250 {
            return vec![FieldError::too_long("spec.controller", 250)];
        }
        let is_path = controller.split_once('/').is_some_and(|(host, path)| !host.is_empty() && !path.is_empty());
        if !is_path {
            let what = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            return vec![FieldError::invalid("spec.controller", controller, what)];
        }
        Vec::new()
    },
    validate_change: |new, old| immutable(new, old, "spec.controller"),
    columns: columns::INGRESS_CLASS,
    cells,
    ..Rules::of("networking.k8s.io", "v1", "ingressclasses")
};

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let parameters = object.at("spec.parameters");
    let parameters = match (parameters.is_null(), parameters.at("apiGroup").as_str()) {
        (true, _) => "<none>".to_owned(),
        (false, Some(group)) => format!("{}.{group}/{}", parameters.text("kind"), parameters.text("name")),
        (false, None) => format!("{}/{}", parameters.text("kind"), parameters.text("name")),
    };
    vec![object.name().into(), object.text(&["spec", "controller"]).into(), parameters.into(), age(object, now)]
}
