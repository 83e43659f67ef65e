use coracle_meta::ResourcePath;
use coracle_meta::fields::Fields;
use coracle_registry::{Attributes, Target, User};
use serde_json::Value;

/// A rule of a flow schema, in a form for fast matching: each request is compared with most rules of a cluster.
/// In Kubernetes: `PolicyRulesWithSubjects`.
#[derive(Debug)]
pub(super) struct FlowRule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

#[derive(Debug)]
enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

#[derive(Debug)]
struct ResourceRule {
    verbs: Names,
    api_groups: Names,
    resources: Names,
    namespaces: Names,
    cluster_scope: bool,
}

#[derive(Debug)]
struct PathRule {
    verbs: Names,
    urls: Vec<String>,
}

impl FlowRule {
    pub(super) fn of(rule: &Value) -> Self {
        Self {
            subjects: rule.list("subjects").iter().filter_map(Subject::of).collect(),
            resources: rule.list("resourceRules").iter().map(ResourceRule::of).collect(),
            paths: rule.list("nonResourceRules").iter().map(PathRule::of).collect(),
        }
    }

    /// Whether the rule is about a request, and its user is a subject.
    pub(super) fn matches(&self, attributes: &Attributes) -> bool {
        let verb = attributes.verb.as_str();
        self.subjects.iter().any(|subject| subject.is(&attributes.user))
            && match &attributes.target {
                Target::Resource(at) => self.resources.iter().any(|rule| rule.covers(verb, at)),
                Target::Path(path) => self.paths.iter().any(|rule| rule.covers(verb, path)),
            }
    }
}

impl Subject {
    /// `None` for a subject of an unknown kind, which no user is.
    fn of(subject: &Value) -> Option<Self> {
        let text = |path: &str| subject.text(path).to_owned();
        Some(match subject.text("kind") {
            "User" => Self::User(text("user.name")),
            "Group" => Self::Group(text("group.name")),
            "ServiceAccount" => {
                Self::ServiceAccount { namespace: text("serviceAccount.namespace"), name: text("serviceAccount.name") }
            }
            _ => return None,
        })
    }

    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => name == "*" || *name == user.name,
            Self::Group(name) => name == "*" || user.is_in(name),
            Self::ServiceAccount { namespace, name } => {
                let account = user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
                account.is_some_and(|(in_namespace, own)| in_namespace == namespace && (name == "*" || name == own))
            }
        }
    }
}

impl ResourceRule {
    fn of(rule: &Value) -> Self {
        Self {
            verbs: Names::of(rule, "verbs"),
            api_groups: Names::of(rule, "apiGroups"),
            resources: Names::of(rule, "resources"),
            namespaces: Names::of(rule, "namespaces"),
            cluster_scope: rule.at("clusterScope") == &Value::Bool(true),
        }
    }

    fn covers(&self, verb: &str, at: &ResourcePath) -> bool {
        let in_place = || match at.namespace.as_str() {
            "" => self.cluster_scope,
            namespace => self.namespaces.contain(namespace),
        };
        let is_listed = || match at.subresource.as_str() {
            "" => self.resources.contain(&at.resource.resource),
            subresource => self.resources.contain(&format!("{}/{subresource}", at.resource.resource)),
        };
        self.verbs.contain(verb) && self.api_groups.contain(&at.resource.group) && in_place() && is_listed()
    }
}

impl PathRule {
    fn of(rule: &Value) -> Self {
        Self { verbs: Names::of(rule, "verbs"), urls: texts(rule, "nonResourceURLs") }
    }

    fn covers(&self, verb: &str, path: &str) -> bool {
        self.verbs.contain(verb) && self.urls.iter().any(|url| covers(url, path))
    }
}

/// Whether a URL of a rule matches a path: exactly, or as the prefix before a star.
fn covers(url: &str, path: &str) -> bool {
    url == path || url.strip_suffix('*').is_some_and(|start| path.starts_with(start))
}

/// Names, or all names.
#[derive(Debug)]
enum Names {
    All,
    These(Vec<String>),
}

impl Names {
    fn of(rule: &Value, field: &str) -> Self {
        let names = texts(rule, field);
        if names.iter().any(|name| name == "*") { Self::All } else { Self::These(names) }
    }

    fn contain(&self, wanted: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.iter().any(|name| name == wanted),
        }
    }
}

fn texts(rule: &Value, field: &str) -> Vec<String> {
    rule.list(field).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coracle_meta::GroupVersionResource;
    use serde_json::json;

    use super::*;

    fn matches(rule: &Value, user: &User, verb: &str, target: Target) -> bool {
        FlowRule::of(rule).matches(&Attributes::new(&Arc::new(user.clone()), verb, target))
    }

    fn of(resource: &str, namespace: &str, subresource: &str) -> Target {
        let mut at = ResourcePath::new(GroupVersionResource::new("apps", "v1", resource)).object(namespace, "web");
        at.subresource = subresource.to_owned();
        Target::Resource(at.into())
    }

    #[test]
    fn a_rule_matches_by_subject_verb_group_resource_and_place() {
        let rule = json!({
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "shop", "name": "*"}},
                {"kind": "User", "user": {"name": "ann"}}, {"kind": "Robot", "user": {"name": "*"}}],
            "resourceRules": [{"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"],
                "namespaces": ["default"], "clusterScope": false}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/healthz", "/readyz/*"]}],
        });
        let (ann, bob) = (User::new("ann", ["g"]), User::new("bob", ["g"]));
        let account = User::new("system:serviceaccount:shop:till", [""; 0]);
        let other = User::new("system:serviceaccount:bank:till", [""; 0]);
        assert!(matches(&rule, &ann, "get", of("deployments", "default", "")));
        assert!(matches(&rule, &account, "get", of("deployments", "default", "scale")));
        assert!(!matches(&rule, &bob, "get", of("deployments", "default", "")));
        assert!(!matches(&rule, &other, "get", of("deployments", "default", "")));
        assert!(!matches(&rule, &ann, "list", of("deployments", "default", "")));
        assert!(!matches(&rule, &ann, "get", of("deployments", "default", "status")));
        assert!(!matches(&rule, &ann, "get", of("deployments", "", "")), "it has no cluster scope");
        assert!(!matches(&rule, &ann, "get", of("deployments", "other", "")));
        for (path, expected) in [("/healthz", true), ("/healthz/a", false), ("/readyz/a", true), ("/readyz", false)] {
            assert_eq!(matches(&rule, &ann, "post", Target::Path(path.to_owned())), expected, "{path}");
        }
    }
}
