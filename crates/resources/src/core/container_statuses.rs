//! Validates the statuses of a pod's containers.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_release::Release;
use serde_json::Value;

use crate::field_checks::{Wrong, one_of};

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
    /// Invalid devices of containers.
    pub(super) devices: Wrong,
}

/// Validates the statuses of all containers of a pod.
pub(super) fn wrong_container_statuses(new: &Object, old: &Object, release: &Release) -> WrongStatuses {
    let spec = new.at("spec");
    let mut transitions = Wrong::new();
    for (statuses, containers) in LISTS {
        let path = format!("status.{statuses}");
        let (new, old) = (new.at("status").list(statuses), old.at("status").list(statuses));
        transitions.extend(wrong_transitions(new, old, spec, containers, &path));
    }
    let mut users = Wrong::new();
    for (statuses, _) in LISTS {
        users.extend(wrong_users(new.at("status").list(statuses), spec, &format!("status.{statuses}"), release));
    }
    let mut devices = Wrong::new();
    for (list, containers) in LISTS {
        let path = format!("status.{list}");
        let (statuses, containers) = (new.at("status").list(list), spec.list(containers));
        devices.extend(if list == "ephemeralContainerStatuses" {
            devices_of_ephemeral_containers(statuses, &path)
        } else {
            wrong_devices(statuses, containers, &path, release)
        });
    }
    WrongStatuses { transitions, users, devices }
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
fn wrong_users(statuses: &[Value], spec: &Value, path: &str, release: &Release) -> Wrong {
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
        let most = i64::from(i32::MAX);
        let mut id = |path: String, value: i64, most: i64| {
            if !(0..=most).contains(&value) {
                wrong.push(FieldError::invalid(path, value, format!("must be between 0 and {most}, inclusive")));
            }
        };
        let most_users = if release.has("UsersOfContainersAreUnsigned") { i64::from(u32::MAX) } else { most };
        id(format!("{path}.uid"), user.int("uid"), most_users);
        id(format!("{path}.gid"), user.int("gid"), most);
        for (at, group) in user.list("supplementalGroups").iter().enumerate() {
            id(format!("{path}.supplementalGroups[{at}]"), group.as_i64().unwrap_or_default(), most);
        }
    }
    wrong
}

/// In Kubernetes: `validateContainerStatusNoAllocatedResourcesStatus`.
fn devices_of_ephemeral_containers(statuses: &[Value], path: &str) -> Wrong {
    let with = statuses.iter().enumerate().filter(|(_, status)| !status.list(DEVICES).is_empty());
    let what = "must not be specified in container status";
    with.map(|(at, _)| FieldError::forbidden(format!("{path}[{at}].{DEVICES}"), what)).collect()
}

const DEVICES: &str = "allocatedResourcesStatus";

/// In Kubernetes: `validateContainerStatusAllocatedResourcesStatus`.
fn wrong_devices(statuses: &[Value], containers: &[Value], path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, status) in statuses.iter().enumerate() {
        let container = containers.iter().find(|container| container.text("name") == status.text("name"));
        for (device_at, device) in status.list(DEVICES).iter().enumerate() {
            let path = format!("{path}[{at}].{DEVICES}[{device_at}]");
            let what = container.and_then(|container| unknown_device(device.text("name"), container, release));
            wrong.extend(what.map(|what| FieldError::invalid(format!("{path}.name"), device.text("name"), what)));
            wrong.extend(wrong_health(device.list("resources"), &path));
        }
    }
    wrong
}

/// Why a name is not that of a resource of a container.
fn unknown_device(name: &str, container: &Value, release: &Release) -> Option<&'static str> {
    let Some(claim) = name.strip_prefix("claim:") else {
        let is_known = container.entries("resources.requests").any(|(resource, _)| resource == name);
        return (!is_known).then_some("must match one of the container's resource requests");
    };
    let claims = container.list("resources.claims").iter();
    let is_known = claims.map(|own| (own.text("name"), own.text("request"))).any(|own| match own {
        (own, "") => claim == own,
        (own, request) => claim.strip_prefix(own).and_then(|rest| rest.strip_prefix('/')) == Some(request),
    });
    let what = if release.has("StatusesKeepClaims") {
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
    } else {
        "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
    };
    (!is_known).then_some(what)
}

fn wrong_health(resources: &[Value], path: &str) -> Wrong {
    const LONGEST_MESSAGE: usize = 1024;
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, resource) in resources.iter().enumerate() {
        let own = format!("{path}.resources[{at}]");
        let path = |field: &str| format!("{own}.{field}");
        wrong.extend(one_of(resource, "health", &own, &["Healthy", "Unhealthy", "Unknown"]));
        match resource.at("message").as_str() {
            Some("") => wrong.push(FieldError::required(path("message"), "must be non-empty if specified")),
            Some(text) if text.len() > LONGEST_MESSAGE => {
                wrong.push(FieldError::too_long(path("message"), LONGEST_MESSAGE));
            }
            _ => {}
        }
        let id = resource.text("resourceID");
        if !seen.insert(id) {
            wrong.push(FieldError::duplicate(path("resourceID"), id));
        }
    }
    wrong
}
