use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use coracle_registry::KindSpec;
use coracle_release::Release;
use serde_json::Value;

use super::GROUP;
use super::policy_rules::wrong_rules;
use crate::built_in::built_in;
use crate::field_checks::{Wrong, label_selector};

/// `clusterroles`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        name: names::path_segment,
        validate: |object, _| {
            let mut wrong = wrong_rules(object, false);
            wrong.extend(wrong_aggregation(object.at("aggregationRule")));
            wrong
        },
        ..built_in(release, GROUP, "v1", "clusterroles")
    }
}

fn wrong_aggregation(rule: &Value) -> Wrong {
    const PATH: &str = "aggregationRule.clusterRoleSelectors";
    let selectors = rule.list("clusterRoleSelectors");
    if !rule.is_null() && selectors.is_empty() {
        let what = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return vec![FieldError::required(PATH, what)];
    }
    let selectors = selectors.iter().enumerate();
    selectors.flat_map(|(at, selector)| label_selector(selector, &format!("{PATH}[{at}]"))).collect()
}
