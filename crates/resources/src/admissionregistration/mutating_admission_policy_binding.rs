use coracle_meta::Object;
use coracle_meta::fields::Fields;
use coracle_registry::KindSpec;
use coracle_release::Release;

use super::GROUP;
use super::binding_parts::{columns, wrong_references};
use super::match_rules::{wrong_match, wrong_mutating_operations};
use crate::built_in::built_in;
use crate::field_checks::Wrong;

/// `mutatingadmissionpolicybindings`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(release, GROUP, "v1", "mutatingadmissionpolicybindings")
    }
}

/// In Kubernetes: `validateMutatingAdmissionPolicyBindingSpec`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = wrong_references(spec);
    if spec.has("matchResources") {
        let (constraints, path) = (spec.at("matchResources"), "spec.matchResources");
        wrong.extend(wrong_match(constraints, path));
        wrong.extend(wrong_mutating_operations(constraints, path));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::FieldError;
    use serde_json::{Value, json};

    fn messages(spec: Value) -> Vec<String> {
        wrong(&Object::from_value(json!({"spec": spec})).unwrap()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_binding_names_a_policy_and_matches_no_removal() {
        assert_eq!(messages(json!({})), ["spec.policyName: Required value"]);
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]});
        let known = "supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\"";
        assert_eq!(
            messages(json!({"policyName": "p", "matchResources": {"matchPolicy": "Exact", "resourceRules": [rule]}})),
            [format!("spec.matchResources.resourceRules.operations: Unsupported value: \"DELETE\": {known}")]
        );
    }
}
