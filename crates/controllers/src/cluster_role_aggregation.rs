//! Fills the ClusterRoles that aggregate others: `view`, `edit`, `admin`, and those that users define.
//!
//! In Kubernetes: `pkg/controller/clusterroleaggregation`.

use std::collections::BTreeSet;

use coracle_api::rbac_v1::{ClusterRole, PolicyRule};
use coracle_client::{Api, Patch, WriteParams};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::{LabelSelector, ObjectKey, SelectorError};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::Config;

const FIELD_MANAGER: &str = "clusterrole-aggregation-controller";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let roles = process.informers.informer::<ClusterRole>();
    let all = roles.lister();
    let controller = Controller::new(process, "clusterrole-aggregation", Aggregation { roles: roles.lister() })
        .client(config.client(process))
        // Any changed role may be aggregated into any of them.
        .watches(&roles, move |_| aggregated(&all));
    Box::pin(controller.run())
}

fn aggregated(roles: &Lister<ClusterRole>) -> Vec<ObjectKey> {
    let is_aggregated = |role: &&std::sync::Arc<ClusterRole>| role.aggregation_rule.is_some();
    roles.list().iter().filter(is_aggregated).filter_map(|role| name(role).map(ObjectKey::cluster)).collect()
}

struct Aggregation {
    roles: Lister<ClusterRole>,
}

impl Reconciler for Aggregation {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(role) = self.roles.get(key).filter(|role| role.aggregation_rule.is_some()) else {
            return pass.done(|| "it sums up no others: nothing to do");
        };
        let all = self.roles.list();
        // An invalid selector is fixed by its author, and that update triggers the next sync.
        let Ok(rules) = sum(&role, all.iter().map(AsRef::as_ref)) else {
            return pass.done(|| "its selectors cannot be read: nothing to do");
        };
        if rules == role.rules {
            return pass.done(|| format!("want {} rules, and it has them: nothing to do", rules.len()));
        }
        pass.decided(|| format!("want {} rules, see {}: apply them", rules.len(), role.rules.len()));
        let write = WriteParams { field_manager: FIELD_MANAGER.to_owned(), ..WriteParams::default() };
        let roles: Api<ClusterRole> = pass.api().writing(write);
        let object = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": key.name},
            "rules": rules,
        });
        roles.patch(key, &Patch::Apply { object, force: true }).await?;
        Ok(Action::Done)
    }
}

fn name(role: &ClusterRole) -> Option<&str> {
    role.metadata.name.as_deref()
}

/// The rules of the roles that `role` selects, without duplicates: selector by selector, and in the order of their
/// names.
fn sum<'a>(
    role: &ClusterRole,
    all: impl Iterator<Item = &'a ClusterRole> + Clone,
) -> Result<Vec<PolicyRule>, SelectorError> {
    let (mut parts, mut seen, mut rules) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for selector in role.aggregation_rule.iter().flat_map(|rule| &rule.cluster_role_selectors) {
        let selector = selector.to_selector()?;
        // A role that an earlier selector has selected has no rule that is not there.
        for part in selected(&selector, role, all.clone()).into_iter().filter(|part| parts.insert(name(part))) {
            let is_new = |rule: &&'a PolicyRule| seen.insert(fields(rule));
            rules.extend(part.rules.iter().filter(is_new).cloned());
        }
    }
    Ok(rules)
}

/// What makes two rules equal, in an order.
fn fields(rule: &PolicyRule) -> [&Vec<String>; 5] {
    [&rule.api_groups, &rule.non_resource_urls, &rule.resource_names, &rule.resources, &rule.verbs]
}

fn selected<'a>(
    selector: &LabelSelector,
    role: &ClusterRole,
    all: impl Iterator<Item = &'a ClusterRole>,
) -> Vec<&'a ClusterRole> {
    let mut parts: Vec<_> =
        all.filter(|part| name(part) != name(role) && selector.matches(&part.metadata.labels)).collect();
    parts.sort_by_key(|part| name(part));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, label: &str, verbs: &[&str]) -> ClusterRole {
        let rules: Vec<_> = verbs.iter().map(|verb| json!({"verbs": [verb], "resources": ["pods"]})).collect();
        serde_json::from_value(json!({"metadata": {"name": name, "labels": {"part-of": label}}, "rules": rules}))
            .unwrap()
    }

    fn made_of(selectors: serde_json::Value) -> ClusterRole {
        let mut role = role("whole", "a", &["old"]);
        role.aggregation_rule =
            Some(Box::new(serde_json::from_value(json!({"clusterRoleSelectors": selectors})).unwrap()));
        role
    }

    fn verbs(role: &ClusterRole, all: &[ClusterRole]) -> Vec<String> {
        sum(role, all.iter()).unwrap().into_iter().flat_map(|rule| rule.verbs).collect()
    }

    #[test]
    fn rules_come_selector_by_selector_and_by_name_each_once_and_never_from_the_role_itself() {
        let whole = made_of(json!([{"matchLabels": {"part-of": "b"}}, {"matchLabels": {"part-of": "a"}}]));
        let all = [
            whole.clone(),
            role("z", "a", &["get", "list"]),
            role("y", "a", &["watch", "get"]),
            role("x", "b", &["list"]),
            role("w", "c", &["delete"]),
        ];
        assert_eq!(verbs(&whole, &all), ["list", "watch", "get"]);
    }

    #[test]
    fn rules_by_the_hundred_thousand_are_summed_up_and_each_is_taken_once() {
        let verbs: Vec<_> = (0..100_000).map(|at| format!("verb{at}")).collect();
        let verbs: Vec<_> = verbs.iter().map(String::as_str).collect();
        let whole = made_of(json!(vec![json!({"matchLabels": {"part-of": "a"}}); 100]));
        let all = [whole.clone(), role("y", "a", &verbs[..60_000]), role("z", "a", &verbs[40_000..])];
        assert_eq!(self::verbs(&whole, &all), verbs);
    }

    #[test]
    fn a_selector_without_matches_gives_no_rules_and_an_invalid_one_an_error() {
        let all = [role("x", "b", &["list"])];
        assert!(verbs(&made_of(json!([])), &all).is_empty());
        let wrong = made_of(json!([{"matchExpressions": [{"key": "a", "operator": "Like"}]}]));
        assert!(sum(&wrong, all.iter()).is_err());
    }
}
