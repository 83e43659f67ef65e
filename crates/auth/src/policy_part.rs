use std::sync::Arc;

use coracle_meta::Object;
use coracle_registry::Stored;
use serde::Deserialize;

use crate::binding::{Binding, RoleRef, Subject, binding_of};
use crate::rule::{Rule, rules_in};

/// What a role or a binding adds to a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PolicyPart {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) grants: PartGrants,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PartGrants {
    Rules(Arc<[Rule]>),
    Binding(Arc<Binding>),
}

impl PolicyPart {
    /// What an object of one of the four kinds adds.
    pub(crate) fn of(object: &Object) -> Self {
        let grants = match object.kind() {
            "ClusterRole" | "Role" => PartGrants::Rules(rules_in(object).into()),
            _ => PartGrants::Binding(binding_of(object).into()),
        };
        Self { namespace: object.namespace().to_owned(), name: object.name().to_owned(), grants }
    }

    /// The same for a stored object. The other fields of the object are not parsed.
    pub(crate) fn read(stored: &Stored) -> Self {
        match serde_json::from_slice::<StoredPart>(stored.value()) {
            Ok(part) => part.into_part(),
            // A field has a type that no valid object has.
            Err(_) => Self::of(&stored.object()),
        }
    }
}

/// The fields of a role or a binding that matter to a policy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPart {
    kind: String,
    metadata: StoredName,
    rules: Option<Vec<Rule>>,
    role_ref: Option<StoredName>,
    subjects: Option<Vec<StoredName>>,
}

/// The metadata of an object, or a reference to one.
#[derive(Default, Deserialize)]
struct StoredName {
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl StoredPart {
    fn into_part(self) -> PolicyPart {
        let grants = match self.kind.as_str() {
            "ClusterRole" | "Role" => PartGrants::Rules(self.rules.unwrap_or_default().into()),
            _ => {
                let role = self.role_ref.unwrap_or_default();
                let role = RoleRef::new(role.kind.as_deref().unwrap_or(""), role.name.unwrap_or_default());
                let subjects = self.subjects.into_iter().flatten().filter_map(StoredName::into_subject).collect();
                PartGrants::Binding(Binding { role, subjects }.into())
            }
        };
        let StoredName { namespace, name, .. } = self.metadata;
        PolicyPart { namespace: namespace.unwrap_or_default(), name: name.unwrap_or_default(), grants }
    }
}

impl StoredName {
    fn into_subject(self) -> Option<Subject> {
        let Self { kind, namespace, name } = self;
        Subject::new(kind.as_deref().unwrap_or(""), namespace.unwrap_or_default(), name.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::bootstrap_policy;
    use coracle_release::Release;

    fn both(object: &Object) -> [PolicyPart; 2] {
        let stored = Stored::from_object(&Arc::new(object.clone()), 7);
        [PolicyPart::read(&stored), PolicyPart::of(object)]
    }

    #[test]
    fn default_roles_and_bindings_are_read_without_the_rest_of_the_object() {
        for object in bootstrap_policy(&Release::newest()).iter() {
            let [read, parsed] = both(object);
            assert_eq!(read, parsed);
            let stored = Stored::from_object(&Arc::new(object.clone()), 7);
            assert!(serde_json::from_slice::<StoredPart>(stored.value()).is_ok(), "{}", object.name());
        }
    }

    /// Mostly a text, and sometimes what is no text.
    fn text() -> impl Strategy<Value = Value> {
        prop_oneof![
            8 => "[a-z*/.\\\\\"]{0,4}".prop_map(Value::from),
            1 => Just(Value::Null),
            1 => Just(json!(1)),
            1 => Just(json!({})),
        ]
    }

    fn list(item: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
        prop_oneof![8 => prop::collection::vec(item, 0..3).prop_map(Value::from), 1 => Just(Value::Null), 1 => text()]
    }

    fn fields(names: &'static [&'static str], value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
        let fields = prop::collection::btree_map(prop::sample::select(names), value, 0..names.len());
        let object = |fields: std::collections::BTreeMap<&str, Value>| {
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
        };
        prop_oneof![10 => fields.prop_map(object), 1 => text()]
    }

    proptest! {
        #[test]
        fn a_stored_role_or_binding_adds_what_the_parsed_object_adds(
            kind in prop::sample::select(vec!["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"]),
            (name, namespace) in (text(), text()),
            rules in list(fields(
                &["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs", "other"],
                list(text()).boxed(),
            )),
            role in fields(&["apiGroup", "kind", "name"], text().boxed()),
            subjects in list(fields(&["apiGroup", "kind", "namespace", "name"], prop_oneof![
                text(), prop::sample::select(vec!["User", "Group", "ServiceAccount"]).prop_map(Value::from),
            ].boxed())),
        ) {
            let object = Object::from_value(json!({
                "kind": kind, "apiVersion": "rbac.authorization.k8s.io/v1",
                "metadata": {"name": name, "namespace": namespace, "labels": {"a": "b"}},
                "rules": rules, "roleRef": role, "subjects": subjects,
            }));
            let [read, parsed] = both(&object.unwrap());
            prop_assert_eq!(read, parsed);
        }
    }
}
