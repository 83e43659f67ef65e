//! Builds the pod for one node from a set's template, and finds the node that a pod is for.

use coracle_api::apps_v1::DaemonSet;
use coracle_api::core_v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, PodTemplateSpec, Toleration,
};
use coracle_controller_runtime::ReconcileError;

use crate::pods::new_pod;

/// The label with the hash of a pod's or a revision's template.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";
/// The older label, with a generation that the API server increments.
const GENERATION_LABEL: &str = "pod-template-generation";
/// The annotation of a set with that generation.
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// The field by which an affinity selects a node by name.
const NAME_FIELD: &str = "metadata.name";

/// The tolerations of daemon pods, in order: a not-ready node does not evict them, and neither pressure taints nor a
/// cordon keeps them off.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// A pod with host networking may run before the pod network is available.
const TOLERATED_ON_HOST_NETWORK: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// A spec with the tolerations of daemon pods. In Kubernetes: `AddOrUpdateDaemonPodTolerations`.
pub(super) fn tolerating(mut spec: PodSpec) -> PodSpec {
    let on_host_network = spec.host_network.then_some(TOLERATED_ON_HOST_NETWORK);
    for (key, effect) in TOLERATED.into_iter().chain(on_host_network) {
        let wanted = Toleration {
            key: key.to_owned(),
            operator: "Exists".to_owned(),
            effect: effect.to_owned(),
            ..Toleration::default()
        };
        // The same toleration with a time limit becomes unlimited.
        let is_the_same = |one: &&mut Toleration| {
            one.key == wanted.key
                && one.effect == wanted.effect
                && one.operator == wanted.operator
                && one.value.is_empty()
        };
        match spec.tolerations.iter_mut().find(is_the_same) {
            Some(present) => *present = wanted,
            None => spec.tolerations.push(wanted),
        }
    }
    spec
}

/// The pod of a set without its node, for [`for_node`].
pub(super) fn daemon_pod(set: &DaemonSet, hash: &str) -> Result<Pod, ReconcileError> {
    let spec = tolerating(set.spec.template.spec.clone());
    let mut template = PodTemplateSpec { spec, ..set.spec.template.clone() };
    if let Some(generation) = generation(set) {
        template.metadata.labels.insert(GENERATION_LABEL.to_owned(), generation.to_string());
    }
    template.metadata.labels.insert(HASH_LABEL.to_owned(), hash.to_owned());
    new_pod(set, &template)
}

/// The pod for one node: its affinity allows only that node, and the scheduler binds it.
///
/// In Kubernetes: `ReplaceDaemonSetPodNodeNameNodeAffinity`.
pub(super) fn for_node(pod: &Pod, node: &str) -> Pod {
    let mut pod = pod.clone();
    let named = NodeSelectorRequirement {
        key: NAME_FIELD.to_owned(),
        operator: "In".to_owned(),
        values: vec![node.to_owned()],
        ..NodeSelectorRequirement::default()
    };
    let term = NodeSelectorTerm { match_fields: vec![named], ..NodeSelectorTerm::default() };
    let affinity = pod.spec.affinity.get_or_insert_default();
    let nodes = affinity.node_affinity.get_or_insert_default();
    let required: &mut NodeSelector = nodes.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    required.node_selector_terms = vec![term];
    pod
}

/// The node that a pod runs on or is meant for. In Kubernetes: `GetTargetNodeName`.
pub(super) fn target_node(pod: &Pod) -> Option<&str> {
    if let Some(node) = pod.node_name() {
        return Some(node);
    }
    let nodes = pod.spec.affinity.as_deref()?.node_affinity.as_deref()?;
    let required = nodes.required_during_scheduling_ignored_during_execution.as_deref()?;
    let mut fields = required.node_selector_terms.iter().flat_map(|term| &term.match_fields);
    let named = fields.find(|field| field.key == NAME_FIELD && field.operator == "In")?;
    match named.values.as_slice() {
        [node] => Some(node),
        _ => None,
    }
}

/// Whether a pod has the set's current template. In Kubernetes: `IsPodUpdated`.
pub(super) fn is_updated(pod: &Pod, set: &DaemonSet, hash: &str) -> bool {
    let label = |name: &str| pod.metadata.labels.get(name);
    let has_hash = !hash.is_empty() && label(HASH_LABEL).is_some_and(|value| value == hash);
    has_hash || generation(set).is_some_and(|number| label(GENERATION_LABEL) == Some(&number.to_string()))
}

fn generation(set: &DaemonSet) -> Option<i64> {
    set.metadata.annotations.get(GENERATION)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> DaemonSet {
        let mut set = DaemonSet::default();
        set.metadata.name = Some("agent".to_owned());
        set.spec.template.metadata.labels.insert("app".to_owned(), "agent".to_owned());
        set
    }

    #[test]
    fn a_pod_is_meant_for_the_node_it_was_made_for() {
        let pod = for_node(&daemon_pod(&set(), "abc").unwrap(), "alpha");
        assert_eq!(target_node(&pod), Some("alpha"));
        let mut bound = pod.clone();
        bound.spec.node_name = "beta".to_owned();
        assert_eq!(target_node(&bound), Some("beta"));
        assert_eq!(target_node(&Pod::default()), None);
    }

    #[test]
    fn timed_tolerations_of_the_template_become_unlimited_in_place() {
        let mut spec = PodSpec { host_network: true, ..PodSpec::default() };
        let for_a_while = |key: &str, operator: &str| Toleration {
            key: key.to_owned(),
            operator: operator.to_owned(),
            effect: "NoExecute".to_owned(),
            toleration_seconds: Some(5),
            ..Toleration::default()
        };
        spec.tolerations = vec![for_a_while("node.kubernetes.io/unreachable", "Exists"), for_a_while("mine", "Exists")];
        let spec = tolerating(spec);
        assert_eq!(spec.tolerations[0].toleration_seconds, None);
        assert_eq!(spec.tolerations[1].toleration_seconds, Some(5));
        assert_eq!(spec.tolerations.len(), 2 + 5 + 1);
        assert_eq!(tolerating(spec.clone()), spec);
    }

    #[test]
    fn a_pod_is_up_to_date_by_its_hash_or_by_the_older_number() {
        let mut set = set();
        set.metadata.annotations.insert(GENERATION.to_owned(), "3".to_owned());
        let pod = daemon_pod(&set, "abc").unwrap();
        assert!(is_updated(&pod, &set, "abc") && is_updated(&pod, &set, "other"));
        set.metadata.annotations.insert(GENERATION.to_owned(), "4".to_owned());
        assert!(is_updated(&pod, &set, "abc") && !is_updated(&pod, &set, "other"));
        set.metadata.annotations.insert(GENERATION.to_owned(), "many".to_owned());
        assert!(is_updated(&pod, &set, "abc") && !is_updated(&pod, &set, "other"));
    }
}
