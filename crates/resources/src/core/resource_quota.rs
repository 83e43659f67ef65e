use coracle_meta::fields::Fields;
use coracle_meta::{Object, Quantity, names};
use coracle_registry::{KindSpec, TableColumn};
use serde_json::Value;

use crate::built_in::built_in;
use crate::field_checks::{each_invalid, immutable, quantity_not_negative};

/// `resourcequotas`. In Kubernetes: `pkg/registry/core/resourcequota`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
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
        columns: columns(),
        ..built_in("", "v1", "resourcequotas")
    }
}

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

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Request",
            "Request represents a minimum amount of cpu/memory that a container may consume.",
            |object| amounts(object, |resource| !resource.starts_with("limits.")).into(),
        ),
        TableColumn::text(
            "Limit",
            "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
            |object| amounts(object, |resource| resource.starts_with("limits.")).into(),
        ),
        TableColumn::age(),
    ]
}

/// What is used and what is the most, of the resources that are `shown`.
fn amounts(object: &Object, shown: fn(&str) -> bool) -> String {
    let used = object.at("status.used");
    let amount = |(resource, hard): (&String, &Value)| {
        let used = used.field_named(resource).as_str().unwrap_or("0");
        format!("{resource}: {used}/{}", hard.as_str().unwrap_or("0"))
    };
    object.entries("status.hard").filter(|(resource, _)| shown(resource)).map(amount).collect::<Vec<_>>().join(", ")
}
