use coracle_meta::Object;
use coracle_registry::User;
use serde_json::Value;

/// A role binding or a cluster role binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) role: RoleRef,
    pub(crate) subjects: Vec<Subject>,
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
        Self::new(binding.text("roleRef.kind"), binding.text("roleRef.name").to_owned())
    }

    pub(crate) fn new(kind: &str, name: String) -> Self {
        match kind {
            "ClusterRole" => Self::ClusterRole(name),
            "Role" => Self::Role(name),
            other => Self::Unknown { kind: other.to_owned(), name },
        }
    }

    pub(crate) fn missing(&self) -> String {
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
pub(crate) enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

impl Subject {
    fn from_json(subject: &Value) -> Option<Self> {
        let text = |name: &str| subject.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        Self::new(&text("kind"), text("namespace"), text("name"))
    }

    pub(crate) fn new(kind: &str, namespace: String, name: String) -> Option<Self> {
        Some(match kind {
            "User" => Self::User(name),
            "Group" => Self::Group(name),
            "ServiceAccount" => Self::ServiceAccount { namespace, name },
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

impl Binding {
    pub(crate) fn subject_of(&self, user: &User, namespace: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.is(user, namespace))
    }
}

pub(crate) fn binding_of(binding: &Object) -> Binding {
    let subjects = binding.field("subjects").and_then(Value::as_array);
    let subjects = subjects.into_iter().flatten().filter_map(Subject::from_json).collect();
    Binding { role: RoleRef::of(binding), subjects }
}
