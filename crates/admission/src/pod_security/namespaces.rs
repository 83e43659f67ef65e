use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{Operation, Review};

use super::checks::violations;
use super::configuration::Configuration;
use super::policy::{Level, Policy, Standard};
use crate::lookup::{core, list};

/// The maximum number of checked pods when the labels of a namespace change.
const MOST_PODS: usize = 3000;

/// Checks the labels of a namespace: they must be valid, unless they were invalid before. Stricter labels return a
/// warning that lists the existing pods that violate them. In Kubernetes: `Admission.ValidateNamespace`.
pub(super) async fn check(
    configuration: &Configuration,
    review: &Review<'_>,
    namespace: &Object,
) -> Result<(), Status> {
    let (policy, wrong) = configuration.defaults.with(&namespace.labels());
    let before = review.old.map(|old| configuration.defaults.with(&old.labels()));
    if !wrong.is_empty() && before.as_ref().is_none_or(|(_, before)| wrong != *before) {
        return Err(Status::invalid(&GroupVersionKind::new("", "v1", "Namespace"), namespace.name(), &wrong));
    }
    let is_exempt = configuration.exempts_namespace(namespace.name());
    let says_nothing = policy.is_privileged() || policy == configuration.defaults;
    match (review.operation, before) {
        (Operation::Create, _) if is_exempt && !says_nothing => {
            review.request.warnings.add(ignored(namespace, &policy))
        }
        (Operation::Update, Some((before, _))) if is_stricter(policy.enforce, before.enforce) => {
            if is_exempt {
                if !says_nothing {
                    review.request.warnings.add(ignored(namespace, &policy));
                }
                return Ok(());
            }
            let pods = list(review, core("pods"), namespace.name()).await?;
            for warning in warnings(configuration, namespace.name(), policy.enforce, pods) {
                review.request.warnings.add(warning);
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_stricter(new: Standard, old: Standard) -> bool {
    new != old && new.level != Level::Privileged && (new.version != old.version || new.level > old.level)
}

fn ignored(namespace: &Object, policy: &Policy) -> String {
    let labels = namespace.labels();
    let modes = [("enforce", policy.enforce), ("audit", policy.audit), ("warn", policy.warn)];
    let is_said = |mode: &str| {
        let name = format!("pod-security.kubernetes.io/{mode}");
        labels.contains_key(&name) || labels.contains_key(&format!("{name}-version"))
    };
    let said = modes.iter().filter(|(mode, standard)| standard.level != Level::Privileged && is_said(mode));
    let said: Vec<String> = said.map(|(mode, standard)| format!("{mode}={standard}")).collect();
    format!(
        "namespace {:?} is exempt from Pod Security, and the policy ({}) will be ignored",
        namespace.name(),
        said.join(", ")
    )
}

/// The warnings about violations by existing pods of a namespace. Pods of one controller are represented by the first
/// one.
fn warnings(configuration: &Configuration, namespace: &str, standard: Standard, pods: Vec<Arc<Object>>) -> Vec<String> {
    let is_concerned = |pod: &Arc<Object>| !configuration.exempts_runtime_class(pod.text("spec.runtimeClassName"));
    let mut controllers = BTreeSet::new();
    let (mut pods, more): (Vec<_>, Vec<_>) = pods.into_iter().filter(is_concerned).partition(|pod| {
        let owners = pod.list("metadata.ownerReferences").iter();
        let controller =
            owners.filter(|owner| owner.flag("controller")).map(|owner| owner.text("uid").to_owned()).next();
        controller.is_none_or(|uid| controllers.insert(uid))
    });
    pods.extend(more);
    let total = pods.len();
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for pod in pods.iter().take(MOST_PODS) {
        let reasons: Vec<String> =
            violations(standard, pod.at("metadata"), pod.at("spec")).into_iter().map(|(reason, _)| reason).collect();
        if !reasons.is_empty() {
            found.entry(reasons.join(", ")).or_default().push(pod.name());
        }
    }
    let mut warnings = Vec::new();
    if total > MOST_PODS {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST_PODS} of {total} existing pods"
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level {:?}",
            standard.to_string()
        ));
    }
    let mut of_pods: Vec<String> = found.iter().map(|(reasons, pods)| told(reasons, pods)).collect();
    of_pods.sort();
    warnings.extend(of_pods);
    warnings
}

fn told(reasons: &str, pods: &[&str]) -> String {
    let first = pods.iter().min().copied().unwrap_or_default();
    match pods.len() - 1 {
        0 => format!("{first}: {reasons}"),
        1 => format!("{first} (and 1 other pod): {reasons}"),
        others => format!("{first} (and {others} other pods): {reasons}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn standard(enforce: &str) -> Standard {
        Policy::of_configuration(&json!({ "enforce": enforce })).unwrap().enforce
    }

    fn pod(name: &str, owner: &str, spec: Value) -> Arc<Object> {
        let owners = json!([{"controller": true, "uid": owner}]);
        let metadata = json!({"name": name, "ownerReferences": if owner.is_empty() { json!([]) } else { owners }});
        Arc::new(Object::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
    }

    #[test]
    fn pods_that_would_not_be_let_in_again_are_named() {
        let host = || json!({"hostNetwork": true, "containers": []});
        let pods = vec![
            pod("c", "", host()),
            pod("a", "x", host()),
            pod("b", "x", host()),
            pod(
                "d",
                "",
                json!({"hostPID": true, "containers": [{"name": "p", "securityContext": {"privileged": true}}]}),
            ),
            pod("fine", "", json!({"containers": []})),
        ];
        let told = warnings(&Configuration::default(), "n", standard("baseline"), pods);
        let expected = [
            "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "a (and 2 other pods): host namespaces",
            "d: host namespaces, privileged",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn only_stricter_labels_return_warnings() {
        let [privileged, baseline, restricted] = ["privileged", "baseline", "restricted"].map(standard);
        assert!(is_stricter(baseline, privileged) && is_stricter(restricted, baseline));
        assert!(!is_stricter(baseline, restricted) && !is_stricter(privileged, baseline));
        assert!(!is_stricter(baseline, baseline));
    }
}
