//! Authorizer checks within an expression.

use std::fmt;
use std::sync::Arc;

/// Makes authorization decisions. In Kubernetes: `authorizer.Authorizer` behind the variable `authorizer`.
pub trait Authorizer: Send + Sync {
    /// Whether the requesting user, or a service account, is authorized.
    fn decide(&self, question: &AuthorizerAttributes) -> AuthorizerDecision;
}

/// The attributes of an authorizer check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizerAttributes {
    /// The namespace and name of the checked service account; `None` for the requesting user.
    pub service_account: Option<(String, String)>,
    /// The verb.
    pub verb: String,
    /// The path, for a non-resource check.
    pub path: Option<String>,
    /// The group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The field selector.
    pub field_selector: String,
    /// The label selector.
    pub label_selector: String,
}

/// The result of an authorizer check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizerDecision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// The error, if the check failed.
    pub error: Option<String>,
}

/// A check under construction, or its result.
#[derive(Clone)]
pub(crate) enum Authorization {
    Authorizer(Arc<dyn Authorizer>, AuthorizerAttributes),
    Path(Arc<dyn Authorizer>, AuthorizerAttributes),
    Group(Arc<dyn Authorizer>, AuthorizerAttributes),
    Resource(Arc<dyn Authorizer>, AuthorizerAttributes),
    Decision(AuthorizerDecision),
}

impl Authorization {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(..) => "kubernetes.authorization.Authorizer",
            Self::Path(..) => "kubernetes.authorization.PathCheck",
            Self::Group(..) => "kubernetes.authorization.GroupCheck",
            Self::Resource(..) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

impl PartialEq for Authorization {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Authorizer(_, one), Self::Authorizer(_, other))
            | (Self::Path(_, one), Self::Path(_, other))
            | (Self::Group(_, one), Self::Group(_, other))
            | (Self::Resource(_, one), Self::Resource(_, other)) => one == other,
            (Self::Decision(one), Self::Decision(other)) => one == other,
            _ => false,
        }
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}
