use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{FieldSelector, GroupResource, LabelSelector, ResourcePath, Status, go_quote};

use crate::{Registry, User};

/// The attributes of a request to authorize. In Kubernetes: `authorizer.Attributes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The user.
    pub user: Arc<User>,
    /// The verb: of resources or, in lower case, the HTTP method. Free text, because RBAC has verbs that are not
    /// requests (`impersonate`, `bind`, `escalate`, `approve`, `use`).
    pub verb: String,
    /// The resource or path.
    pub target: Target,
    /// The field selector of a list, a watch or a deletion of a collection.
    pub field_selector: FieldSelector,
    /// The label selector of such a request.
    pub label_selector: LabelSelector,
}

impl Attributes {
    /// The attributes of a request for a resource.
    pub fn of_resource(user: &Arc<User>, verb: &str, at: impl Into<Arc<ResourcePath>>) -> Self {
        Self::new(user, verb, Target::Resource(at.into()))
    }

    /// The attributes of a request without selectors.
    pub fn new(user: &Arc<User>, verb: &str, target: Target) -> Self {
        Self { user: Arc::clone(user), verb: verb.to_owned(), target, ..Self::default() }
    }
}

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object or a collection. A list that selects one name counts as a request for this name.
    Resource(Arc<ResourcePath>),
    /// A path that is not a resource: `/healthz`.
    Path(String),
}

impl Default for Target {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

/// The decision of an authorizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed, with the reason.
    Allow(String),
    /// The request is denied, whatever the other authorizers decide, with the reason.
    Deny(String),
    /// This authorizer does not decide. A request that no authorizer allows is denied. The text is the reason, or
    /// empty.
    NoOpinion(String),
}

/// What a user may do to resources, as `SelfSubjectRulesReview` returns it.
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

/// The 403 of what an authorizer did not allow, with its sentence. In Kubernetes: `responsewriters.ForbiddenStatusError`.
pub fn forbidden(attributes: &Attributes, why: &str) -> Status {
    let Attributes { user, verb, target, .. } = attributes;
    let (what, resource, name) = match target {
        Target::Path(path) => (format!("path {}", go_quote(path)), GroupResource::default(), ""),
        Target::Resource(at) => {
            let group = go_quote(&at.resource.group);
            let resource = match at.subresource.as_str() {
                "" => go_quote(&at.resource.resource),
                subresource => go_quote(&format!("{}/{subresource}", at.resource.resource)),
            };
            let place = match at.namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", go_quote(namespace)),
            };
            (format!("resource {resource} in API group {group} {place}"), at.group_resource(), at.name.as_str())
        }
    };
    let sentence = format!("User {} cannot {verb} {what}", go_quote(&user.name));
    let mut sentence = sentence.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if !why.is_empty() {
        sentence = format!("{sentence}: {why}");
    }
    Status::forbidden(&resource, name, &sentence)
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionResource;

    use super::*;

    #[test]
    fn the_refusal_names_user_verb_resource_and_place() {
        let user = Arc::new(User::new("nobody", ["devs"]));
        let at = ResourcePath::new(GroupVersionResource::new("", "v1", "secrets")).object("shop", "");
        assert_eq!(
            forbidden(&Attributes::of_resource(&user, "list", at), "").message,
            "secrets is forbidden: User \"nobody\" cannot list resource \"secrets\" in API group \"\" in the namespace \"shop\""
        );
    }

    #[test]
    fn the_refusal_is_safe_to_show_in_a_page_and_the_reason_stays_as_it_is() {
        let user = Arc::new(User::new("<b>", Vec::<String>::new()));
        let attributes = Attributes::new(&user, "get", Target::Path("/a&b".to_owned()));
        assert_eq!(
            forbidden(&attributes, "a < b").message,
            "forbidden: User \"&lt;b&gt;\" cannot get path \"/a&amp;b\": a < b"
        );
    }
}
