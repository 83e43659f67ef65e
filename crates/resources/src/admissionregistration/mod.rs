//! `admissionregistration.k8s.io/v1`.

use coracle_ambient::Timestamp;
use coracle_meta::Object;
use coracle_registry::Generation;
use serde_json::{Value, json};

use crate::cells::age;
use crate::columns;
use crate::rules::{BY_SPEC, Rules, SPEC_AND_METADATA};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

const GROUP: &str = "admissionregistration.k8s.io";

/// `mutatingwebhookconfigurations`.
pub(crate) const MUTATING_WEBHOOK_CONFIGURATION: Rules = webhooks("mutatingwebhookconfigurations");

/// `validatingwebhookconfigurations`.
pub(crate) const VALIDATING_WEBHOOK_CONFIGURATION: Rules = webhooks("validatingwebhookconfigurations");

/// `validatingadmissionpolicies`.
pub(crate) const VALIDATING_ADMISSION_POLICY: Rules = Rules {
    set_defaults: |object| edit_spec(object, |spec| spec.fill("matchConstraints", json!({}))),
    generation: BY_SPEC,
    kept_by_status: SPEC_AND_METADATA,
    columns: columns::VALIDATING_ADMISSION_POLICY,
    cells: policy_cells,
    ..Rules::of(GROUP, "v1", "validatingadmissionpolicies")
};

/// `validatingadmissionpolicybindings`.
pub(crate) const VALIDATING_ADMISSION_POLICY_BINDING: Rules = Rules {
    generation: BY_SPEC,
    columns: columns::VALIDATING_ADMISSION_POLICY_BINDING,
    cells: binding_cells,
    ..Rules::of(GROUP, "v1", "validatingadmissionpolicybindings")
};

const fn webhooks(plural: &'static str) -> Rules {
    Rules {
        generation: Generation::Fields(&["webhooks"]),
        columns: columns::WEBHOOK_CONFIGURATION,
        cells: |object: &Object, now: Timestamp| -> Vec<Value> {
            vec![object.name().into(), object.list("webhooks").len().into(), age(object, now)]
        },
        ..Rules::of(GROUP, "v1", plural)
    }
}

fn policy_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let kind = object.at("spec.paramKind");
    let kind = match kind {
        Value::Null => "<unset>".to_owned(),
        kind => format!("{}/{}", kind.text("apiVersion"), kind.text("kind")),
    };
    vec![object.name().into(), object.list("spec.validations").len().into(), kind.into(), age(object, now)]
}

fn binding_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let parameter = object.at("spec.paramRef");
    let parameter = match (parameter.text("name"), parameter.text("namespace")) {
        ("", _) => "<unset>".to_owned(),
        // Whether the parameter lives in a namespace cannot be told from here.
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    };
    vec![object.name().into(), object.text(&["spec", "policyName"]).into(), parameter.into(), age(object, now)]
}
