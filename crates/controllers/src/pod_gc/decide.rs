use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::core_v1::{Node, Pod};
use coracle_meta::{ObjectKey, Resource};

/// Why a pod is force-deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// There are too many finished pods.
    Finished,
    /// It is being deleted, and its node is out of service.
    OutOfService,
    /// Its node is gone.
    NodeGone,
    /// It is being deleted, and never had a node.
    NeverScheduled,
}

impl Why {
    /// The reason as a word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Finished => "there are too many finished ones",
            Self::OutOfService => "its node is out of service",
            Self::NodeGone => "its node is gone",
            Self::NeverScheduled => "it is deleted and never had a node",
        }
    }
}

/// The pods to delete, without duplicates. `gone` are nodes that no longer exist; at most `keep` finished pods stay
/// (0 for all).
pub(super) fn victims(
    pods: &[Arc<Pod>],
    nodes: &BTreeMap<String, Arc<Node>>,
    gone: &BTreeSet<String>,
    keep: usize,
) -> Vec<(Arc<Pod>, Why)> {
    let mut finished: Vec<_> = pods.iter().filter(|pod| is_finished(pod)).collect();
    finished.sort_by_key(|pod| (!is_evicted(pod), pod.metadata.creation_timestamp.clone(), pod.metadata.name.clone()));
    let too_many = if keep == 0 { 0 } else { finished.len().saturating_sub(keep) };
    let finished = finished.into_iter().take(too_many).map(|pod| (pod, Why::Finished));
    let others = pods.iter().filter_map(|pod| Some((pod, why(pod, nodes, gone)?)));
    let mut seen: BTreeSet<ObjectKey> = BTreeSet::new();
    finished.chain(others).filter(|(pod, _)| seen.insert(pod.key())).map(|(pod, why)| (pod.clone(), why)).collect()
}

fn why(pod: &Pod, nodes: &BTreeMap<String, Arc<Node>>, gone: &BTreeSet<String>) -> Option<Why> {
    let Some(name) = pod.node_name() else { return pod.is_terminating().then_some(Why::NeverScheduled) };
    if gone.contains(name) {
        return Some(Why::NodeGone);
    }
    let node = nodes.get(name)?;
    let out_of_service = node.spec.taints.iter().any(|taint| taint.key == "node.kubernetes.io/out-of-service");
    (pod.is_terminating() && out_of_service && !node.is_ready()).then_some(Why::OutOfService)
}

/// In Kubernetes: `isPodTerminated`, for which an empty phase counts as terminated, too.
fn is_finished(pod: &Pod) -> bool {
    !matches!(pod.phase(), "Pending" | "Running" | "Unknown")
}

fn is_evicted(pod: &Pod) -> bool {
    pod.phase() == "Failed" && pod.status.reason == "Evicted"
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::Taint;

    fn pod(name: &str, node: &str, phase: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.spec.node_name = node.to_owned();
        pod.status.phase = phase.to_owned();
        pod
    }

    fn terminating(mut pod: Pod) -> Pod {
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        pod
    }

    fn found(pods: Vec<Pod>, nodes: Vec<Node>, keep: usize) -> Vec<(String, Why)> {
        let pods: Vec<_> = pods.into_iter().map(Arc::new).collect();
        let nodes = nodes.into_iter().map(|node| (node.metadata.name.clone().unwrap(), Arc::new(node))).collect();
        let gone = BTreeSet::from(["gone".to_owned()]);
        let victims = victims(&pods, &nodes, &gone, keep);
        victims.into_iter().map(|(pod, why)| (pod.name().to_owned(), why)).collect()
    }

    #[test]
    fn pods_without_a_node_that_lives_are_removed() {
        let pods = vec![
            pod("orphan", "gone", "Running"),
            pod("young", "unknown", "Running"),
            terminating(pod("never", "", "Pending")),
            pod("waiting", "", "Pending"),
        ];
        assert_eq!(found(pods, vec![], 0), [("orphan".into(), Why::NodeGone), ("never".into(), Why::NeverScheduled)]);
    }

    #[test]
    fn a_node_out_of_service_loses_the_pods_that_are_being_deleted() {
        let mut node = Node::default();
        node.metadata.name = Some("n".to_owned());
        node.spec.taints.push(Taint { key: "node.kubernetes.io/out-of-service".into(), ..Taint::default() });
        let pods = vec![terminating(pod("a", "n", "Running")), pod("b", "n", "Running")];
        assert_eq!(found(pods, vec![node], 0), [("a".into(), Why::OutOfService)]);
    }

    #[test]
    fn of_too_many_finished_pods_the_evicted_and_then_the_oldest_go() {
        let mut evicted = pod("evicted", "n", "Failed");
        evicted.status.reason = "Evicted".to_owned();
        let aged = |name: &str, time: &str| {
            let mut pod = pod(name, "n", "Succeeded");
            pod.metadata.creation_timestamp = Some(time.to_owned());
            pod
        };
        evicted.metadata.creation_timestamp = Some("2026-01-09T00:00:00Z".to_owned());
        let pods = vec![aged("new", "2026-01-03T00:00:00Z"), aged("old", "2026-01-02T00:00:00Z"), evicted];
        assert_eq!(found(pods, vec![], 1), [("evicted".into(), Why::Finished), ("old".into(), Why::Finished)]);
    }
}
