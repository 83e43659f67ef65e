use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, LabelSelector, Object, Scope};
use coracle_registry::Review;
use serde_json::Value;

/// Which requests a policy or a binding is about. In Kubernetes: `MatchResources`.
#[derive(Debug)]
pub(super) struct Matching {
    rules: Vec<Rule>,
    exclusions: Vec<Rule>,
    namespaces: LabelSelector,
    objects: LabelSelector,
    /// Whether a rule also matches the same resource in another version.
    is_equivalent: bool,
}

#[derive(Debug)]
struct Rule {
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
    names: Vec<String>,
    scope: String,
}

impl Matching {
    pub(super) fn read(value: &Value) -> Self {
        let rules = |path: &str| value.list(path).iter().map(Rule::read).collect();
        // A selector that cannot be read has been refused with its object, and selects nothing.
        let selector = |path: &str| match value.at(path) {
            Value::Null => LabelSelector::everything(),
            selector => LabelSelector::from_json(Some(selector)).unwrap_or_else(|_| LabelSelector::nothing()),
        };
        Self {
            rules: rules("resourceRules"),
            exclusions: rules("excludeResourceRules"),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            is_equivalent: value.text("matchPolicy") != "Exact",
        }
    }

    pub(super) fn matches(&self, review: &Review<'_>, namespace: Option<&Object>) -> bool {
        let matches = |rule: &Rule| rule.matches(review, self.is_equivalent);
        let is_ruled = self.rules.is_empty() || self.rules.iter().any(matches);
        is_ruled
            && !self.exclusions.iter().any(matches)
            && namespace.is_none_or(|namespace| self.namespaces.matches(&namespace.labels()))
            && self.matches_objects(review)
    }

    fn matches_objects(&self, review: &Review<'_>) -> bool {
        let matches = |object: &Object| self.objects.matches(&object.labels());
        self.objects.is_everything() || review.object().is_some_and(matches) || review.old.is_some_and(matches)
    }
}

impl Rule {
    fn read(value: &Value) -> Self {
        let texts = |path: &str| value.list(path).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect();
        Self {
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            operations: texts("operations"),
            names: texts("resourceNames"),
            scope: value.text("scope").to_owned(),
        }
    }

    fn matches(&self, review: &Review<'_>, is_equivalent: bool) -> bool {
        let request = review.request;
        let lists = |list: &[String], word: &str| list.iter().any(|listed| listed == "*" || listed == word);
        let name = review.object().map_or(request.at.name.as_str(), Object::name);
        lists(&self.operations, review.operation.as_str())
            && lists(&self.groups, &request.at.resource.group)
            && (lists(&self.versions, &request.at.resource.version) || is_equivalent && self.is_served(review))
            && self
                .resources
                .iter()
                .any(|pattern| matches_resource(pattern, &request.at.resource.resource, &request.at.subresource))
            && (self.names.is_empty() || self.names.iter().any(|listed| listed == name))
            && self.matches_scope(review)
    }

    /// Whether the resource is served in one of the rule's versions, and so the same in another.
    fn is_served(&self, review: &Review<'_>) -> bool {
        let resource = &review.request.at.resource;
        let in_version = |version: &String| {
            let other = GroupVersionResource { version: version.clone(), ..resource.clone() };
            review.registry.kind(&other).is_some()
        };
        self.versions.iter().any(in_version)
    }

    fn matches_scope(&self, review: &Review<'_>) -> bool {
        match self.scope.as_str() {
            "Namespaced" => review.strategy.spec().row.scope == Scope::Namespaced,
            "Cluster" => review.strategy.spec().row.scope == Scope::Cluster,
            _ => true,
        }
    }
}

/// Whether `pods`, `pods/status`, `pods/*`, `*`, `*/*` or `*/scale` is meant.
fn matches_resource(pattern: &str, resource: &str, subresource: &str) -> bool {
    let (of_resource, of_subresource) = pattern.split_once('/').unwrap_or((pattern, ""));
    let is_resource = of_resource == "*" || of_resource == resource;
    is_resource && (of_subresource == "*" || of_subresource == subresource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_a_resource_or_a_part_of_it() {
        assert!(matches_resource("pods", "pods", ""));
        assert!(!matches_resource("pods", "pods", "status"));
        assert!(matches_resource("pods/*", "pods", "status"));
        assert!(matches_resource("pods/*", "pods", ""));
        assert!(matches_resource("*/scale", "deployments", "scale"));
        assert!(!matches_resource("*", "deployments", "scale"));
        assert!(matches_resource("*/*", "deployments", "scale"));
    }
}
