//! Validates the statuses of a pod's containers.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::field_checks::Wrong;

/// Each list of statuses with its list of containers.
const LISTS: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

/// The errors, in the two parts in which Kubernetes reports them.
pub(super) struct WrongStatuses {
    /// Terminated containers that must not run again.
    pub(super) transitions: Wrong,
    /// Invalid users of containers.
    pub(super) users: Wrong,
}

/// Validates the statuses of all containers of a pod.
pub(super) fn wrong_container_statuses(new: &Object, old: &Object) -> WrongStatuses {
    let spec = new.at("spec");
    let mut transitions = Wrong::new();
    for (statuses, containers) in LISTS {
        let path = format!("status.{statuses}");
        let (new, old) = (new.at("status").list(statuses), old.at("status").list(statuses));
        transitions.extend(wrong_transitions(new, old, spec, containers, &path));
    }
    let mut users = Wrong::new();
    for (statuses, _) in LISTS {
        users.extend(wrong_users(new.at("status").list(statuses), spec, &format!("status.{statuses}")));
    }
    WrongStatuses { transitions, users }
}

/// In Kubernetes: `ValidateContainerStateTransition` and its siblings.
fn wrong_transitions(new: &[Value], old: &[Value], spec: &Value, containers: &str, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let now = new.iter().filter(|now| !now.at("state").has("terminated"));
    let running: BTreeSet<&str> = now.map(|now| now.text("name")).collect();
    // The first of two containers with the same name counts.
    let of_spec = spec.list(containers).iter().rev();
    let of_spec: BTreeMap<&str, &Value> = of_spec.map(|container| (container.text("name"), container)).collect();
    for (at, before) in old.iter().enumerate() {
        let ended = before.at("state.terminated");
        let name = before.text("name");
        let runs_again = running.contains(name);
        if ended.is_null() || !runs_again {
            continue;
        }
        let container = of_spec.get(name).copied();
        let may_restart = containers != "ephemeralContainers"
            && container.is_some_and(|container| restarts(container, spec, ended.int("exitCode")));
        if !may_restart {
            let what = "may not be transitioned to non-terminated state";
            wrong.push(FieldError::forbidden(format!("{path}[{at}].state"), what));
        }
    }
    wrong
}

/// Whether a container that terminated with a code is restarted. In Kubernetes: `ContainerShouldRestart`.
fn restarts(container: &Value, spec: &Value, code: i64) -> bool {
    let by_policy = |policy: &str| match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    };
    let own = container.text("restartPolicy");
    if own.is_empty() {
        return by_policy(spec.text("restartPolicy"));
    }
    let matches = |rule: &&Value| {
        let codes = rule.at("exitCodes");
        let listed = codes.list("values").iter().any(|value| value.as_i64() == Some(code));
        match codes.text("operator") {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        }
    };
    let rule = container.list("restartPolicyRules").iter().find(matches);
    rule.is_some_and(|rule| rule.text("action") == "Restart") || by_policy(own)
}

/// In Kubernetes: `validateContainerStatusUsers`.
fn wrong_users(statuses: &[Value], spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, status) in statuses.iter().enumerate() {
        let user = status.at("user.linux");
        if user.is_null() {
            continue;
        }
        let path = format!("{path}[{at}].user.linux");
        if spec.text("os.name") == "windows" {
            wrong.push(FieldError::forbidden(path, "cannot be set for a windows pod"));
            continue;
        }
        let mut id = |path: String, value: i64| {
            if !(0..=i64::from(i32::MAX)).contains(&value) {
                wrong.push(FieldError::invalid(path, value, "must be between 0 and 2147483647, inclusive"));
            }
        };
        id(format!("{path}.uid"), user.int("uid"));
        id(format!("{path}.gid"), user.int("gid"));
        for (at, group) in user.list("supplementalGroups").iter().enumerate() {
            id(format!("{path}.supplementalGroups[{at}]"), group.as_i64().unwrap_or_default());
        }
    }
    wrong
}
