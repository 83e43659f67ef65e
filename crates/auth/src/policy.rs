use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::Object;
use coracle_registry::{Target, User};

use crate::Rule;
use crate::binding::{Binding, RoleRef, Subject};
use crate::policy_part::{PartGrants, PolicyPart};

/// Roles and bindings in a form for fast evaluation. Pure: no I/O, no clock.
///
/// In Kubernetes: `rbac.RBACAuthorizer` over `validation.DefaultRuleResolver`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The rules of cluster roles by name.
    cluster_roles: BTreeMap<String, Arc<[Rule]>>,
    /// The rules of roles by namespace and name.
    roles: BTreeMap<(String, String), Arc<[Rule]>>,
    /// Cluster role bindings, by name.
    cluster_bindings: BTreeMap<String, Arc<Binding>>,
    /// Role bindings, by namespace and name.
    bindings: BTreeMap<(String, String), Arc<Binding>>,
}

impl Policy {
    /// Adds or updates one role or binding; other kinds are ignored.
    pub fn put(&mut self, object: &Object) {
        self.add(object.kind(), &PolicyPart::of(object));
    }

    /// Replaces all objects of one kind.
    pub(crate) fn replace<'p>(&mut self, kind: &str, parts: impl IntoIterator<Item = &'p PolicyPart>) {
        match kind {
            "ClusterRole" => self.cluster_roles.clear(),
            "Role" => self.roles.clear(),
            "ClusterRoleBinding" => self.cluster_bindings.clear(),
            "RoleBinding" => self.bindings.clear(),
            _ => return,
        }
        for part in parts {
            self.add(kind, part);
        }
    }

    fn add(&mut self, kind: &str, part: &PolicyPart) {
        let (namespace, name) = (part.namespace.clone(), part.name.clone());
        match (kind, &part.grants) {
            ("ClusterRole", PartGrants::Rules(rules)) => drop(self.cluster_roles.insert(name, Arc::clone(rules))),
            ("Role", PartGrants::Rules(rules)) => drop(self.roles.insert((namespace, name), Arc::clone(rules))),
            ("ClusterRoleBinding", PartGrants::Binding(binding)) => {
                self.cluster_bindings.insert(name, Arc::clone(binding));
            }
            ("RoleBinding", PartGrants::Binding(binding)) => {
                self.bindings.insert((namespace, name), Arc::clone(binding));
            }
            _ => {}
        }
    }

    /// `Ok` with the reason if a rule allows `user` the `verb` on `target`. Otherwise the errors of bindings, which are
    /// often empty.
    pub fn allows(&self, user: &User, verb: &str, target: &Target) -> Result<String, String> {
        let namespace = match target {
            Target::Resource(resource) => resource.namespace.as_str(),
            Target::Path(_) => "",
        };
        let mut missing = Vec::new();
        for grant in self.grants(user, namespace) {
            match self.rules_of(&grant.binding.role, grant.namespace) {
                Some(rules) if rules.iter().any(|rule| rule.allows(verb, target)) => {
                    return Ok(format!("RBAC: allowed by {}", grant.why()));
                }
                Some(_) => {}
                None => missing.push(grant.binding.role.missing()),
            }
        }
        missing.dedup();
        Err(match missing.as_slice() {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            several => format!("RBAC: [{}]", several.join(", ")),
        })
    }

    /// All rules that `user` has in `namespace` (empty for cluster scope).
    pub fn rules(&self, user: &User, namespace: &str) -> Vec<Rule> {
        let grants = self.grants(user, namespace);
        let rules = grants.filter_map(|grant| self.rules_of(&grant.binding.role, grant.namespace));
        rules.flatten().cloned().collect()
    }

    /// The missing roles to which bindings of `user` in `namespace` (empty for cluster scope) refer.
    pub fn missing_roles(&self, user: &User, namespace: &str) -> Vec<String> {
        let grants = self.grants(user, namespace);
        let missing = grants.filter(|grant| self.rules_of(&grant.binding.role, grant.namespace).is_none());
        let named = missing.filter_map(|grant| match &grant.binding.role {
            RoleRef::ClusterRole(name) | RoleRef::Role(name) => Some(name.clone()),
            RoleRef::Unknown { .. } => None,
        });
        named.collect()
    }

    /// The rules of a role to which a binding in `namespace` (empty for a cluster role binding) refers; `None` if the
    /// role does not exist.
    pub fn rules_of(&self, role: &RoleRef, namespace: &str) -> Option<&[Rule]> {
        match role {
            RoleRef::ClusterRole(name) => self.cluster_roles.get(name).map(|rules| &**rules),
            RoleRef::Role(name) => self.roles.get(&(namespace.to_owned(), name.clone())).map(|rules| &**rules),
            RoleRef::Unknown { .. } => None,
        }
    }

    /// The bindings with `user` as a subject, cluster role bindings first.
    fn grants<'a>(&'a self, user: &'a User, namespace: &'a str) -> impl Iterator<Item = Grant<'a>> {
        let everywhere = self.cluster_bindings.iter().filter_map(move |(name, binding)| {
            Some(Grant { name, namespace: "", binding, subject: binding.subject_of(user, "")? })
        });
        let from = (namespace.to_owned(), String::new());
        let here = self.bindings.range(from..).take_while(move |((own, _), _)| own == namespace);
        let here = here.filter(move |_| !namespace.is_empty()).filter_map(move |((own, name), binding)| {
            Some(Grant { name, namespace: own, binding, subject: binding.subject_of(user, own)? })
        });
        everywhere.chain(here)
    }
}

/// A binding with a user as a subject, and the matching subject.
struct Grant<'a> {
    name: &'a str,
    namespace: &'a str,
    binding: &'a Binding,
    subject: &'a Subject,
}

impl Grant<'_> {
    fn why(&self) -> String {
        let (name, role, subject) = (self.name, &self.binding.role, self.subject);
        match self.namespace {
            "" => format!("ClusterRoleBinding \"{name}\" of {role} to {subject}"),
            namespace => format!("RoleBinding \"{name}/{namespace}\" of {role} to {subject}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_account_name;
    use coracle_meta::{GroupVersionResource, ResourcePath};
    use serde_json::{Value, json};

    fn policy(objects: &[Value]) -> Policy {
        let mut policy = Policy::default();
        for object in objects {
            policy.put(&Object::from_value(object.clone()).unwrap());
        }
        policy
    }

    fn pods_in(namespace: &str) -> Target {
        let pods = GroupVersionResource::new("", "v1", "pods");
        Target::Resource(ResourcePath::new(pods).object(namespace, "").into())
    }

    fn reader_in_shop() -> Policy {
        policy(&[
            json!({"kind": "Role", "metadata": {"name": "r", "namespace": "shop"},
                "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]}),
            json!({"kind": "RoleBinding", "metadata": {"name": "b", "namespace": "shop"},
                "roleRef": {"kind": "Role", "name": "r"}, "subjects": [
                    {"kind": "User", "name": "ann"}, {"kind": "ServiceAccount", "name": "robot"}]}),
        ])
    }

    #[test]
    fn a_binding_allows_in_its_namespace_alone_and_says_why() {
        let policy = reader_in_shop();
        let ann = User::new("ann", ["system:authenticated"]);
        assert_eq!(
            policy.allows(&ann, "get", &pods_in("shop")).as_deref(),
            Ok("RBAC: allowed by RoleBinding \"b/shop\" of Role \"r\" to User \"ann\"")
        );
        for (verb, namespace) in [("get", "other"), ("get", ""), ("delete", "shop")] {
            assert_eq!(policy.allows(&ann, verb, &pods_in(namespace)), Err(String::new()), "{verb} {namespace}");
        }
    }

    #[test]
    fn a_service_account_without_a_namespace_is_one_of_the_bindings_namespace() {
        let robot = User::new(service_account_name("shop", "robot"), Vec::<String>::new());
        assert!(reader_in_shop().allows(&robot, "get", &pods_in("shop")).is_ok());
    }

    #[test]
    fn a_binding_of_a_missing_role_allows_nothing_and_says_so() {
        let mut policy = reader_in_shop();
        policy.replace("Role", []);
        let why = policy.allows(&User::new("ann", Vec::<String>::new()), "get", &pods_in("shop")).unwrap_err();
        assert_eq!(why, "RBAC: role.rbac.authorization.k8s.io \"r\" not found");
    }

    #[test]
    fn a_cluster_role_bound_in_a_namespace_counts_there_only() {
        let policy = policy(&[
            json!({"kind": "ClusterRole", "metadata": {"name": "view"},
                "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
            json!({"kind": "RoleBinding", "metadata": {"name": "b", "namespace": "shop"},
                "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "Group", "name": "devs"}]}),
        ]);
        let dev = User::new("bob", ["devs"]);
        assert!(policy.allows(&dev, "list", &pods_in("shop")).is_ok());
        assert!(policy.allows(&dev, "list", &pods_in("")).is_err());
    }
}
