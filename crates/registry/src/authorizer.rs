use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{FieldSelector, LabelSelector, Status};

use crate::{Registry, User};

/// What somebody wants to do. In Kubernetes: `authorizer.Attributes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Who.
    pub user: Arc<User>,
    /// What: a verb of resources or, in lower case, a method of HTTP. Free text, because RBAC knows verbs that are no
    /// requests (`impersonate`, `bind`, `escalate`, `approve`, `use`).
    pub verb: String,
    /// To what.
    pub target: Target,
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object, or objects, of the API.
    Resource(ResourceTarget),
    /// A path that is no resource: `/healthz`.
    Path(String),
}

impl Default for Target {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

/// An object, or objects, of the API, as rules name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTarget {
    /// The group; empty for core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural.
    pub resource: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for cluster scope and for all namespaces.
    pub namespace: String,
    /// The name; empty for a collection.
    pub name: String,
    /// The field selector of a list, a watch or a deletion of a collection.
    pub field_selector: FieldSelector,
    /// The label selector.
    pub label_selector: LabelSelector,
}

/// What an authorizer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, and why.
    Allow(String),
    /// No, whatever the others say, and why.
    Deny(String),
    /// Not for this authorizer to say; nobody's yes is a no. The text says why, and may be empty.
    NoOpinion(String),
}

/// What a user may do to resources, as `SelfSubjectRulesReview` tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// Groups.
    pub api_groups: Vec<String>,
    /// Resources.
    pub resources: Vec<String>,
    /// Names; empty for all.
    pub resource_names: Vec<String>,
}

/// What a user may do to paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// Paths, perhaps with a star at the end.
    pub paths: Vec<String>,
}

/// All that a user may do in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// To resources.
    pub resources: Vec<ResourceRule>,
    /// To paths.
    pub paths: Vec<PathRule>,
    /// Whether there may be more than is listed.
    pub incomplete: bool,
    /// Why the list may be incomplete.
    pub evaluation_error: String,
}

/// Says who may do what. In Kubernetes: `authorizer.Authorizer` and `authorizer.RuleResolver`.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides one request; reads roles and the like through the registry.
    async fn authorize(&self, registry: &Registry, attributes: &Attributes) -> Result<Decision, Status>;

    /// What `user` may do in `namespace`.
    async fn rules(&self, registry: &Registry, user: &User, namespace: &str) -> Result<Rules, Status>;
}

/// The 403 of what an authorizer did not allow, as Kubernetes words it.
pub fn forbidden(attributes: &Attributes, why: &str) -> Status {
    let user = &attributes.user.name;
    let verb = &attributes.verb;
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    match &attributes.target {
        Target::Path(path) => {
            let resource = coracle_meta::GroupResource::default();
            Status::forbidden(&resource, "", &format!("User {user:?} cannot {verb} path {path:?}{because}"))
        }
        Target::Resource(target) => {
            let resource = coracle_meta::GroupResource::new(&*target.group, &*target.resource);
            let part = if target.subresource.is_empty() {
                target.resource.clone()
            } else {
                format!("{}/{}", target.resource, target.subresource)
            };
            let scope = if target.namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {:?}", target.namespace)
            };
            let what = format!(
                "User {user:?} cannot {verb} resource {part:?} in API group {:?} {scope}{because}",
                target.group
            );
            Status::forbidden(&resource, &target.name, &what)
        }
    }
}
