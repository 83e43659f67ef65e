use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_at};

/// `ingressclasses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ingressclass`.
pub(crate) const INGRESS_CLASS: Rules = Rules {
    set_defaults: |object| edit_at(object, "spec.parameters", |parameters| parameters.fill("scope", "Cluster")),
    generation: BY_SPEC,
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
