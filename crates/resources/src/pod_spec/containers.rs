//! Containers of all three kinds. In Kubernetes: `validateContainers`, `validateInitContainers`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::amounts::wrong_resources;
use super::environment::wrong_variables;
use super::handlers::{wrong_lifecycle, wrong_probes};
use super::volumes::{Volumes, wrong_mounts};
use crate::field_checks::{Wrong, each_invalid, required, required_one_of};

/// What containers are checked against.
pub(super) struct Surroundings<'s> {
    /// The volumes that are fine.
    pub(super) volumes: Volumes<'s>,
    /// The names of the resource claims of the pod.
    pub(super) claims: BTreeSet<&'s str>,
    /// How long the pod may take to stop.
    pub(super) grace: Option<i64>,
}

/// What is wrong with all containers of a specification.
pub(super) fn wrong_containers(spec: &Value, around: &Surroundings<'_>, path: &str) -> Wrong {
    let containers = spec.list("containers");
    if containers.is_empty() {
        return vec![FieldError::required(format!("{path}.containers"), "")];
    }
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    let mut ports = BTreeSet::new();
    for (at, container) in containers.iter().enumerate() {
        let path = format!("{path}.containers[{at}]");
        wrong.extend(wrong_container(container, around, &path));
        if !seen.insert(container.text("name")) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), container.text("name")));
        }
        wrong.extend(wrong_lifecycle(container, around.grace, &path));
        wrong.extend(wrong_probes(container, around.grace, &path));
        wrong.extend(wrong_restart_policy(container, &["Always", "Never", "OnFailure"], &path));
        wrong.extend(doubled_host_ports(container, &mut ports, &path));
    }
    wrong.extend(wrong_init_containers(spec, around, &mut seen, path));
    wrong.extend(wrong_ephemeral_containers(spec, around, &mut seen, path));
    wrong
}

fn wrong_init_containers<'s>(
    spec: &'s Value,
    around: &Surroundings<'_>,
    seen: &mut BTreeSet<&'s str>,
    path: &str,
) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, container) in spec.list("initContainers").iter().enumerate() {
        let path = format!("{path}.initContainers[{at}]");
        wrong.extend(wrong_container(container, around, &path));
        if !seen.insert(container.text("name")) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), container.text("name")));
        }
        wrong.extend(wrong_restart_policy(container, &["Always", "Never", "OnFailure"], &path));
        wrong.extend(doubled_host_ports(container, &mut BTreeSet::new(), &path));
        if container.text("restartPolicy") == "Always" {
            wrong.extend(wrong_lifecycle(container, around.grace, &path));
            wrong.extend(wrong_probes(container, around.grace, &path));
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.has(field) {
                let what = "may not be set for init containers without restartPolicy=Always";
                wrong.push(FieldError::forbidden(format!("{path}.{field}"), what));
            }
        }
    }
    wrong
}

fn wrong_ephemeral_containers<'s>(
    spec: &'s Value,
    around: &Surroundings<'_>,
    seen: &mut BTreeSet<&'s str>,
    path: &str,
) -> Wrong {
    const FORBIDDEN: [&str; 8] = [
        "ports",
        "resources",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
        "resizePolicy",
        "restartPolicy",
    ];
    let others = seen.clone();
    let mut wrong = Wrong::new();
    for (at, container) in spec.list("ephemeralContainers").iter().enumerate() {
        let path = format!("{path}.ephemeralContainers[{at}]");
        wrong.extend(wrong_container(container, around, &path));
        if !seen.insert(container.text("name")) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), container.text("name")));
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            wrong.push(FieldError::not_found(format!("{path}.targetContainerName"), target));
        }
        for field in FORBIDDEN {
            let value = container.at(field);
            let is_set = !value.is_null() && value.as_object().is_none_or(|tree| !tree.is_empty());
            if is_set {
                wrong
                    .push(FieldError::forbidden(format!("{path}.{field}"), "cannot be set for an Ephemeral Container"));
            }
        }
        for (at, mount) in container.list("volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !mount.text(field).is_empty() {
                    let path = format!("{path}.volumeMounts[{at}].{field}");
                    wrong.push(FieldError::forbidden(path, "cannot be set for an Ephemeral Container"));
                }
            }
        }
    }
    wrong
}

fn wrong_restart_policy(container: &Value, words: &[&str], path: &str) -> Wrong {
    let policy = container.at("restartPolicy").as_str();
    match policy {
        None => Wrong::new(),
        Some(policy) if words.contains(&policy) => Wrong::new(),
        Some(policy) => vec![FieldError::not_supported(format!("{path}.restartPolicy"), policy, words)],
    }
}

/// What is wrong with a container of any kind. In Kubernetes: `validateContainerCommon`.
fn wrong_container(container: &Value, around: &Surroundings<'_>, path: &str) -> Wrong {
    let name = container.text("name");
    let mut wrong = required(container, "name", path);
    if wrong.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_label(name)));
    }
    wrong.extend(required(container, "image", path));
    let policies = ["File", "FallbackToLogsOnError"];
    wrong.extend(required_one_of(container, "terminationMessagePolicy", path, &policies));
    wrong.extend(wrong_ports(container, path));
    wrong.extend(wrong_variables(container, path));
    wrong.extend(wrong_mounts(container, &around.volumes, path));
    wrong.extend(required_one_of(container, "imagePullPolicy", path, &["Always", "IfNotPresent", "Never"]));
    wrong.extend(wrong_resources(container.at("resources"), &around.claims, &format!("{path}.resources")));
    wrong.extend(wrong_security(container.at("securityContext"), &format!("{path}.securityContext")));
    wrong
}

fn wrong_ports(container: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, port) in container.list("ports").iter().enumerate() {
        let path = format!("{path}.ports[{at}]");
        let name = port.text("name");
        if !name.is_empty() {
            let own = each_invalid(&format!("{path}.name"), name, names::port_name(name));
            if own.is_empty() && !seen.insert(name) {
                wrong.push(FieldError::duplicate(format!("{path}.name"), name));
            }
            wrong.extend(own);
        }
        if port.int("containerPort") == 0 {
            wrong.push(FieldError::required(format!("{path}.containerPort"), ""));
        }
        for field in ["containerPort", "hostPort"] {
            let number = port.int(field);
            if number != 0 {
                let sentences = names::port_number(number);
                wrong.extend(
                    sentences.into_iter().map(|what| FieldError::invalid(format!("{path}.{field}"), number, what)),
                );
            }
        }
        wrong.extend(required_one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"]));
    }
    wrong
}

fn doubled_host_ports(container: &Value, seen: &mut BTreeSet<String>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, port) in container.list("ports").iter().enumerate() {
        let number = port.int("hostPort");
        let text = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
        if number != 0 && !seen.insert(text.clone()) {
            wrong.push(FieldError::duplicate(format!("{path}.ports[{at}].hostPort"), text));
        }
    }
    wrong
}

/// In Kubernetes: `ValidateSecurityContext`.
fn wrong_security(security: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for field in ["runAsUser", "runAsGroup"] {
        if let Some(id) = security.int_if_set(field) {
            let sentences = names::in_range(id, 0, i64::from(i32::MAX));
            wrong.extend(sentences.into_iter().map(|what| FieldError::invalid(format!("{path}.{field}"), id, what)));
        }
    }
    if security.at("allowPrivilegeEscalation").as_bool() == Some(false) {
        if security.flag("privileged") {
            wrong.push(FieldError::invalid(
                path,
                security.clone(),
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            ));
        }
        if security.list("capabilities.add").iter().any(|name| name == "CAP_SYS_ADMIN" || name == "SYS_ADMIN") {
            wrong.push(FieldError::invalid(
                path,
                security.clone(),
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
            ));
        }
    }
    wrong
}
