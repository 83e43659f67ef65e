use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};

use crate::field_checks::Wrong;

/// In Kubernetes: `ValidatePolicyRule`.
pub(super) fn wrong_rules(object: &Object, is_namespaced: bool) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, rule) in object.list("rules").iter().enumerate() {
        let path = |field: &str| format!("rules[{at}].{field}");
        let has = |field: &str| !rule.list(field).is_empty();
        if !has("verbs") {
            wrong.push(FieldError::required(path("verbs"), "verbs must contain at least one value").declared());
        }
        if has("nonResourceURLs") {
            let mut refuse = |what: &str| {
                let urls = rule.at("nonResourceURLs").clone();
                wrong.push(FieldError::invalid(path("nonResourceURLs"), urls, what));
            };
            if is_namespaced {
                refuse("namespaced rules cannot apply to non-resource URLs");
            }
            if has("apiGroups") || has("resources") || has("resourceNames") {
                refuse("rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        if !has("apiGroups") {
            let what = "resource rules must supply at least one api group";
            wrong.push(FieldError::required(path("apiGroups"), what));
        }
        if !has("resources") {
            let what = "resource rules must supply at least one resource";
            wrong.push(FieldError::required(path("resources"), what));
        }
    }
    wrong
}
