//! Restarts of containers. In Kubernetes: `validateContainerRestartPolicy`, `validateResizePolicy`.

use std::collections::BTreeSet;

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::field_checks::{Wrong, required_one_of};

/// The errors of the restart policy and the restart rules of a container.
pub(super) fn wrong_restart(container: &Value, path: &str) -> Wrong {
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
        wrong.push(FieldError::too_long(format!("{path}.restartPolicyRules"), 20));
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("{path}.restartPolicyRules[{at}]");
        let action = rule.text("action");
        if action != "Restart" {
            wrong.push(FieldError::not_supported(format!("{path}.action"), action, &["Restart"]));
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
            wrong.push(FieldError::too_long(format!("{path}.values"), 255));
        }
    }
    wrong
}

fn needs_policy(path: &str) -> FieldError {
    FieldError::required(format!("{path}.restartPolicy"), "must specify restartPolicy when restart rules are used")
}

/// The same for an init container. In Kubernetes: `validateInitContainerRestartPolicy`.
pub(super) fn wrong_init_restart(container: &Value, path: &str) -> Wrong {
    let has_rules = !container.list("restartPolicyRules").is_empty();
    match container.at("restartPolicy").as_str() {
        None if has_rules => vec![needs_policy(path)],
        Some("Always") if has_rules => {
            let what = "restartPolicyRules are not allowed for init containers with restart policy Always";
            vec![FieldError::forbidden(format!("{path}.restartPolicyRules"), what)]
        }
        None | Some("Always") => Wrong::new(),
        Some(_) => wrong_restart(container, path),
    }
}

/// The errors of the resize policy of a container in a pod with the restart policy `of_pod`.
pub(super) fn wrong_resize_policy(container: &Value, of_pod: &str, path: &str) -> Wrong {
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
            let what = "must be 'NotRequired' when `restartPolicy` is 'Never'";
            wrong.push(FieldError::invalid(&path, restart, what));
        }
    }
    wrong
}
