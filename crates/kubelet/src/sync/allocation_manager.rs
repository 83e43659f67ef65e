//! Gives running pods other resources, and keeps pods whose resize has to wait.
//!
//! In Kubernetes: the manager of `pkg/kubelet/allocation`. The decision whether a resize fits is in `resize`.

use coracle_api::core_v1::{Node, Pod};
use coracle_controller_runtime::{EventType, Pass, reference_to};
use coracle_meta::ObjectKey;

use crate::node::agent::Agent;
use crate::node::pod_key::PodKey;
use crate::pod::refusal::Share;
use crate::pod::resize::{PENDING, PendingResize, is_wanted, pending_resize, resize_events};
use crate::sync::pod_workers::PodWorkers;

impl PodWorkers {
    /// Gives a pod the resources that its spec currently requests, or records why the node refuses them.
    pub(crate) fn resized(
        &self,
        agent: &Agent,
        pass: &Pass,
        node: &Node,
        key: &ObjectKey,
        pod: &Pod,
    ) -> Option<PendingResize> {
        if !is_wanted(pod) {
            return None;
        }
        let held = pending_resize(pod, node, &agent.machine.taken_beside(key));
        let said = pod.condition(PENDING);
        let is_new = held.as_ref().is_none_or(|held| said.is_none_or(|said| said.reason != held.reason));
        if is_new {
            let event_type = if held.is_some() { EventType::Warning } else { EventType::Normal };
            for (reason, message) in resize_events(pod, held.as_ref()) {
                agent.events.in_pass(pass).event_on(reference_to(pod), event_type, reason, message);
            }
        }
        match &held {
            None => {
                agent.machine.take(key, Share::of(pod));
                // A pod that takes less now leaves room for others.
                self.retry_deferred(agent);
            }
            Some(held) if held.reason == "Deferred" => agent.machine.wait_for_room(key),
            Some(_) => {}
        }
        held
    }

    /// Enqueues the pods whose resize was deferred.
    pub(crate) fn retry_deferred(&self, agent: &Agent) {
        for pod in agent.machine.take_waiting() {
            self.queue.add(PodKey { node: agent.name.clone(), pod }, &[]);
        }
    }
}
