//! Rules of webhooks for resources that webhooks do not see. In Kubernetes: `WarningsForValidatingWebhookRules`.

use std::collections::BTreeSet;

use coracle_meta::Object;
use coracle_meta::fields::Fields;
use coracle_release::Release;
use coracle_schema::Table;
use serde_json::Value;

/// The groups whose resources are all reviews, which are never stored.
const GROUPS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// The reviews of a release.
fn reviews(release: &Release) -> BTreeSet<(&'static str, &'static str)> {
    let rows = Table::of(release).resources().iter();
    let pairs = rows.map(|row| (row.kind.group.as_str(), row.plural.as_str()));
    pairs.filter(|(group, _)| GROUPS.contains(group)).collect()
}

/// A warning for each such resource that a rule names.
pub(super) fn warnings(object: &Object, release: &Release) -> Vec<String> {
    if !release.enabled("ExcludeAdmissionWebhookVirtualResources") {
        return Vec::new();
    }
    let (reviews, mut warnings) = (reviews(release), Vec::new());
    for (at, hook) in object.list("webhooks").iter().enumerate() {
        for (rule_at, rule) in hook.list("rules").iter().enumerate() {
            let named = named_by(rule, &reviews).into_iter();
            warnings.extend(named.map(|resource| {
                format!(
                    "webhooks[{at}].rules[{rule_at}]: {resource} is excluded from admission webhooks; this rule will have no effect"
                )
            }));
        }
    }
    warnings
}

/// The unseen resources that a rule names, without those that a `*` includes.
fn named_by(rule: &Value, reviews: &BTreeSet<(&'static str, &'static str)>) -> Vec<String> {
    let texts = |field: &str| rule.list(field).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let (groups, resources) = (texts("apiGroups"), texts("resources"));
    if groups.contains(&"*") || resources.contains(&"*") {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let pairs = groups.iter().flat_map(|group| resources.iter().map(move |resource| (*group, *resource)));
    let unseen = pairs.filter(|pair| reviews.contains(pair));
    unseen.filter(|pair| seen.insert(*pair)).map(|(group, resource)| format!("{resource}.{group}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_names_unseen_resources_once_and_not_by_a_wildcard() {
        let rule = json!({"apiGroups": ["authentication.k8s.io", "apps"],
            "resources": ["tokenreviews", "tokenreviews", "deployments"]});
        let reviews = reviews(&Release::newest());
        assert_eq!(named_by(&rule, &reviews), ["tokenreviews.authentication.k8s.io"]);
        assert!(named_by(&json!({"apiGroups": ["*"], "resources": ["tokenreviews"]}), &reviews).is_empty());
    }
}
