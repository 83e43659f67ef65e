use std::collections::BTreeMap;

use serde_json::{Value, json};

use coracle_meta::fields::{Fields, FieldsMut, Tree};

/// Merges `matchLabelKeys` and `mismatchLabelKeys` into the selectors of their terms, with the values of the pod's own
/// labels. In Kubernetes: `mutatePodAffinity` and `mutateTopologySpreadConstraints`.
pub(crate) fn merge_label_keys(spec: &mut Tree, labels: &BTreeMap<String, String>) {
    if let Some(affinity) = spec.object_in("affinity") {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let Some(terms) = affinity.object_in(kind) else { continue };
            terms.each_in("requiredDuringSchedulingIgnoredDuringExecution", |term| merge(term, labels));
            terms.each_in("preferredDuringSchedulingIgnoredDuringExecution", |weighted| {
                if let Some(term) = weighted.object_in("podAffinityTerm") {
                    merge(term, labels);
                }
            });
        }
    }
    spec.each_in("topologySpreadConstraints", |constraint| merge(constraint, labels));
}

fn merge(term: &mut Tree, labels: &BTreeMap<String, String>) {
    if !term.at("labelSelector").is_object() {
        return;
    }
    let mut requirements = Vec::new();
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.list(list).iter().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                requirements.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if requirements.is_empty() {
        return;
    }
    if let Some(selector) = term.object_in("labelSelector") {
        selector.fill("matchExpressions", json!([]));
        if let Some(Value::Array(expressions)) = selector.get_mut("matchExpressions") {
            expressions.extend(requirements);
        }
    }
}
