use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{Object, format_time};
use coracle_registry::{KindSpec, Request, Subresource, restore};
use coracle_release::Release;
use serde_json::{Value, json};

use super::binding::Binding;
use super::pod_connect::{Log, NoProxy, Stream};
use super::pod_views::{EphemeralContainers, Resize};
use super::{pod_resources, pod_status, pod_table, pod_validation};
use crate::built_in::built_in;
use crate::pod_spec;
use crate::policy::eviction::Eviction;

/// `pods`. In Kubernetes: `pkg/registry/core/pod`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults,
        prepare_create,
        prepare_update: |new, old, _, release| pod_spec::drop_disabled(new, Some(old), "spec", release),
        validate: |object, release| pod_spec::wrong_pod(object.at("metadata"), object.at("spec"), release),
        validate_create: |object, _| pod_spec::wrong_new_pod(object.at("metadata"), object.at("spec")),
        validate_change: |new, old, _| pod_validation::wrong_change(new, old),
        warnings,
        reset_by_status: &["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
        prepare_status,
        validate_status: pod_status::wrong_status,
        selectable: Some(&[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ]),
        indexed: &["spec.nodeName"],
        field,
        columns: pod_table::columns(),
        row_conditions: pod_table::row_conditions,
        subresources: vec![
            Subresource::Action(Arc::new(Binding)),
            Subresource::Action(Arc::new(Eviction)),
            Subresource::View(Arc::new(EphemeralContainers { release: release.clone() })),
            Subresource::View(Arc::new(Resize { release: release.clone() })),
            Subresource::Connect(Arc::new(Log)),
            Subresource::Connect(Arc::new(Stream::EXEC)),
            Subresource::Connect(Arc::new(Stream::ATTACH)),
            Subresource::Connect(Arc::new(Stream::PORT_FORWARD)),
            Subresource::Connect(Arc::new(NoProxy)),
        ],
        grace_period,
        ..built_in(release, "", "v1", "pods")
    }
}

fn set_defaults(object: &mut Object, release: &Release) {
    edit_spec(object, |spec| {
        for list in ["containers", "initContainers"] {
            spec.each_in(list, |container| {
                if let Some(resources) = container.object_in("resources") {
                    requests_from_limits(resources);
                }
            });
        }
        if !release.enabled(pod_resources::FILLED_WHEN_STORED) {
            pod_resources::fill_pod_level(spec);
        }
        spec.fill("enableServiceLinks", true);
        // Only in a pod, not in a template. In Kubernetes: `Convert_v1_Pod_To_core_Pod`.
        if spec.int("terminationGracePeriodSeconds") < 0 {
            spec.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
        }
        if spec.flag("hostNetwork") {
            for list in ["containers", "initContainers"] {
                spec.each_in(list, |container| container.each_in("ports", host_port_from_container_port));
            }
        }
    });
    object.edit(|tree| {
        if let Some(status) = tree.object_in("status") {
            align_addresses(status, "podIP", "podIPs");
        }
    });
}

/// A missing request defaults to the limit.
fn requests_from_limits(resources: &mut Tree) {
    let Some(limits) = resources.at("limits").as_object().cloned() else { return };
    if let Some(requests) = resources.object_made("requests") {
        limits.into_iter().for_each(|(resource, amount)| requests.fill(&resource, amount));
    }
}

fn host_port_from_container_port(port: &mut Tree) {
    let number = port.int("containerPort");
    port.fill_zero("hostPort", number);
}

/// The single address is the first one of the list; if they differ, the single address counts.
fn align_addresses(status: &mut Tree, single: &str, list: &str) {
    let first = status.list(list).first().map(|address| address.text("ip").to_owned()).unwrap_or_default();
    let own = status.text(single).to_owned();
    if own.is_empty() && !first.is_empty() {
        status.insert(single.to_owned(), first.into());
    } else if own != first {
        status.insert(list.to_owned(), json!([{"ip": own}]));
    }
}

fn prepare_create(object: &mut Object, request: &Request, release: &Release) {
    if release.enabled(pod_resources::FILLED_WHEN_STORED) {
        edit_spec(object, pod_resources::fill_stored_pod_level);
    }
    let mut status = json!({"phase": "Pending", "qosClass": coracle_api::pod_resources::quality_of_service(object)});
    if !object.list("spec.schedulingGates").is_empty() {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": format_time(request.now),
        }]);
    }
    object.set("status", status);
    pod_spec::drop_disabled(object, None, "spec", release);
    let labels = object.labels();
    edit_spec(object, |spec| pod_spec::merge_label_keys(spec, &labels));
    pod_spec::align_app_armor(object).into_iter().for_each(|warning| request.warnings.add(warning));
}

/// Keeps the QoS class, and the observed generations of conditions.
fn prepare_status(new: &mut Object, old: &Object, _request: &Request, release: &Release) {
    for path in ["status.qosClass", "status.observedGeneration"] {
        if matches!(new.at(path), Value::Null) || new.at(path) == 0 || new.at(path) == "" {
            restore(new, old, path);
        }
    }
    if !release.enabled("ResourceHealthStatus") {
        coracle_meta::fields::edit_at(new, "status", |status| {
            for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
                status.each_in(list, |container| drop(container.remove("allocatedResourcesStatus")));
            }
        });
    }
    if release.has("StatusesKeepClaims") {
        for path in ["status.resourceClaimStatuses", "status.extendedResourceClaimStatus"] {
            if new.at(path).is_null() {
                restore(new, old, path);
            }
        }
    }
    // Several conditions may have one type: their order distinguishes them.
    let mut before: BTreeMap<&str, VecDeque<i64>> = BTreeMap::new();
    for condition in old.list("status.conditions") {
        before.entry(condition.text("type")).or_default().push_back(condition.int("observedGeneration"));
    }
    let mut generation_of = |kind: &str| before.get_mut(kind)?.pop_front();
    coracle_meta::fields::edit_at(new, "status", |status| {
        status.each_in("conditions", |condition| {
            if let Some(generation @ 1..) = generation_of(condition.text("type"))
                && condition.int("observedGeneration") == 0
            {
                condition.insert("observedGeneration".to_owned(), generation.into());
            }
        });
    });
}

fn warnings(new: &Object, old: Option<&Object>, release: &Release) -> Vec<String> {
    if old.is_some() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    warnings.extend(pod_spec::name_warning(new.name(), "the Pod's hostname"));
    warnings.extend(pod_spec::warnings(new.at("metadata"), new.at("spec"), "", release));
    warnings
}

fn field(object: &Object, name: &str) -> Option<String> {
    match name {
        "spec.hostNetwork" => Some(object.flag("spec.hostNetwork").to_string()),
        "status.podIP" | "status.podIPs" => {
            Some(object.list("status.podIPs").first().map_or("", |ip| ip.text("ip")).to_owned())
        }
        _ => None,
    }
}

/// The grace period of the request or the pod; zero if no container runs.
fn grace_period(object: &Object, requested: Option<i64>) -> Option<i64> {
    let wanted = requested.unwrap_or_else(|| object.int("spec.terminationGracePeriodSeconds"));
    let is_placed = !object.text("spec.nodeName").is_empty();
    let has_ended = matches!(object.text("status.phase"), "Succeeded" | "Failed");
    match (is_placed && !has_ended, wanted) {
        (false, _) => Some(0),
        (true, ..0) => Some(1),
        (true, wanted) => Some(wanted),
    }
}
