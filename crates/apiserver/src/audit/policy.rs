use coracle_meta::fields::Fields;
use coracle_meta::names;
use coracle_registry::{Attributes, AuditLevel, Target, User};
use coracle_schema::decode::{Format, parse};
use serde_json::Value;

/// A stage of a request. In Kubernetes: `audit.Stage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

impl Stage {
    const ALL: [Self; 4] = [Self::RequestReceived, Self::ResponseStarted, Self::ResponseComplete, Self::Panic];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }
}

/// The audit policy: the first matching rule decides what is recorded of a request. In Kubernetes: `audit.Policy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPolicy {
    rules: Vec<Rule>,
    otherwise: Kept,
}

/// What is recorded of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) level: AuditLevel,
    pub(super) omits: Vec<Stage>,
    pub(super) omits_managed_fields: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    kept: Kept,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<Resources>,
    namespaces: Vec<String>,
    paths: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Resources {
    group: String,
    resources: Vec<String>,
    names: Vec<String>,
}

const LEVELS: [(&str, AuditLevel); 4] = [
    ("None", AuditLevel::None),
    ("Metadata", AuditLevel::Metadata),
    ("Request", AuditLevel::Request),
    ("RequestResponse", AuditLevel::RequestResponse),
];

impl AuditPolicy {
    /// Reads a policy in YAML or JSON.
    ///
    /// # Errors
    /// The error, in Kubernetes' words. In Kubernetes: `LoadPolicyFromBytes`, `ValidatePolicy`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (policy, _) = parse(text.as_bytes(), Format::Yaml).map_err(|why| format!("failed decoding: {why}"))?;
        Self::read(&policy)
    }

    fn read(policy: &Value) -> Result<Self, String> {
        let (version, kind) = (policy.text("apiVersion"), policy.text("kind"));
        if version.is_empty() || kind.is_empty() {
            let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
            return Err(format!("failed decoding: Object '{missing}' is missing in '{policy}'"));
        }
        if (version, kind) != ("audit.k8s.io/v1", "Policy") {
            return Err(format!("failed decoding: no kind {kind:?} is registered for version {version:?}"));
        }
        let mut wrong = Vec::new();
        let omits = stages(policy.list("omitStages"), "omitStages", &mut wrong);
        let omits_managed_fields = policy.at("omitManagedFields").as_bool() == Some(true);
        let otherwise = Kept { level: AuditLevel::None, omits, omits_managed_fields };
        let rules = policy.list("rules").iter().enumerate();
        let rules: Vec<Rule> =
            rules.map(|(at, rule)| Rule::read(rule, &format!("rules[{at}]"), &otherwise, &mut wrong)).collect();
        match wrong.as_slice() {
            [] if rules.is_empty() => Err("loaded illegal policy with 0 rules".to_owned()),
            [] => Ok(Self { rules, otherwise }),
            [single] => Err(single.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    /// What is recorded of a request with these attributes.
    pub(super) fn of(&self, attributes: &Attributes) -> &Kept {
        let rule = self.rules.iter().find(|rule| rule.fits(attributes));
        rule.map_or(&self.otherwise, |rule| &rule.kept)
    }
}

impl Rule {
    fn read(rule: &Value, at: &str, otherwise: &Kept, wrong: &mut Vec<String>) -> Self {
        let level = match rule.text("level") {
            "" => {
                wrong.push(format!("{at}.level: Required value"));
                AuditLevel::None
            }
            word => LEVELS.iter().find(|(known, _)| *known == word).map_or_else(
                || {
                    let known = LEVELS.map(|(word, _)| format!("{word:?}")).join(", ");
                    wrong.push(format!("{at}.level: Unsupported value: {word:?}: supported values: {known}"));
                    AuditLevel::None
                },
                |(_, level)| *level,
            ),
        };
        let mut omits = stages(rule.list("omitStages"), &format!("{at}.omitStages"), wrong);
        omits.extend(otherwise.omits.iter().copied());
        let omits_managed_fields = rule.at("omitManagedFields").as_bool().unwrap_or(otherwise.omits_managed_fields);
        let paths = texts(rule.at("nonResourceURLs"));
        check_paths(&paths, &format!("{at}.nonResourceURLs"), wrong);
        let resources = rule.list("resources").iter().map(|of| Resources::read(of, at, wrong)).collect::<Vec<_>>();
        let namespaces = texts(rule.at("namespaces"));
        let is_about_resources = !resources.is_empty() || !namespaces.is_empty();
        if !paths.is_empty() && is_about_resources {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            wrong.push(format!("{at}.nonResourceURLs: Invalid value: {}: {why}", rule.at("nonResourceURLs")));
        }
        Self {
            kept: Kept { level, omits, omits_managed_fields },
            users: texts(rule.at("users")),
            groups: texts(rule.at("userGroups")),
            verbs: texts(rule.at("verbs")),
            resources,
            namespaces,
            paths,
        }
    }

    fn fits(&self, attributes: &Attributes) -> bool {
        let Attributes { user, verb, target, .. } = attributes;
        let listed = |list: &[String], word: &str| list.is_empty() || list.iter().any(|listed| listed == word);
        listed(&self.users, &user.name)
            && is_member(&self.groups, user)
            && listed(&self.verbs, verb)
            && match target {
                Target::Resource(at) => {
                    let about = match at.subresource.as_str() {
                        "" => at.resource.resource.clone(),
                        subresource => format!("{}/{subresource}", at.resource.resource),
                    };
                    let fits = |of: &Resources| of.fits(&at.resource.group, &about, &at.subresource, &at.name);
                    self.paths.is_empty()
                        && listed(&self.namespaces, &at.namespace)
                        && (self.resources.is_empty() || self.resources.iter().any(fits))
                }
                Target::Path(path) => {
                    self.namespaces.is_empty()
                        && self.resources.is_empty()
                        && (self.paths.is_empty() || self.paths.iter().any(|pattern| path_fits(pattern, path)))
                }
            }
    }
}

fn is_member(groups: &[String], user: &User) -> bool {
    groups.is_empty() || user.groups.iter().any(|own| groups.contains(own))
}

fn path_fits(pattern: &str, path: &str) -> bool {
    pattern == "*" || pattern == path || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

impl Resources {
    fn read(of: &Value, at: &str, wrong: &mut Vec<String>) -> Self {
        let read = Self {
            group: of.text("group").to_owned(),
            resources: texts(of.at("resources")),
            names: texts(of.at("resourceNames")),
        };
        if !read.group.is_empty() {
            let why = names::dns1123_subdomain(&read.group);
            if !why.is_empty() {
                wrong.push(format!("{at}.resources.group: Invalid value: {:?}: {}", read.group, why.join(",")));
            }
        }
        if !read.names.is_empty() && read.resources.is_empty() {
            let why = "using resourceNames requires at least one resource";
            wrong.push(format!("{at}.resources.resourceNames: Invalid value: {}: {why}", of.at("resourceNames")));
        }
        read
    }

    /// Whether it matches `RESOURCE` or `RESOURCE/SUBRESOURCE`. In Kubernetes: `ruleMatchesResource`.
    fn fits(&self, group: &str, about: &str, subresource: &str, name: &str) -> bool {
        if self.group != group {
            return false;
        }
        let is_named = self.names.is_empty() || self.names.iter().any(|listed| listed == name);
        let resource = about.split('/').next().unwrap_or(about);
        let fits = |listed: &String| {
            listed == "*"
                || listed == about
                || !subresource.is_empty()
                    && (listed.strip_prefix("*/") == Some(subresource) || listed.strip_suffix("/*") == Some(resource))
        };
        self.resources.is_empty() || is_named && self.resources.iter().any(fits)
    }
}

fn texts(list: &Value) -> Vec<String> {
    let elements = list.as_array().into_iter().flatten();
    elements.filter_map(|element| element.as_str().map(str::to_owned)).collect()
}

fn stages(list: &[Value], at: &str, wrong: &mut Vec<String>) -> Vec<Stage> {
    let mut read = Vec::new();
    for (index, word) in list.iter().enumerate() {
        let word = word.as_str().unwrap_or("");
        match Stage::ALL.into_iter().find(|stage| stage.word() == word) {
            Some(stage) => read.push(stage),
            None => {
                let known = Stage::ALL.map(Stage::word).join(",");
                wrong.push(format!("{at}[{index}]: Invalid value: {word:?}: allowed stages are {known}"));
            }
        }
    }
    read
}

fn check_paths(paths: &[String], at: &str, wrong: &mut Vec<String>) {
    for (index, path) in paths.iter().enumerate().filter(|(_, path)| *path != "*") {
        let mut refuse = |why: &str| wrong.push(format!("{at}[{index}]: Invalid value: {path:?}: {why}"));
        if !path.starts_with('/') {
            refuse("non-resource URL rules must begin with a '/' character");
        }
        let mut signs = path.chars();
        signs.next_back();
        if signs.as_str().contains('*') {
            refuse("non-resource URL wildcards '*' must be the final character of the rule");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coracle_meta::{GroupVersionResource, ResourcePath};
    use serde_json::json;

    use super::*;

    fn policy(rules: Value) -> Result<AuditPolicy, String> {
        AuditPolicy::read(&json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}))
    }

    fn resource(verb: &str, (group, plural): (&str, &str), subresource: &str) -> Attributes {
        let user = Arc::new(User::new("jane", ["devs"]));
        let at = ResourcePath::new(GroupVersionResource::new(group, "v1", plural)).object("shop", "a");
        Attributes::of_resource(&user, verb, at.subresource(subresource))
    }

    fn path(path: &str) -> Attributes {
        Attributes::new(&Arc::new(User::new("jane", ["devs"])), "get", Target::Path(path.to_owned()))
    }

    #[test]
    fn the_first_rule_that_fits_says_what_is_kept() {
        let policy = policy(json!([
            {"level": "None", "users": ["joe"]},
            {"level": "None", "nonResourceURLs": ["/healthz*", "/version"]},
            {"level": "Request", "verbs": ["create"], "resources": [{"resources": ["pods/*"]}]},
            {"level": "RequestResponse", "userGroups": ["devs"], "namespaces": ["shop"],
                "resources": [{"resources": ["pods"], "resourceNames": ["a"]}, {"group": "apps"}]},
            {"level": "Metadata", "omitStages": ["RequestReceived"]},
        ]))
        .unwrap();
        let level = |attributes: &Attributes| policy.of(attributes).level;
        assert_eq!(level(&path("/healthz/ping")), AuditLevel::None);
        assert_eq!(level(&path("/versions")), AuditLevel::Metadata);
        assert_eq!(level(&resource("create", ("", "pods"), "exec")), AuditLevel::Request);
        assert_eq!(level(&resource("create", ("", "pods"), "")), AuditLevel::RequestResponse);
        assert_eq!(level(&resource("get", ("apps", "deployments"), "scale")), AuditLevel::RequestResponse);
        let secrets = resource("get", ("", "secrets"), "");
        assert_eq!(
            (level(&secrets), policy.of(&secrets).omits.as_slice()),
            (AuditLevel::Metadata, &[Stage::RequestReceived][..])
        );
    }

    #[test]
    fn errors_of_a_policy_have_kubernetes_words() {
        let wrong =
            policy(json!([{"level": "All", "nonResourceURLs": ["healthz", "/*/x"], "namespaces": ["a"]}])).unwrap_err();
        for part in [
            "rules[0].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\"",
            "rules[0].nonResourceURLs[0]: Invalid value: \"healthz\": non-resource URL rules must begin with a '/' character",
            "wildcards '*' must be the final character of the rule",
            "rules cannot apply to both regular resources and non-resource URLs",
        ] {
            assert!(wrong.contains(part), "{wrong}");
        }
        assert_eq!(policy(json!([])).unwrap_err(), "loaded illegal policy with 0 rules");
        assert_eq!(policy(json!([{}])).unwrap_err(), "rules[0].level: Required value");
        let old = json!({"apiVersion": "audit.k8s.io/v1beta1", "kind": "Policy"});
        assert!(AuditPolicy::read(&old).unwrap_err().contains("no kind \"Policy\" is registered for version"));
    }
}
