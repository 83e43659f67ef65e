use coracle_meta::{GroupVersionResource, Object, ResourcePath};
use coracle_registry::{PathRule, ResourceRule, Target};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::or_default::or_default;

/// One rule of a role: allowed verbs on resources or on paths.
///
/// In Kubernetes: `rbacv1.PolicyRule`, and `pkg/apis/rbac/v1.RuleAllows`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rule {
    /// The verbs; `*` means all.
    #[serde(deserialize_with = "or_default")]
    pub verbs: Vec<String>,
    /// The groups; `*` means all, the empty text the core group.
    #[serde(deserialize_with = "or_default")]
    pub api_groups: Vec<String>,
    /// The resources: `resource`, `resource/subresource`, `*/subresource`; `*` means all.
    #[serde(deserialize_with = "or_default")]
    pub resources: Vec<String>,
    /// The names; empty for all.
    #[serde(deserialize_with = "or_default")]
    pub resource_names: Vec<String>,
    /// The non-resource paths, which can end with a star.
    #[serde(rename = "nonResourceURLs", deserialize_with = "or_default")]
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Reads a rule of a role; invalid parts allow nothing.
    pub fn from_json(rule: &Value) -> Self {
        let texts = |name: &str| -> Vec<String> {
            let list = rule.get(name).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        Self {
            verbs: texts("verbs"),
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
        }
    }

    /// Whether this rule allows `verb` on `target`.
    pub fn allows(&self, verb: &str, target: &Target) -> bool {
        if !contains_or_star(&self.verbs, verb) {
            return false;
        }
        match target {
            Target::Resource(resource) => {
                contains_or_star(&self.api_groups, &resource.resource.group)
                    && self.covers_resource(resource)
                    && (self.resource_names.is_empty() || self.resource_names.contains(&resource.name))
            }
            Target::Path(path) => self.non_resource_urls.iter().any(|pattern| path_matches(pattern, path)),
        }
    }

    /// Splits the rule into one rule for each combination of verb, resource, name and path. In Kubernetes:
    /// `BreakdownRule`.
    pub(crate) fn singles(&self) -> Vec<Self> {
        let mut singles = Vec::new();
        let names: Vec<Vec<String>> = match self.resource_names.as_slice() {
            [] => vec![Vec::new()],
            names => names.iter().map(|name| vec![name.clone()]).collect(),
        };
        for verb in &self.verbs {
            let verbs = vec![verb.clone()];
            for group in &self.api_groups {
                for resource in &self.resources {
                    singles.extend(names.iter().map(|names| Self {
                        verbs: verbs.clone(),
                        api_groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        resource_names: names.clone(),
                        ..Self::default()
                    }));
                }
            }
            singles.extend(self.non_resource_urls.iter().map(|path| Self {
                verbs: verbs.clone(),
                non_resource_urls: vec![path.clone()],
                ..Self::default()
            }));
        }
        singles
    }

    /// Whether this rule grants everything that `single` grants, which has at most one verb, one group, one resource
    /// and one path. In Kubernetes: `ruleCovers`.
    pub(crate) fn covers(&self, single: &Self) -> bool {
        let verb = single.verbs.first().map_or("", String::as_str);
        let names = |names: &[String]| names.first().cloned().unwrap_or_default();
        match (single.resources.first(), single.non_resource_urls.first()) {
            (Some(resource), _) => {
                let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                let resource = GroupVersionResource::new(names(&single.api_groups), "", plural);
                let at = ResourcePath::new(resource).subresource(subresource).object("", names(&single.resource_names));
                self.allows(verb, &Target::Resource(at.into()))
            }
            (None, Some(path)) => self.allows(verb, &Target::Path(path.clone())),
            (None, None) => true,
        }
    }

    /// The rule as in a role.
    pub(crate) fn to_json(&self) -> Value {
        let lists = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        let given = lists.into_iter().filter(|(_, list)| !list.is_empty());
        given.map(|(name, list)| (name.to_owned(), Value::from(list.clone()))).collect::<Map<_, _>>().into()
    }

    /// In Kubernetes: `ResourceMatches`. Compares complete texts, because a review can contain `pods/log` as a
    /// resource.
    fn covers_resource(&self, asked: &ResourcePath) -> bool {
        let (plural, subresource) = (asked.resource.resource.as_str(), asked.subresource.as_str());
        let is_asked = |resource: &str| {
            if subresource.is_empty() {
                resource == plural
            } else {
                resource.strip_suffix(subresource).and_then(|start| start.strip_suffix('/')) == Some(plural)
                    || resource.strip_prefix("*/") == Some(subresource)
            }
        };
        self.resources.iter().any(|resource| resource == "*" || is_asked(resource))
    }

    /// The rule as in a SelfSubjectRulesReview: a resource rule, a path rule, or both.
    pub fn tell(&self) -> (Option<ResourceRule>, Option<PathRule>) {
        let resources = (!self.resources.is_empty()).then(|| ResourceRule {
            verbs: self.verbs.clone(),
            api_groups: self.api_groups.clone(),
            resources: self.resources.clone(),
            resource_names: self.resource_names.clone(),
        });
        let paths = (!self.non_resource_urls.is_empty())
            .then(|| PathRule { verbs: self.verbs.clone(), paths: self.non_resource_urls.clone() });
        (resources, paths)
    }
}

/// The rules of a role.
pub(crate) fn rules_in(role: &Object) -> Vec<Rule> {
    role.field("rules").and_then(Value::as_array).into_iter().flatten().map(Rule::from_json).collect()
}

fn contains_or_star(list: &[String], word: &str) -> bool {
    list.iter().any(|own| own == "*" || own == word)
}

/// In Kubernetes: `NonResourceURLMatches`; a star matches any suffix, including an empty one.
fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == "*" || pattern == path || pattern.strip_suffix('*').is_some_and(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn resource(group: &str, resource: &str, subresource: &str, name: &str) -> Target {
        let resource = GroupVersionResource::new(group, "", resource);
        Target::Resource(ResourcePath::new(resource).subresource(subresource).object("", name).into())
    }

    #[test]
    fn a_rule_allows_what_it_names_and_nothing_else() {
        let rule = Rule::from_json(&json!({
            "verbs": ["get"], "apiGroups": [""], "resources": ["pods", "pods/log", "*/scale"], "resourceNames": []
        }));
        assert!(rule.allows("get", &resource("", "pods", "", "web")));
        assert!(rule.allows("get", &resource("", "pods", "log", "web")));
        assert!(rule.allows("get", &resource("", "replicationcontrollers", "scale", "")));
        assert!(rule.allows("get", &resource("", "pods/log", "", "web")), "as a review may ask");
        assert!(
            !rule.allows("get", &resource("", "pods/scale", "", "web")),
            "a star stands for a subresource asked for as such"
        );
        assert!(!rule.allows("get", &resource("", "pods", "exec", "web")));
        assert!(!rule.allows("list", &resource("", "pods", "", "")));
        assert!(!rule.allows("get", &resource("apps", "pods", "", "")));
        assert!(!rule.allows("get", &Target::Path("/healthz".into())));
    }

    #[test]
    fn names_limit_a_rule_and_a_collection_has_none() {
        let rule = Rule::from_json(&json!({
            "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "resourceNames": ["one"]
        }));
        assert!(rule.allows("delete", &resource("apps", "deployments", "status", "one")));
        assert!(!rule.allows("delete", &resource("apps", "deployments", "", "two")));
        assert!(!rule.allows("list", &resource("apps", "deployments", "", "")));
    }

    #[test]
    fn a_star_at_the_end_of_a_path_covers_what_is_below() {
        let rule = Rule::from_json(&json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/openapi/*"]}));
        assert!(rule.allows("get", &Target::Path("/healthz".into())));
        assert!(rule.allows("get", &Target::Path("/openapi/v3".into())));
        assert!(!rule.allows("get", &Target::Path("/healthz/etcd".into())));
        assert!(!rule.allows("post", &Target::Path("/healthz".into())));
    }

    proptest! {
        #[test]
        fn a_rule_without_verbs_allows_nothing(group in "[a-z*]{0,3}", plural in "[a-z*/]{0,6}", name in "[a-z]{0,3}") {
            let rule = Rule { api_groups: vec!["*".into()], resources: vec!["*".into()], ..Rule::default() };
            prop_assert!(!rule.allows("get", &resource(&group, &plural, "", &name)));
        }
    }
}
