//! Questions to an authorizer, asked from within an expression.

use std::fmt;
use std::sync::Arc;

/// Decides what someone may do. In Kubernetes: `authorizer.Authorizer` behind the variable `authorizer`.
pub trait Authorizer: Send + Sync {
    /// Whether the one whom the request comes from, or a service account, may do something.
    fn decide(&self, question: &Question) -> Decision;
}

/// What is asked of an authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Namespace and name of the service account that is asked about; the one of the request if there is none.
    pub service_account: Option<(String, String)>,
    /// The verb.
    pub verb: String,
    /// The path, for what is no resource.
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
    /// Which fields are selected.
    pub field_selector: String,
    /// Which labels are selected.
    pub label_selector: String,
}

/// What an authorizer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// Why it could not be said.
    pub error: Option<String>,
}

/// A question that is being put together, or its answer.
#[derive(Clone)]
pub(crate) enum Authorization {
    Authorizer(Arc<dyn Authorizer>, Question),
    Path(Arc<dyn Authorizer>, Question),
    Group(Arc<dyn Authorizer>, Question),
    Resource(Arc<dyn Authorizer>, Question),
    Decision(Decision),
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
