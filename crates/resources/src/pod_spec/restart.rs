//! Restarts of containers. In Kubernetes: `validateContainerRestartPolicy`, `validateResizePolicy`.

use std::collections::BTreeSet;

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use coracle_release::Release;
use serde_json::Value;

use crate::field_checks::{Wrong, required_one_of};

/// The errors of the restart policy and the restart rules of a container.
pub(super) fn wrong_restart(container: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    let rules = container.list("restartPolicyRules");
    match container.at("restartPolicy").as_str() {
        None if rules.is_empty() => return wrong,
        None => wrong.push(needs_policy(path)),
        Some("Always" | "Never" | "OnFailure") => {}
        Some(policy) => {
            let known = ["Always", "Never", "OnFailure"];
            wrong.push(FieldError::not_supported(format!("{path}.restartPolicy"), policy, &known));
        }
    }
    if rules.len() > 20 {
        wrong.push(too_many(rules, 20, format!("{path}.restartPolicyRules"), release));
    }
    let restarts_all = release.enabled("RestartAllContainersOnContainerExits");
    let actions: &[&str] = if restarts_all { &["Restart", "RestartAllContainers"] } else { &["Restart"] };
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("{path}.restartPolicyRules[{at}]");
        let action = rule.text("action");
        if !actions.contains(&action) {
            wrong.push(FieldError::not_supported(format!("{path}.action"), action, actions));
        }
        let codes = rule.at("exitCodes");
        let path = format!("{path}.exitCodes");
        if codes.is_null() {
            wrong.push(FieldError::required(path, "must be specified"));
            continue;
        }
        let operator = codes.text("operator");
        if !matches!(operator, "In" | "NotIn") {
            wrong.push(FieldError::not_supported(format!("{path}.operator"), operator, &["In", "NotIn"]));
        }
        if codes.list("values").len() > 255 {
            wrong.push(too_many(codes.list("values"), 255, format!("{path}.values"), release));
        }
    }
    wrong
}

/// Older releases report a list with too many items as a text that is too long.
fn too_many(items: &[Value], most: usize, path: String, release: &Release) -> FieldError {
    if release.has("RestartRulesAreCounted") {
        FieldError::too_many(path, items.len(), most)
    } else {
        FieldError::too_long(path, most)
    }
}

fn needs_policy(path: &str) -> FieldError {
    FieldError::required(format!("{path}.restartPolicy"), "must specify restartPolicy when restart rules are used")
}

/// The same for an init container. In Kubernetes: `validateInitContainerRestartPolicy`.
pub(super) fn wrong_init_restart(container: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = wrong_init_policy(container, path, release);
    if container.text("restartPolicy") == "Always" || !release.has("InitContainersDoNotRestartToResize") {
        return wrong;
    }
    for (at, policy) in container.list("resizePolicy").iter().enumerate() {
        let restart = policy.text("restartPolicy");
        if restart == "RestartContainer" {
            let what = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            wrong.push(FieldError::invalid(format!("{path}.resizePolicy[{at}].restartPolicy"), restart, what));
        }
    }
    wrong
}

fn wrong_init_policy(container: &Value, path: &str, release: &Release) -> Wrong {
    let has_rules = !container.list("restartPolicyRules").is_empty();
    match container.at("restartPolicy").as_str() {
        None if has_rules => vec![needs_policy(path)],
        Some("Always") if has_rules => {
            if release.enabled("RestartAllContainersOnContainerExits") {
                return wrong_restart(container, path, release);
            }
            let what = "restartPolicyRules are not allowed for init containers with restart policy Always";
            vec![FieldError::forbidden(format!("{path}.restartPolicyRules"), what)]
        }
        None | Some("Always") => Wrong::new(),
        Some(_) => wrong_restart(container, path, release),
    }
}

/// The errors of the resize policy of a container in a pod with the restart policy `of_pod`.
pub(super) fn wrong_resize_policy(container: &Value, of_pod: &str, path: &str, release: &Release) -> Wrong {
    let path = format!("{path}.resizePolicy");
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    let unplaced = |errors: Wrong| errors.into_iter().map(|error| FieldError { field: path.clone(), ..error });
    for (at, policy) in container.list("resizePolicy").iter().enumerate() {
        let resource = policy.text("resourceName");
        if !seen.insert(resource) {
            wrong.push(FieldError::duplicate(format!("{path}[{at}]"), resource));
        }
        wrong.extend(unplaced(required_one_of(policy, "resourceName", "", &["cpu", "memory"])));
        wrong.extend(unplaced(required_one_of(policy, "restartPolicy", "", &["NotRequired", "RestartContainer"])));
        let restart = policy.text("restartPolicy");
        if of_pod == "Never" && restart != "NotRequired" {
            let whose = if release.has("RestartRulesAreCounted") { "pod " } else { "" };
            let what = format!("must be 'NotRequired' when {whose}`restartPolicy` is 'Never'");
            wrong.push(FieldError::invalid(&path, restart, what));
        }
    }
    wrong
}
