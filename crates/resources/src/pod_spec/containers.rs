//! Containers of all three kinds. In Kubernetes: `validateContainers`, `validateInitContainers`,
//! `validateEphemeralContainers`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use coracle_release::Release;
use serde_json::Value;

use super::amounts::wrong_resources;
use super::claims::claim_names;
use super::environment::wrong_variables;
use super::handlers::{wrong_lifecycle, wrong_probes};
use super::mounts::{Volumes, wrong_mounts};
use super::restart::{wrong_init_restart, wrong_resize_policy, wrong_restart};
use super::security::{uses_host_users, wrong_container_security};
use crate::field_checks::{Wrong, each_invalid, required, required_one_of};

/// The context for the validation of containers.
pub(super) struct Surroundings<'s> {
    volumes: Volumes<'s>,
    /// The names of the resource claims of the pod.
    claims: BTreeSet<&'s str>,
    /// The grace period of the pod, in seconds.
    grace: Option<i64>,
    restart_policy: &'s str,
    host_users: bool,
    release: &'s Release,
}

impl<'s> Surroundings<'s> {
    /// The context of the containers of `spec`; `volumes` are the valid volumes.
    pub(super) fn new(spec: &'s Value, volumes: Volumes<'s>, release: &'s Release) -> Self {
        Self {
            volumes,
            claims: claim_names(spec),
            grace: spec.int_if_set("terminationGracePeriodSeconds"),
            restart_policy: spec.text("restartPolicy"),
            host_users: uses_host_users(spec),
            release,
        }
    }
}

/// The errors of all containers of a specification.
pub(super) fn wrong_containers(spec: &Value, around: &Surroundings<'_>, path: &str) -> Wrong {
    let mut wrong = wrong_main_containers(spec, around, path);
    let mut seen: BTreeSet<&str> = spec.list("containers").iter().map(|container| container.text("name")).collect();
    wrong.extend(wrong_init_containers(spec, around, &mut seen, path));
    wrong.extend(wrong_ephemeral_containers(spec, around, seen, path));
    wrong
}

fn wrong_main_containers(spec: &Value, around: &Surroundings<'_>, path: &str) -> Wrong {
    let containers = spec.list("containers");
    let path = format!("{path}.containers");
    if containers.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, container) in containers.iter().enumerate() {
        let path = format!("{path}[{at}]");
        wrong.extend(wrong_container(container, around, &path));
        if !seen.insert(container.text("name")) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), container.text("name")));
        }
        wrong.extend(wrong_lifecycle(container, around.grace, &path));
        wrong.extend(wrong_probes(container, around.grace, &path));
        wrong.extend(wrong_restart(container, &path, around.release));
    }
    let mut ports = BTreeSet::new();
    for (at, container) in containers.iter().enumerate() {
        wrong.extend(doubled_host_ports(container, &mut ports, &format!("{path}[{at}]")));
    }
    wrong
}

fn wrong_init_containers<'s>(
    spec: &'s Value,
    around: &Surroundings<'_>,
    seen: &mut BTreeSet<&'s str>,
    path: &str,
) -> Wrong {
    let mut wrong = Wrong::new();
    let all = format!("{path}.initContainers");
    for (at, container) in spec.list("initContainers").iter().enumerate() {
        let path = format!("{all}[{at}]");
        wrong.extend(wrong_container(container, around, &path));
        wrong.extend(wrong_init_restart(container, &path, around.release));
        let name = container.text("name");
        if seen.contains(name) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), name));
        } else if !name.is_empty() {
            seen.insert(name);
        }
        // Kubernetes validates the containers separately, so that each one is the first.
        wrong.extend(doubled_host_ports(container, &mut BTreeSet::new(), &format!("{all}[0]")));
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
    mut seen: BTreeSet<&'s str>,
    path: &str,
) -> Wrong {
    const WHAT: &str = "cannot be set for an Ephemeral Container";
    const FORBIDDEN: [&str; 9] = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let init = spec.list("initContainers").iter().map(|container| container.text("name"));
    seen.extend(init);
    let others = seen.clone();
    let mut wrong = Wrong::new();
    for (at, container) in spec.list("ephemeralContainers").iter().enumerate() {
        let path = format!("{path}.ephemeralContainers[{at}]");
        wrong.extend(wrong_container(container, around, &path));
        wrong.extend(padded_image(container, &path));
        if !seen.insert(container.text("name")) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), container.text("name")));
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            wrong.push(FieldError::not_found(format!("{path}.targetContainerName"), target));
        }
        let is_set = |field: &str| match container.at(field) {
            Value::Null => false,
            // A struct in Go, and not a pointer to one.
            Value::Object(tree) if field == "resources" => tree.values().any(|value| !value.is_null()),
            _ => true,
        };
        let set = FORBIDDEN.into_iter().filter(|field| is_set(field));
        wrong.extend(set.map(|field| FieldError::forbidden(format!("{path}.{field}"), WHAT)));
        for (at, mount) in container.list("volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !mount.text(field).is_empty() {
                    wrong.push(FieldError::forbidden(format!("{path}.volumeMounts[{at}].{field}"), WHAT));
                }
            }
        }
    }
    wrong
}

/// The image of a container in a pod, as opposed to a template. In Kubernetes: `validateContainerOnlyForPod`.
pub(super) fn padded_image(container: &Value, path: &str) -> Option<FieldError> {
    let image = container.text("image");
    let what = "must not have leading or trailing whitespace";
    (image.trim() != image).then(|| FieldError::invalid(format!("{path}.image"), image, what))
}

/// The errors of a container of any kind. In Kubernetes: `validateContainerCommon`.
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
    wrong.extend(wrong_resize_policy(container, around.restart_policy, path, around.release));
    let security = container.at("securityContext");
    wrong.extend(wrong_container_security(security, around.host_users, &format!("{path}.securityContext")));
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
