//! Reconciles the default roles and bindings of a cluster at start.

use coracle_meta::Object;
use serde_json::Value;

use crate::rule::rules_in;

/// The value `false` of this annotation disables the reconciliation of an object. In Kubernetes:
/// `AutoUpdateAnnotationKey`.
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The result of a reconciliation.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// No change is needed.
    AsItIs,
    /// The object must be updated to this one.
    Changed(Object),
    /// The binding must be deleted and created again, because its role cannot be changed.
    Anew,
}

/// Adds missing parts of `expected` to a role or binding. Its additional parts stay.
///
/// In Kubernetes: `computeReconciledRole` and `computeReconciledRoleBinding`.
pub fn reconciled(existing: &Object, expected: &Object) -> Reconciled {
    if existing.annotation(AUTOUPDATE) == Some("false") {
        return Reconciled::AsItIs;
    }
    if existing.field("roleRef") != expected.field("roleRef") {
        return Reconciled::Anew;
    }
    let mut object = existing.clone();
    for (name, value) in expected.text_map("metadata.annotations") {
        if existing.annotation(&name).is_none() {
            object.set(&["metadata", "annotations", &name], value);
        }
    }
    for (name, value) in expected.labels() {
        if existing.label(&name).is_none() {
            object.set(&["metadata", "labels", &name], value);
        }
    }
    append(&mut object, "rules", missing_rules(existing, expected));
    append(&mut object, "subjects", missing_subjects(existing, expected));
    match expected.field("aggregationRule") {
        None => drop(object.remove("aggregationRule")),
        Some(_) => append(&mut object, SELECTORS, absent(existing, expected, SELECTORS, Value::clone)),
    }
    if object == *existing { Reconciled::AsItIs } else { Reconciled::Changed(object) }
}

const SELECTORS: &str = "aggregationRule.clusterRoleSelectors";

fn items<'a>(object: &'a Object, list: &str) -> impl Iterator<Item = &'a Value> {
    object.field(list).and_then(Value::as_array).into_iter().flatten()
}

fn append(object: &mut Object, list: &str, more: Vec<Value>) {
    if !more.is_empty() {
        let all: Vec<Value> = items(object, list).cloned().chain(more).collect();
        object.set(list, all);
    }
}

/// The items of `list` that are missing in `existing`.
fn absent<K: PartialEq>(existing: &Object, expected: &Object, list: &str, key: impl Fn(&Value) -> K) -> Vec<Value> {
    let is_there = |item: &&Value| items(existing, list).any(|own| key(own) == key(item));
    items(expected, list).filter(|item| !is_there(item)).cloned().collect()
}

fn missing_subjects(existing: &Object, expected: &Object) -> Vec<Value> {
    let key = |subject: &Value| {
        let text = |name: &str| subject.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        ["kind", "apiGroup", "namespace", "name"].map(text)
    };
    absent(existing, expected, "subjects", key)
}

/// The single verbs on single resources that no rule grants. In Kubernetes: `validation.Covers`.
fn missing_rules(existing: &Object, expected: &Object) -> Vec<Value> {
    let held = rules_in(existing);
    let single = rules_in(expected).into_iter().flat_map(|rule| rule.singles());
    single.filter(|single| !held.iter().any(|own| own.covers(single))).map(|single| single.to_json()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap_policy;
    use coracle_release::Release;
    use serde_json::json;

    fn role(rules: &Value) -> Object {
        Object::from_value(json!({
            "kind": "ClusterRole", "rules": rules,
            "metadata": {"name": "r", "labels": {"a": "b"}, "annotations": {AUTOUPDATE: "true"}}
        }))
        .unwrap()
    }

    fn rule(verbs: &[&str], resources: &[&str]) -> Value {
        json!({"verbs": verbs, "apiGroups": [""], "resources": resources})
    }

    fn changed(existing: &Object, expected: &Object) -> Object {
        let Reconciled::Changed(object) = reconciled(existing, expected) else { panic!("not changed") };
        assert_eq!(reconciled(&object, expected), Reconciled::AsItIs, "once is enough");
        object
    }

    #[test]
    fn missing_rules_are_added_and_additional_ones_stay() {
        let expected = role(&json!([rule(&["get", "list"], &["pods", "secrets"])]));
        let existing =
            role(&json!([rule(&["*"], &["pods"]), rule(&["get"], &["secrets"]), rule(&["get"], &["nodes"])]));
        let rules = changed(&existing, &expected).field("rules").cloned().unwrap();
        assert_eq!(rules.as_array().unwrap().len(), 4);
        assert_eq!(rules[3], rule(&["list"], &["secrets"]));
        assert_eq!(reconciled(&expected, &expected), Reconciled::AsItIs);
    }

    #[test]
    fn a_role_without_autoupdate_is_not_changed() {
        let expected = role(&json!([rule(&["get"], &["pods"])]));
        let mut existing = role(&json!([]));
        existing.set(&["metadata", "annotations", AUTOUPDATE], "false");
        assert_eq!(reconciled(&existing, &expected), Reconciled::AsItIs);
    }

    #[test]
    fn labels_are_added_and_those_of_others_win() {
        let mut expected = role(&json!([]));
        expected.set(&["metadata", "labels", "c"], "d");
        let mut existing = role(&json!([]));
        existing.set("metadata.labels.a", "mine");
        let labels = changed(&existing, &expected).labels();
        assert_eq!((labels["a"].as_str(), labels["c"].as_str()), ("mine", "d"));
    }

    #[test]
    fn missing_subjects_are_restored_and_a_binding_of_another_role_is_recreated() {
        let binding = |role: &str, subjects: Value| {
            Object::from_value(json!({"kind": "ClusterRoleBinding", "roleRef": {"name": role}, "subjects": subjects}))
                .unwrap()
        };
        let user = |name: &str| json!({"kind": "User", "name": name});
        let expected = binding("r", json!([user("a"), user("b")]));
        let object = changed(&binding("r", json!([user("c"), user("a")])), &expected);
        assert_eq!(object.field("subjects").unwrap(), &json!([user("c"), user("a"), user("b")]));
        assert_eq!(reconciled(&binding("other", json!([])), &expected), Reconciled::Anew);
    }

    #[test]
    fn aggregation_selectors_are_restored_and_only_on_aggregated_roles() {
        let sum = |selectors: Value| {
            let mut role = role(&Value::Null);
            role.set(SELECTORS, selectors);
            role
        };
        let selector = |name: &str| json!({"matchLabels": {name: "true"}});
        let object = changed(&sum(json!([selector("mine")])), &sum(json!([selector("ours")])));
        assert_eq!(object.field(SELECTORS).unwrap(), &json!([selector("mine"), selector("ours")]));
        assert_eq!(changed(&sum(json!([])), &role(&Value::Null)).field("aggregationRule"), None);
    }

    #[test]
    fn the_default_policy_needs_no_reconciliation() {
        for object in bootstrap_policy(&Release::default()).iter() {
            assert_eq!(reconciled(object, object), Reconciled::AsItIs, "{}", object.name());
        }
    }
}
