//! How a node gives a pod that it runs other resources.

use coracle_api::core_v1::{Node, Pod};
use coracle_controller_runtime::{EventType, Pass, reference_to};
use coracle_meta::ObjectKey;

use crate::agent::Agent;
use crate::pod_key::PodKey;
use crate::pods::Pods;
use crate::refusal::Share;
use crate::resize::{HeldBack, PENDING, held_back, is_wanted, told};

impl Pods {
    /// Gives a pod what it is to have now, and says so; or says why it does not.
    pub(crate) fn resized(
        &self,
        agent: &Agent,
        pass: &Pass,
        node: &Node,
        key: &ObjectKey,
        pod: &Pod,
    ) -> Option<HeldBack> {
        if !is_wanted(pod) {
            return None;
        }
        let held = held_back(pod, node, &agent.machine.taken_beside(key));
        let said = pod.condition(PENDING);
        let is_new = held.as_ref().is_none_or(|held| said.is_none_or(|said| said.reason != held.reason));
        if is_new {
            let event_type = if held.is_some() { EventType::Warning } else { EventType::Normal };
            for (reason, message) in told(pod, held.as_ref()) {
                agent.events.in_pass(pass).event_on(reference_to(pod), event_type, reason, message);
            }
        }
        match &held {
            None => {
                agent.machine.take(key, Share::of(pod));
                // Who takes less now leaves room for others.
                self.makes_room(agent);
            }
            Some(held) if held.reason == "Deferred" => agent.machine.wait_for_room(key),
            Some(_) => {}
        }
        held
    }

    /// Who waits for room may have it now.
    pub(crate) fn makes_room(&self, agent: &Agent) {
        for pod in agent.machine.take_waiting() {
            self.queue.add(PodKey { node: agent.name.clone(), pod }, &[]);
        }
    }
}
