use coracle_ambient::Timestamp;
use coracle_meta::{Object, Quantity, names};
use serde_json::Value;

use crate::cells::age;
use crate::checks::{each_invalid, immutable, quantity_not_negative};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `resourcequotas`. In Kubernetes: `pkg/registry/core/resourcequota`.
pub(crate) const RESOURCE_QUOTA: Rules = Rules {
    validate: |object| {
        let hard = object.entries("spec.hard");
        hard.flat_map(|(name, amount)| {
            let path = format!("spec.hard[{name}]");
            let mut wrong = each_invalid(&path, name, names::qualified_name(name));
            wrong.extend(quantity_not_negative(amount, &path));
            wrong
        })
        .collect()
    },
    validate_change: |new, old| immutable(new, old, "spec.scopes"),
    warnings: |new, old| if old.is_none() { requests_above_limits(new) } else { Vec::new() },
    columns: columns::RESOURCE_QUOTA,
    cells,
    ..Rules::of("", "v1", "resourcequotas")
};

/// A request that may be larger than the limit of the same resource is hardly meant.
fn requests_above_limits(object: &Object) -> Vec<String> {
    let hard = object.at("spec.hard");
    let mut warnings = Vec::new();
    for resource in ["cpu", "memory", "ephemeral-storage"] {
        let mut request = format!("requests.{resource}");
        if hard.field_named(&request).is_null() && resource != "ephemeral-storage" {
            resource.clone_into(&mut request);
        }
        let limit = format!("limits.{resource}");
        let amounts = (amount(hard.field_named(&request)), amount(hard.field_named(&limit)));
        if let (Some(requested), Some(limited)) = amounts
            && requested > limited
        {
            warnings.push(format!("ResourceQuota {request} ({requested}) should be less than {limit} ({limited})"));
        }
    }
    warnings
}

fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let used = object.at("status.used");
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in object.entries("status.hard") {
        let used = used.field_named(resource).as_str().unwrap_or("0");
        let cell = format!("{resource}: {used}/{}", hard.as_str().unwrap_or("0"));
        if resource.starts_with("limits.") { limits.push(cell) } else { requests.push(cell) }
    }
    vec![object.name().into(), requests.join(", ").into(), limits.join(", ").into(), age(object, now)]
}
