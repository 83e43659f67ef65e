//! Validates the spec of a pod, in a pod or in a template. In Kubernetes: `ValidatePodSpec`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use coracle_release::Release;
use serde_json::Value;

use super::amounts::wrong_overhead;
use super::annotations::wrong_annotations;
use super::claims::{claim_names, wrong_pod_claims};
use super::containers::{Surroundings, padded_image, wrong_containers};
use super::environment::wrong_variable_volumes;
use super::host_names::{wrong_aliases, wrong_dns, wrong_override};
use super::operating_system::wrong_operating_system;
use super::placement::{wrong_affinity, wrong_spread, wrong_tolerations};
use super::pod_amounts::wrong_pod_resources;
use super::profiles::wrong_pairs;
use super::security::{wrong_host_users, wrong_pod_security};
use super::volumes::volumes;
use super::windows::wrong_host_process;
use crate::field_checks::{Wrong, annotations, each_invalid, labels, required_one_of};

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const PREEMPTION_POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];

/// The errors of a spec. `metadata` is the pod's, `None` for a template.
fn wrong_spec(spec: &Value, metadata: Option<&Value>, path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    if spec.int_if_set("terminationGracePeriodSeconds").is_none() {
        wrong.push(FieldError::required(format!("{path}.terminationGracePeriodSeconds"), ""));
    }
    let (fine, wrong_volumes) = volumes(spec, metadata, path);
    wrong.extend(wrong_volumes);
    wrong.extend(wrong_pod_claims(spec, metadata, path));
    wrong.extend(wrong_containers(spec, &Surroundings::new(spec, fine, release), path));
    wrong.extend(wrong_pod_resources(spec, &claim_names(spec), path));
    wrong.extend(wrong_host_ports(spec, metadata.is_some(), path));
    wrong.extend(required_one_of(spec, "restartPolicy", path, &RESTART_POLICIES));
    wrong.extend(required_one_of(spec, "dnsPolicy", path, &DNS_POLICIES));
    wrong.extend(labels(spec.at("nodeSelector"), &format!("{path}.nodeSelector")));
    wrong.extend(wrong_pod_security(spec, path));
    wrong.extend(wrong_affinity(spec.at("affinity"), &format!("{path}.affinity")));
    wrong.extend(wrong_dns(spec, path, release));
    wrong.extend(wrong_gates(spec, path));
    wrong.extend(wrong_spread(spec, path));
    wrong.extend(wrong_host_process(spec, path));
    wrong.extend(wrong_host_users(spec, path));
    wrong.extend(wrong_override(spec, path));
    wrong.extend(wrong_name(spec, "serviceAccountName", names::dns1123_subdomain, path));
    wrong.extend(wrong_name(spec, "nodeName", names::dns1123_subdomain, path));
    if let Some(seconds) = spec.int_if_set("activeDeadlineSeconds") {
        let sentences = names::in_range(seconds, 1, i64::from(i32::MAX));
        let path = format!("{path}.activeDeadlineSeconds");
        wrong.extend(sentences.into_iter().map(|what| FieldError::invalid(&path, seconds, what)));
    }
    wrong.extend(wrong_name(spec, "hostname", names::dns1123_label, path));
    wrong.extend(wrong_name(spec, "subdomain", names::dns1123_label, path));
    wrong.extend(wrong_tolerations(spec.list("tolerations"), &format!("{path}.tolerations")));
    wrong.extend(wrong_aliases(spec, path, release));
    wrong.extend(wrong_name(spec, "priorityClassName", names::dns1123_subdomain, path));
    if let Some(name) = spec.at("runtimeClassName").as_str() {
        wrong.extend(each_invalid(&format!("{path}.runtimeClassName"), name, names::dns1123_subdomain(name)));
    }
    if spec.has("preemptionPolicy") {
        wrong.extend(required_one_of(spec, "preemptionPolicy", path, &PREEMPTION_POLICIES));
    }
    if spec.has("overhead") {
        wrong.extend(wrong_overhead(spec.at("overhead"), &format!("{path}.overhead")));
    }
    wrong.extend(wrong_operating_system(spec, path));
    wrong.extend(wrong_variable_volumes(spec, path));
    wrong
}

/// The errors of the pod-specific metadata and of the spec of a pod.
/// In Kubernetes: `validatePodMetadataAndSpec`.
pub(crate) fn wrong_pod(metadata: &Value, spec: &Value, release: &Release) -> Wrong {
    let mut wrong = wrong_annotations(metadata.at("annotations"), spec, "metadata.annotations");
    wrong.extend(wrong_spec(spec, Some(metadata), "spec", release));
    if spec.text("serviceAccountName").is_empty() {
        for (at, volume) in spec.list("volumes").iter().enumerate() {
            for (source_at, source) in volume.list("projected.sources").iter().enumerate() {
                if source.has("serviceAccountToken") {
                    let path = format!("spec.volumes[{at}].projected.sources[{source_at}].serviceAccountToken");
                    let what = "must not be specified when serviceAccountName is not set";
                    wrong.push(FieldError::forbidden(path, what));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        let containers = spec.list(list).iter().enumerate();
        wrong.extend(containers.filter_map(|(at, container)| padded_image(container, &format!("spec.{list}[{at}]"))));
    }
    wrong
}

/// The additional errors of a new pod. In Kubernetes: `ValidatePodCreate`.
pub(crate) fn wrong_new_pod(metadata: &Value, spec: &Value) -> Wrong {
    let mut wrong = Wrong::new();
    if !spec.list("ephemeralContainers").is_empty() {
        wrong.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
    }
    if !spec.text("nodeName").is_empty() && !spec.list("schedulingGates").is_empty() {
        let what = "cannot be set until all schedulingGates have been cleared";
        wrong.push(FieldError::forbidden("spec.nodeName", what));
    }
    wrong.extend(wrong_pairs(metadata, spec, "spec"));
    wrong
}

/// The errors of a template. In Kubernetes: `ValidatePodTemplateSpec`.
pub(crate) fn wrong_template(template: &Value, path: &str, release: &Release) -> Wrong {
    let (metadata, spec) = (template.at("metadata"), template.at("spec"));
    let spec_path = format!("{path}.spec");
    let mut wrong = labels(metadata.at("labels"), &format!("{path}.labels"));
    wrong.extend(annotations(metadata.at("annotations"), &format!("{path}.annotations")));
    wrong.extend(wrong_annotations(metadata.at("annotations"), spec, &format!("{path}.annotations")));
    wrong.extend(wrong_spec(spec, None, &spec_path, release));
    wrong.extend(wrong_pairs(metadata, spec, &spec_path));
    if !spec.list("ephemeralContainers").is_empty() {
        let path = format!("{spec_path}.ephemeralContainers");
        wrong.push(FieldError::forbidden(path, "ephemeral containers not allowed in pod template"));
    }
    wrong
}

/// The errors of the template of a kind whose pods run forever.
pub(crate) fn wrong_lasting_template(template: &Value, path: &str, kind: &str, release: &Release) -> Wrong {
    let mut wrong = wrong_template(template, path, release);
    let policy = template.text("spec.restartPolicy");
    if policy != "Always" {
        wrong.push(FieldError::not_supported(format!("{path}.spec.restartPolicy"), policy, &["Always"]));
    }
    if template.has("spec.activeDeadlineSeconds") {
        let what = format!("activeDeadlineSeconds in {kind} is not Supported");
        wrong.push(FieldError::forbidden(format!("{path}.spec.activeDeadlineSeconds"), what));
    }
    wrong
}

/// In the host network, a container port must equal its host port; a template can omit the host port.
fn wrong_host_ports(spec: &Value, is_pod: bool, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if !spec.flag("hostNetwork") {
        return wrong;
    }
    for (at, container) in spec.list("containers").iter().enumerate() {
        for (port_at, port) in container.list("ports").iter().enumerate() {
            let (host, own) = (port.int("hostPort"), port.int("containerPort"));
            if (is_pod || host != 0) && host != own {
                let path = format!("{path}.containers[{at}].ports[{port_at}].hostPort");
                wrong.push(FieldError::invalid(path, host, "must match `containerPort` when `hostNetwork` is true"));
            }
        }
    }
    wrong
}

fn wrong_gates(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, gate) in spec.list("readinessGates").iter().enumerate() {
        let kind = gate.text("conditionType");
        let path = format!("{path}.readinessGates[{at}].conditionType");
        wrong.extend(each_invalid(&path, kind, names::qualified_name(kind)));
    }
    let mut seen = BTreeSet::new();
    for (at, gate) in spec.list("schedulingGates").iter().enumerate() {
        let name = gate.text("name");
        let path = format!("{path}.schedulingGates[{at}]");
        wrong.extend(each_invalid(&path, name, names::qualified_name(name)));
        if !seen.insert(name) {
            wrong.push(FieldError::duplicate(path, name));
        }
    }
    wrong
}

/// An optional name.
fn wrong_name(spec: &Value, field: &str, rule: fn(&str) -> Vec<String>, path: &str) -> Wrong {
    match spec.text(field) {
        "" => Wrong::new(),
        name => each_invalid(&format!("{path}.{field}"), name, rule(name)),
    }
}
