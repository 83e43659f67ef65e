use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionResource, LabelSelector, Object, Scope, Status};
use coracle_registry::{Kind, Review};
use serde_json::Value;

/// How a rule matches a request.
#[derive(Clone)]
pub(crate) enum RuleMatch {
    /// In the version of the request.
    AsAsked,
    /// In another version of the same objects.
    Elsewhere(Arc<Kind>),
}

impl RuleMatch {
    /// The resource whose version is used, if it is not the request's.
    pub(crate) fn elsewhere(&self) -> Option<GroupVersionResource> {
        match self {
            Self::AsAsked => None,
            Self::Elsewhere(kind) => Some(kind.gvr()),
        }
    }
}

/// The requests that a policy, a binding or a webhook matches. In Kubernetes: `MatchResources`.
#[derive(Debug)]
pub(crate) struct Matching {
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
    /// Reads `matchConstraints` or `matchResources`.
    pub(crate) fn read(value: &Value) -> Self {
        Self::with_rules(value, "resourceRules")
    }

    /// Reads a webhook.
    pub(crate) fn of_webhook(value: &Value) -> Self {
        Self::with_rules(value, "rules")
    }

    fn with_rules(value: &Value, field: &str) -> Self {
        let rules = |path: &str| value.list(path).iter().map(Rule::read).collect();
        // An object with an invalid selector was refused, so such a selector selects nothing.
        let selector = |path: &str| match value.at(path) {
            Value::Null => LabelSelector::everything(),
            selector => LabelSelector::from_json(Some(selector)).unwrap_or_else(|_| LabelSelector::nothing()),
        };
        Self {
            rules: rules(field),
            exclusions: rules("excludeResourceRules"),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            is_equivalent: value.text("matchPolicy") != "Exact",
        }
    }

    /// Whether a binding matches the request: one without rules matches all.
    ///
    /// # Errors
    /// If a namespace selector applies and the namespace does not exist.
    pub(crate) fn matches(&self, review: &Review<'_>, namespace: Option<&Object>) -> Result<bool, Status> {
        Ok(self.found_for_policy(review, namespace)?.is_some())
    }

    /// The resource and kind under which a policy gets the request, if it matches.
    ///
    /// # Errors
    /// If a namespace selector applies and the namespace does not exist.
    pub(crate) fn found_for_policy(
        &self,
        review: &Review<'_>,
        namespace: Option<&Object>,
    ) -> Result<Option<RuleMatch>, Status> {
        let found = if self.rules.is_empty() { Some(RuleMatch::AsAsked) } else { self.found(&self.rules, review) };
        let Some(found) = found.filter(|_| self.found(&self.exclusions, review).is_none()) else { return Ok(None) };
        Ok(self.selects(review, namespace)?.then_some(found))
    }

    /// The resource and kind under which a webhook gets the request, if one of its rules matches.
    ///
    /// # Errors
    /// If a namespace selector applies and the namespace does not exist.
    pub(crate) fn found_for_webhook(
        &self,
        review: &Review<'_>,
        namespace: Option<&Object>,
    ) -> Result<Option<RuleMatch>, Status> {
        match self.found(&self.rules, review) {
            Some(found) if self.selects(review, namespace)? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// How a rule matches: in the version of the request, otherwise in another version of the same objects.
    fn found(&self, rules: &[Rule], review: &Review<'_>) -> Option<RuleMatch> {
        let own = &review.request.at.resource;
        if rules.iter().any(|rule| rule.matches(review, own)) {
            return Some(RuleMatch::AsAsked);
        }
        if !self.is_equivalent || rules.iter().all(|rule| !rule.may_match(review)) {
            return None;
        }
        let others = review.equivalents();
        rules.iter().find_map(|rule| {
            let other = others.iter().find(|other| rule.matches(review, &other.gvr()))?;
            Some(RuleMatch::Elsewhere(Arc::clone(other)))
        })
    }

    fn selects(&self, review: &Review<'_>, namespace: Option<&Object>) -> Result<bool, Status> {
        Ok(self.matches_namespace(review, namespace)? && self.matches_objects(review))
    }

    /// In Kubernetes: `namespace.Matcher.MatchNamespaceSelector`.
    fn matches_namespace(&self, review: &Review<'_>, namespace: Option<&Object>) -> Result<bool, Status> {
        match (namespace, review.request.at.namespace.as_str()) {
            _ if self.namespaces.is_everything() => Ok(true),
            (Some(namespace), _) => Ok(self.namespaces.matches(&namespace.labels())),
            (None, "") => Ok(true),
            (None, missing) => Err(Status::not_found(&GroupResource::new("", "namespaces"), missing)),
        }
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

    /// Whether the rule matches the request as one for `resource`.
    fn matches(&self, review: &Review<'_>, resource: &GroupVersionResource) -> bool {
        let lists = |list: &[String], word: &str| list.iter().any(|listed| listed == "*" || listed == word);
        self.may_match(review)
            && lists(&self.groups, &resource.group)
            && lists(&self.versions, &resource.version)
            && self
                .resources
                .iter()
                .any(|pattern| matches_resource(pattern, &resource.resource, &review.request.at.subresource))
    }

    /// Whether the rule matches the request except for the resource.
    fn may_match(&self, review: &Review<'_>) -> bool {
        let operation = review.operation.as_str();
        let name = match review.request.at.name.as_str() {
            "" => review.object().map_or("", Object::name),
            name => name,
        };
        self.operations.iter().any(|listed| listed == "*" || listed == operation)
            && (self.names.is_empty() || self.names.iter().any(|listed| listed == name))
            && self.matches_scope(review)
    }

    fn matches_scope(&self, review: &Review<'_>) -> bool {
        match self.scope.as_str() {
            "Namespaced" => review.strategy.spec().row.scope == Scope::Namespaced,
            "Cluster" => review.strategy.spec().row.scope == Scope::Cluster,
            _ => true,
        }
    }
}

/// Whether a pattern such as `pods`, `pods/status`, `pods/*`, `*`, `*/*` or `*/scale` matches.
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
