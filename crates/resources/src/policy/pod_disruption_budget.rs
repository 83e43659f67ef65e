use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::Fields;

/// `poddisruptionbudgets.policy`. In Kubernetes: `pkg/registry/policy/poddisruptionbudget`.
pub(crate) const POD_DISRUPTION_BUDGET: Rules = Rules {
    generation: BY_SPEC,
    columns: columns::POD_DISRUPTION_BUDGET,
    cells,
    ..Rules::of("policy", "v1", "poddisruptionbudgets")
};

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let amount = |field: &str| -> Value {
        match object.at("spec").at(field) {
            Value::Null => "N/A".into(),
            Value::String(text) => text.as_str().into(),
            number => number.to_string().into(),
        }
    };
    vec![
        object.name().into(),
        amount("minAvailable"),
        amount("maxUnavailable"),
        object.int("status.disruptionsAllowed").into(),
        age(object, now),
    ]
}
