use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::Object;
use coracle_registry::{Target, User};
use serde_json::Value;

use crate::Rule;

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

/// What a role or a binding adds to a policy.
#[derive(Clone, Debug)]
pub(crate) struct PolicyPart {
    namespace: String,
    name: String,
    grants: PartGrants,
}

#[derive(Clone, Debug)]
enum PartGrants {
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Binding {
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// The role that a binding binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleRef {
    /// A cluster role, by name.
    ClusterRole(String),
    /// A role of the binding's namespace, by name.
    Role(String),
    /// A role of an unknown kind: it grants nothing.
    Unknown {
        /// The kind.
        kind: String,
        /// The name.
        name: String,
    },
}

impl RoleRef {
    /// The role that a binding refers to.
    pub fn of(binding: &Object) -> Self {
        let name = binding.text("roleRef.name").to_owned();
        match binding.text("roleRef.kind") {
            "ClusterRole" => Self::ClusterRole(name),
            "Role" => Self::Role(name),
            other => Self::Unknown { kind: other.to_owned(), name },
        }
    }

    fn missing(&self) -> String {
        match self {
            Self::ClusterRole(name) => format!("clusterrole.rbac.authorization.k8s.io \"{name}\" not found"),
            Self::Role(name) => format!("role.rbac.authorization.k8s.io \"{name}\" not found"),
            Self::Unknown { kind, .. } => format!("unsupported role reference kind: \"{kind}\""),
        }
    }
}

impl std::fmt::Display for RoleRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ClusterRole(name) => write!(f, "ClusterRole \"{name}\""),
            Self::Role(name) => write!(f, "Role \"{name}\""),
            Self::Unknown { kind, name } => write!(f, "{kind} \"{name}\""),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

impl Subject {
    fn from_json(subject: &Value) -> Option<Self> {
        let text = |name: &str| subject.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        Some(match text("kind").as_str() {
            "User" => Self::User(text("name")),
            "Group" => Self::Group(text("name")),
            "ServiceAccount" => Self::ServiceAccount { namespace: text("namespace"), name: text("name") },
            _ => return None,
        })
    }

    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self {
            Self::User(name) => *name == user.name,
            Self::Group(name) => user.is_in(name),
            Self::ServiceAccount { namespace, name } => {
                let namespace = if namespace.is_empty() { binding_namespace } else { namespace };
                !namespace.is_empty() && is_service_account(&user.name, namespace, name)
            }
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(name) => write!(f, "User \"{name}\""),
            Self::Group(name) => write!(f, "Group \"{name}\""),
            Self::ServiceAccount { namespace, name } => write!(f, "ServiceAccount \"{name}/{namespace}\""),
        }
    }
}

/// Whether a user is this service account. Compares with [`service_account_name`] without allocation, because each
/// request calls this many times.
fn is_service_account(user: &str, namespace: &str, name: &str) -> bool {
    let own = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.strip_prefix(namespace));
    own.and_then(|rest| rest.strip_prefix(':')) == Some(name)
}

/// The user name of a service account.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
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

impl Binding {
    fn subject_of(&self, user: &User, namespace: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.is(user, namespace))
    }
}

/// The rules of a role.
pub(crate) fn rules_in(role: &Object) -> Vec<Rule> {
    role.field("rules").and_then(Value::as_array).into_iter().flatten().map(Rule::from_json).collect()
}

fn binding_of(binding: &Object) -> Binding {
    let subjects = binding.field("subjects").and_then(Value::as_array);
    let subjects = subjects.into_iter().flatten().filter_map(Subject::from_json).collect();
    Binding { role: RoleRef::of(binding), subjects }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{GroupVersionResource, ResourcePath};
    use serde_json::json;

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
