//! Converts API objects to the types that scheduling reads.

use std::sync::Arc;

use coracle_api::core_v1::{self as core, Container, Node, Pod, Taint, Toleration};
use coracle_api::pod_resources::Amounts;
use coracle_api::{NodeTerm, meta_v1};
use coracle_meta::{LabelOperator, LabelRequirement, LabelSelector, Resource};

use crate::needed_features::needed_features;
use crate::node_info::NodeInfo;
use crate::pod_info::{AffinityTerm, Disk, HostPort, PodClaims, PodInfo, PodVolumes, SpreadConstraint};
use crate::resources::{Resources, with_assumed};

/// The scheduling view of a pod. `siblings` selects the pods of its owner and services.
pub fn pod_info(pod: &Pod, siblings: Option<LabelSelector>) -> PodInfo {
    let spec = &pod.spec;
    let affinity = spec.affinity.as_deref();
    let nodes = affinity.and_then(|affinity| affinity.node_affinity.as_deref());
    let near = affinity.and_then(|affinity| affinity.pod_affinity.as_deref());
    let away = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_deref());
    let (requests, assumed) = requests(pod);
    let term = |term: &core::PodAffinityTerm| affinity_term(pod, term);
    let weighted = |sign: i64, terms: &[core::WeightedPodAffinityTerm]| -> Vec<(i64, AffinityTerm)> {
        terms.iter().map(|one| (sign * i64::from(one.weight), term(&one.pod_affinity_term))).collect()
    };
    let preferred_near =
        near.map(|near| weighted(1, &near.preferred_during_scheduling_ignored_during_execution)).unwrap_or_default();
    let preferred_away =
        away.map(|away| weighted(-1, &away.preferred_during_scheduling_ignored_during_execution)).unwrap_or_default();
    PodInfo {
        key: pod.key(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        labels: pod.metadata.labels.clone(),
        priority: spec.priority.unwrap_or(0),
        never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
        terminating: pod.is_terminating(),
        started: pod.status.start_time.clone(),
        node_name: pod.node_name().map(str::to_owned),
        nominated_node: Some(pod.status.nominated_node_name.clone()).filter(|name| !name.is_empty()),
        requests,
        assumed,
        node_selector: spec.node_selector.clone(),
        required_nodes: nodes
            .and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_deref())
            .map(|selector| selector.node_selector_terms.iter().map(NodeTerm::from).collect()),
        preferred_nodes: nodes
            .map(|nodes| &nodes.preferred_during_scheduling_ignored_during_execution)
            .into_iter()
            .flatten()
            .map(|preferred| (i64::from(preferred.weight), NodeTerm::from(&preferred.preference)))
            .collect(),
        tolerations: spec.tolerations.iter().map(toleration).collect(),
        host_ports: spec.containers.iter().flat_map(host_ports).collect(),
        affinity: near
            .map(|near| near.required_during_scheduling_ignored_during_execution.iter().map(term).collect())
            .unwrap_or_default(),
        anti_affinity: away
            .map(|away| away.required_during_scheduling_ignored_during_execution.iter().map(term).collect())
            .unwrap_or_default(),
        preferred_pods: preferred_near.into_iter().chain(preferred_away).collect(),
        spread: spec.topology_spread_constraints.iter().map(|one| spread(pod, one)).collect(),
        names_spread: !spec.topology_spread_constraints.is_empty(),
        siblings,
        needed_features: needed_features(spec),
        images: spec.containers.iter().map(|container| container.image.clone()).collect(),
        disks: spec.volumes.iter().filter_map(disk).collect(),
        inline_drivers: spec.volumes.iter().filter_map(|one| Some(one.csi.as_ref()?.driver.clone())).collect(),
        resource_claims: resource_claims(pod),
        claims: claims_of(pod).map(|(name, _)| name).collect(),
        volumes: PodVolumes::default(),
    }
}

/// The scheduling view of a node, without its pods.
pub fn node_info(node: &Node) -> NodeInfo {
    let images = node.status.images.iter();
    let images = images.flat_map(|image| image.names.iter().map(|name| (name.clone(), image.size_bytes)));
    NodeInfo {
        name: node.metadata.name.as_deref().unwrap_or_default().into(),
        labels: Arc::new(node.metadata.labels.clone()),
        taints: node.spec.taints.iter().map(taint).collect(),
        unschedulable: node.spec.unschedulable,
        allocatable: Resources::of(&node.status.allocatable),
        allowed_pods: node.status.allocatable.get("pods").map_or(0, |pods| pods.value()),
        images: Arc::new(images.collect()),
        declared_features: node.status.declared_features.as_slice().into(),
        ..NodeInfo::default()
    }
}

/// The claims of a pod by name, and whether they are those of ephemeral volumes.
pub(crate) fn claims_of(pod: &Pod) -> impl Iterator<Item = (String, bool)> {
    pod.spec.volumes.iter().filter_map(|volume| match &volume.persistent_volume_claim {
        Some(source) => Some((source.claim_name.clone(), false)),
        None => volume.ephemeral.as_ref().map(|_| (format!("{}-{}", pod.name(), volume.name), true)),
    })
}

/// A disk that two pods cannot use at once. In Kubernetes: `needsRestrictionsCheck`.
fn disk(volume: &core::Volume) -> Option<Disk> {
    let disk = |kind, name: &str, read_only| Disk { kind, name: name.to_owned(), monitors: Vec::new(), read_only };
    if let Some(source) = &volume.gce_persistent_disk {
        return Some(disk("gce", &source.pd_name, source.read_only));
    }
    if let Some(source) = &volume.aws_elastic_block_store {
        // Read-only sharing is not allowed either.
        return Some(disk("aws", &source.volume_id, false));
    }
    if let Some(source) = &volume.iscsi {
        return Some(disk("iscsi", &source.iqn, source.read_only));
    }
    let source = volume.rbd.as_ref()?;
    let name = format!("{}/{}", source.pool, source.image);
    Some(Disk { monitors: source.monitors.clone(), ..disk("rbd", &name, source.read_only) })
}

/// In Kubernetes: `resourceclaim.Name` of `dynamic-resource-allocation`.
fn resource_claims(pod: &Pod) -> PodClaims {
    let mut claims = PodClaims::default();
    for one in &pod.spec.resource_claims {
        if let Some(name) = &one.resource_claim_name {
            claims.names.push((name.clone(), false));
            continue;
        }
        let made = pod.status.resource_claim_statuses.iter().find(|status| status.name == one.name);
        match (made, &one.resource_claim_template_name) {
            // A template may yield no claim; the status then has no name.
            (Some(made), Some(_)) => {
                claims.names.extend(made.resource_claim_name.clone().map(|name| (name, true)));
            }
            (None, Some(_)) => claims.unknown = Some(format!("pod \"{}\": ResourceClaim not created yet", pod.key())),
            (_, None) => {
                let what = format!("spec.resourceClaim {:?}: none of the supported fields are set", one.name);
                claims.unknown = Some(format!("pod \"{}\", {what}", pod.key()));
            }
        }
    }
    claims
}

/// The pod's requests, without and with defaults.
fn requests(pod: &Pod) -> (Resources, Resources) {
    let assumed = pod.requests_with(|container| with_assumed(with_limits(container)));
    (Resources::of(&pod.requests_with(with_limits)), Resources::of(&assumed))
}

/// A limit without a request counts as the request. The API server already defaults it; a mirror pod or an imported
/// object may lack it.
fn with_limits(container: &Container) -> Amounts {
    let mut asked = container.resources.limits.clone();
    asked.extend(container.resources.requests.iter().map(|(name, amount)| (name.clone(), *amount)));
    asked
}

fn host_ports(container: &Container) -> Vec<HostPort> {
    let or = |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
    let wanted = container.ports.iter().filter(|port| port.host_port > 0);
    wanted
        .map(|port| HostPort {
            ip: or(&port.host_ip, "0.0.0.0"),
            protocol: or(&port.protocol, "TCP"),
            port: i64::from(port.host_port),
        })
        .collect()
}

/// Taints that differ only in what does not matter here are equal.
fn taint(taint: &Taint) -> Taint {
    Taint { time_added: None, unknown: None, ..taint.clone() }
}

/// Tolerations that differ only in what does not matter here are equal.
fn toleration(toleration: &Toleration) -> Toleration {
    Toleration { toleration_seconds: None, unknown: None, ..toleration.clone() }
}

/// An absent selector selects nothing, and so does an invalid one, which the API server rejects.
fn selector(selector: Option<&meta_v1::LabelSelector>) -> LabelSelector {
    meta_v1::LabelSelector::of_object(selector)
}

fn affinity_term(pod: &Pod, term: &core::PodAffinityTerm) -> AffinityTerm {
    let own = || vec![pod.metadata.namespace.clone().unwrap_or_default()];
    let only_own = term.namespaces.is_empty() && term.namespace_selector.is_none();
    AffinityTerm {
        namespaces: if only_own { own() } else { term.namespaces.clone() },
        namespace_selector: term.namespace_selector.as_deref().and_then(|selector| selector.to_selector().ok()),
        selector: selector(term.label_selector.as_deref()),
        topology_key: term.topology_key.clone(),
    }
}

fn spread(pod: &Pod, constraint: &core::TopologySpreadConstraint) -> SpreadConstraint {
    let mut selector = selector(constraint.label_selector.as_deref());
    let keys = constraint.match_label_keys.iter();
    selector.requirements.extend(keys.filter_map(|key| {
        let value = pod.metadata.labels.get(key)?;
        Some(LabelRequirement { key: key.clone(), operator: LabelOperator::In, values: vec![value.clone()] })
    }));
    SpreadConstraint {
        max_skew: i64::from(constraint.max_skew),
        topology_key: constraint.topology_key.clone(),
        required: constraint.when_unsatisfiable == "DoNotSchedule",
        selector,
        min_domains: i64::from(constraint.min_domains.unwrap_or(1)),
        honors_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
        honors_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(spec: serde_json::Value) -> PodInfo {
        let pod: Pod = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "p", "namespace": "default", "labels": {"app": "web"}}, "spec": spec,
        }))
        .unwrap();
        pod_info(&pod, None)
    }

    #[test]
    fn containers_add_up_and_one_that_runs_before_them_counts_alone() {
        let container = |cpu: &str| serde_json::json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let pod = read(serde_json::json!({
            "containers": [container("1"), container("500m")],
            "initContainers": [container("2")],
            "overhead": {"cpu": "100m"},
        }));
        assert_eq!(pod.requests.milli_cpu, 2100);
        assert_eq!(pod.assumed.memory, 2 * 200 * 1024 * 1024);
        let sidecar =
            serde_json::json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}});
        let pod =
            read(serde_json::json!({"containers": [container("1")], "initContainers": [sidecar, container("500m")]}));
        assert_eq!(pod.requests.milli_cpu, 2000);
    }

    #[test]
    fn an_affinity_without_namespaces_means_the_pods_own() {
        let pod = read(serde_json::json!({"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "host"}],
        }}}));
        assert_eq!(pod.anti_affinity[0].namespaces, ["default"]);
        assert!(pod.anti_affinity[0].matches(&pod, &std::collections::BTreeMap::new()));
    }
}
