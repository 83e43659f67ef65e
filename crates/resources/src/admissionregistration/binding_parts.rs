//! What the bindings of validating and mutating policies have in common.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::TableColumn;
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, label_selector, required, required_one_of};

/// The columns of a binding.
pub(super) fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "PolicyName",
            "PolicyName indicates the policy definition which the policy binding binded to",
            |object| object.text("spec.policyName").into(),
        ),
        TableColumn::text(
            "ParamRef",
            "ParamRef indicates the param resource which sets the configuration param",
            |object| parameter(object).into(),
        ),
        TableColumn::age(),
    ]
}

fn parameter(object: &Object) -> String {
    let parameter = object.at("spec.paramRef");
    match (parameter.text("name"), parameter.text("namespace")) {
        ("", _) if parameter.has("selector") => selector_text(parameter.at("selector")),
        ("", _) => "<unset>".to_owned(),
        // Whether the parameter is namespaced is unknown here.
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// A label selector as Go prints it.
fn selector_text(selector: &Value) -> String {
    let labels = selector.at("matchLabels").as_object().into_iter().flatten();
    let labels: String = labels.map(|(name, value)| format!("{name}: {},", value.as_str().unwrap_or(""))).collect();
    let requirements = selector.list("matchExpressions").iter().map(|requirement| {
        let values: Vec<&str> = requirement.list("values").iter().filter_map(Value::as_str).collect();
        let (key, operator) = (requirement.text("key"), requirement.text("operator"));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
    });
    let requirements: String = requirements.collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
}

/// The errors of the policy's name and of the reference to parameters.
pub(super) fn wrong_references(spec: &Value) -> Wrong {
    let mut wrong = required(spec, "policyName", "spec");
    let policy = spec.text("policyName");
    if !policy.is_empty() {
        wrong.extend(each_invalid("spec.policyName", policy, names::dns1123_subdomain(policy)));
    }
    wrong.extend(wrong_parameter(spec.at("paramRef")));
    wrong
}

/// In Kubernetes: `validateParamRef`.
fn wrong_parameter(parameter: &Value) -> Wrong {
    const EITHER: &str = "name and selector are mutually exclusive";
    if parameter.is_null() {
        return Wrong::new();
    }
    let mut wrong = Wrong::new();
    let (name, has_selector) = (parameter.text("name"), parameter.has("selector"));
    if !name.is_empty() {
        wrong.extend(each_invalid("spec.paramRef.name", name, names::path_segment(name)));
    }
    wrong.extend(label_selector(parameter.at("selector"), "spec.paramRef.selector"));
    match (name.is_empty(), has_selector) {
        (true, false) => wrong.push(FieldError::required("spec.paramRef", "one of name or selector must be specified")),
        (false, true) => {
            for field in ["spec.paramRef.name", "spec.paramRef.selector"] {
                wrong.push(FieldError::forbidden(field, EITHER));
            }
        }
        _ => {}
    }
    wrong.extend(required_one_of(parameter, "parameterNotFoundAction", "spec.paramRef", &["Deny", "Allow"]));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_is_shown_with_its_namespace_or_its_selector() {
        let shown =
            |reference: Value| parameter(&Object::from_value(json!({"spec": {"paramRef": reference}})).unwrap());
        assert_eq!(shown(json!({"name": "n", "namespace": "s"})), "s/n");
        assert_eq!(shown(json!({"name": "n"})), "*/n");
        assert_eq!(shown(Value::Null), "<unset>");
        let expressions = json!([{"key": "k", "operator": "In", "values": ["x", "y"]}]);
        assert_eq!(
            shown(json!({"selector": {"matchLabels": {"a": "b"}, "matchExpressions": expressions}})),
            "&LabelSelector{MatchLabels:map[string]string{a: b,},\
             MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
        );
    }
}
