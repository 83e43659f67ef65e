//! Which pods a set needs next, and which must be deleted.

use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_controller_runtime::EventType;
use jiff::SignedDuration;

use super::observed::ObservedDaemonSet;
use super::placement::Placement;
use super::rolling;
use super::template::HASH_LABEL;

/// What a pass does.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The nodes to create pods for.
    pub(super) create: Vec<String>,
    /// The pods to delete.
    pub(super) delete: Vec<Arc<Pod>>,
    /// Events of the set, recorded before the writes.
    pub(super) events: Vec<(EventType, &'static str, String)>,
    /// When to sync again if nothing changes before.
    pub(super) again: Option<SignedDuration>,
}

/// What to do about the pods. `back_off` returns, for the node of a failed pod, how long its deletion must still
/// wait; `None` if the pod may be deleted, which counts as an attempt.
pub(super) fn plan(observed: &ObservedDaemonSet, back_off: &mut dyn FnMut(&str) -> Option<SignedDuration>) -> Plan {
    let mut plan = Plan::default();
    for (node, placement) in &observed.placements {
        match (placement, observed.pods.get(node)) {
            (Placement::Run, None) => plan.create.push(node.clone()),
            (Placement::Run | Placement::Stay, pods) => {
                let runs = *placement == Placement::Run;
                plan.keep_one(observed, node, pods.map(Vec::as_slice).unwrap_or_default(), runs, back_off);
            }
            (Placement::Leave, Some(pods)) => plan.delete.extend(staying(pods).cloned()),
            (Placement::Leave, None) => {}
        }
    }
    // No other controller deletes an unbound pod whose node is gone: pod garbage collection handles bound pods only.
    let is_lost = |(node, _): &(&String, _)| !observed.placements.contains_key(*node);
    let lost = observed.pods.iter().filter(is_lost).flat_map(|(_, pods)| pods);
    plan.delete.extend(lost.filter(|pod| pod.node_name().is_none() && !pod.is_terminating()).cloned());
    if plan.create.is_empty() && plan.delete.is_empty() && observed.set.spec.update_strategy.type_ == "RollingUpdate" {
        (plan.create, plan.delete) = rolling::replace(observed);
    }
    plan
}

fn staying(pods: &[Arc<Pod>]) -> impl Iterator<Item = &Arc<Pod>> {
    pods.iter().filter(|pod| !pod.is_terminating())
}

impl Plan {
    /// One running pod on a node, or two during an update with surge; finished pods are deleted.
    fn keep_one(
        &mut self,
        observed: &ObservedDaemonSet,
        node: &str,
        pods: &[Arc<Pod>],
        runs: bool,
        back_off: &mut dyn FnMut(&str) -> Option<SignedDuration>,
    ) {
        let mut running = Vec::new();
        for pod in staying(pods) {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let told = |phase: &str, what: &str| {
                format!("Found {phase} daemon pod {namespace}/{} on node {node}, will try to {what} it", pod.name())
            };
            match pod.phase() {
                "Failed" => match back_off(node) {
                    Some(left) => self.again = Some(self.again.map_or(left, |again| again.min(left))),
                    None => {
                        self.events.push((EventType::Warning, "FailedDaemonPod", told("failed", "kill")));
                        self.delete.push(pod.clone());
                    }
                },
                "Succeeded" => {
                    self.events.push((EventType::Normal, "SucceededDaemonPod", told("succeeded", "delete")));
                    self.delete.push(pod.clone());
                }
                _ => running.push(pod),
            }
        }
        if observed.surge(1) <= 0 {
            self.delete.extend(running.into_iter().skip(1).cloned());
        } else if running.is_empty() && runs {
            self.create.push(node.to_owned());
        } else if running.len() > 1 {
            self.keep_two(observed, &running);
        }
    }

    /// The oldest pod of the new template and the oldest of the old ones, until the old pod is not needed any more.
    fn keep_two(&mut self, observed: &ObservedDaemonSet, running: &[&Arc<Pod>]) {
        let hash = |pod: &Pod| pod.metadata.labels.get(HASH_LABEL).cloned().unwrap_or_default();
        let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
            running.iter().copied().partition(|pod| hash(pod) == observed.hash);
        let surplus = new.iter().skip(1).chain(old.iter().skip(1)).copied();
        self.delete.extend(surplus.cloned());
        if let (Some(new), Some(old)) = (new.first().copied(), old.first().copied())
            && (!old.is_ready() || observed.is_available(new))
        {
            self.delete.push(old.clone());
        }
    }

    /// The decision as a sentence, for the event log.
    pub(super) fn sentence(&self, observed: &ObservedDaemonSet) -> String {
        let pods: usize = observed.pods.values().map(Vec::len).sum();
        let deed = match (self.create.len(), self.delete.len()) {
            (0, 0) => "nothing to do".to_owned(),
            (create, 0) => format!("create {create}"),
            (0, delete) => format!("delete {delete}"),
            (create, delete) => format!("create {create}, delete {delete}"),
        };
        format!("want {}, see {pods}: {deed}", observed.desired())
    }
}
