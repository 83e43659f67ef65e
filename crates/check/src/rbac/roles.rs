use std::collections::BTreeSet;

use coracle_meta::Object;
use serde_json::{Value, json};

use crate::{Error, given};

/// The API of roles.
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
/// The namespace that kubebuilder writes into manifests, and kustomize replaces.
const PLACEHOLDER: &str = "system";
/// The ends of the names of roles for users of an operator, which kubebuilder generates.
const FOR_USERS: [&str; 3] = ["-editor-role", "-viewer-role", "-admin-role"];

/// The roles of the manifests of a program.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Those that are the program's.
    roles: Vec<Object>,
}

impl Roles {
    /// The roles in texts of manifests, by the names of the files. If there are bindings, these are the roles that are bound
    /// to a ServiceAccount, and else all roles but those for users. Other objects are ignored.
    ///
    /// # Errors
    /// If a text is not valid.
    pub fn of(files: &[(String, String)]) -> Result<Self, Error> {
        let mut objects = Vec::new();
        for (file, text) in files {
            objects.extend(given::objects(file, text)?);
        }
        let bound: BTreeSet<(String, String)> = objects.iter().filter_map(bound).collect();
        let is_for_users = |role: &Object| FOR_USERS.iter().any(|end| role.name().ends_with(end));
        let is_bound = |role: &Object| bound.contains(&(role.kind().to_owned(), role.name().to_owned()));
        let is_own = |role: &Object| if bound.is_empty() { !is_for_users(role) } else { is_bound(role) };
        objects.retain(|object| matches!(object.kind(), "Role" | "ClusterRole") && is_own(object));
        Ok(Self { roles: objects })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// The objects that give them to a user. A Role of a namespace that only the deployment knows holds in all namespaces.
    pub(crate) fn bound_to(&self, user: &str) -> Result<Vec<Object>, Error> {
        let mut documents = Vec::new();
        for role in &self.roles {
            let namespace = role.namespace();
            let is_everywhere = role.kind() == "ClusterRole" || matches!(namespace, "" | PLACEHOLDER);
            let (kind, place) = if is_everywhere { ("ClusterRole", None) } else { ("Role", Some(namespace)) };
            let name = format!("{}:{}", role.kind(), role.name()).to_lowercase();
            let metadata = |name: &str| match place {
                Some(namespace) => json!({"name": name, "namespace": namespace}),
                None => json!({"name": name}),
            };
            if let Some(namespace) = place.filter(|namespace| *namespace != "default") {
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                if !documents.contains(&namespace) {
                    documents.push(namespace);
                }
            }
            documents.push(json!({
                "apiVersion": API_VERSION, "kind": kind, "metadata": metadata(&name), "rules": rules(role),
            }));
            documents.push(json!({
                "apiVersion": API_VERSION, "kind": format!("{kind}Binding"), "metadata": metadata(&name),
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
            }));
        }
        let objects = documents.into_iter().map(Object::from_value);
        objects.map(|object| object.map_err(|error| Error::Input(error.to_string()))).collect()
    }

    /// What they grant: groups, resources and verbs of each rule.
    pub(super) fn grants(&self) -> Vec<Grant> {
        let of = |rule: &Value| {
            let list = |field: &str| {
                let words = rule.get(field).and_then(Value::as_array).into_iter().flatten();
                words.filter_map(Value::as_str).map(str::to_owned).collect()
            };
            Grant { groups: list("apiGroups"), resources: list("resources"), verbs: list("verbs") }
        };
        let mut grants = Vec::new();
        for role in &self.roles {
            grants.extend(rules(role).as_array().into_iter().flatten().map(of));
        }
        grants
    }
}

/// A rule about resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) groups: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) verbs: Vec<String>,
}

fn rules(role: &Object) -> Value {
    role.to_value().get("rules").cloned().unwrap_or_else(|| json!([]))
}

/// The kind and the name of the role that an object binds to a ServiceAccount.
fn bound(binding: &Object) -> Option<(String, String)> {
    if !matches!(binding.kind(), "RoleBinding" | "ClusterRoleBinding") {
        return None;
    }
    let value = binding.to_value();
    let subjects = value.get("subjects").and_then(Value::as_array)?;
    let is_program = subjects.iter().any(|subject| subject["kind"] == "ServiceAccount");
    let role = |field: &str| value.pointer(&format!("/roleRef/{field}")).and_then(Value::as_str).map(str::to_owned);
    is_program.then_some((role("kind")?, role("name")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLE: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: manager-role}, \
        rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}";
    const EDITOR: &str =
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: foo-editor-role}}";
    const ELECTION: &str =
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: election, namespace: system}}";
    const BINDING: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, \
        roleRef: {kind: ClusterRole, name: manager-role}, subjects: [{kind: ServiceAccount, name: m}]}";

    fn names(texts: &[&str]) -> Vec<String> {
        let files: Vec<(String, String)> = texts.iter().map(|text| ("f".to_owned(), (*text).to_owned())).collect();
        Roles::of(&files).unwrap().roles.iter().map(|role| role.name().to_owned()).collect()
    }

    #[test]
    fn the_roles_of_a_program_are_those_that_are_bound_and_else_those_that_are_not_for_users() {
        assert_eq!(names(&[ROLE, EDITOR, ELECTION]), ["manager-role", "election"]);
        assert_eq!(names(&[ROLE, EDITOR, ELECTION, BINDING]), ["manager-role"]);
        assert!(Roles::of(&[("f".to_owned(), "a: [".to_owned())]).is_err());
    }

    #[test]
    fn a_role_of_an_unknown_namespace_holds_in_all_namespaces() {
        let roles = Roles::of(&[("f".to_owned(), ELECTION.to_owned())]).unwrap();
        let objects = roles.bound_to("operator").unwrap();
        let kinds: Vec<&str> = objects.iter().map(Object::kind).collect();
        assert_eq!(kinds, ["ClusterRole", "ClusterRoleBinding"]);
    }
}
