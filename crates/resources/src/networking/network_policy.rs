use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::{Value, json};

use crate::cells::{age, selector};
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, edit_spec};

/// `networkpolicies.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/networkpolicy`.
pub(crate) const NETWORK_POLICY: Rules = Rules {
    set_defaults,
    generation: BY_SPEC,
    columns: columns::NETWORK_POLICY,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), selector(object.at("spec.podSelector")), age(object, now)]
    },
    ..Rules::of("networking.k8s.io", "v1", "networkpolicies")
};

/// A policy that does not say so is about what comes in, and about what goes out if it has rules for that.
fn set_defaults(object: &mut Object) {
    edit_spec(object, |spec| {
        if spec.list("policyTypes").is_empty() {
            let goes_out = !spec.list("egress").is_empty();
            let types = if goes_out { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            spec.insert("policyTypes".to_owned(), types);
        }
    });
}
