//! What a node does when it is short of something: says so, and lets pods go.
//!
//! In Kubernetes: `synchronize` of the eviction manager. Unlike there, nothing is looked at every ten seconds, but when a
//! pod, the Node or an amount that is used may have changed.

use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::{Node, Pod};
use coracle_client::{Error, Patch};
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, reference_to};
use coracle_meta::{ApiObject, ObjectKey};

use crate::agent::Agent;
use crate::eviction::{EVICTED, Signal, beyond_local_limits, is_critical, ranked, shortage_message, signals};
use crate::node::{is_reported, status_patch};
use crate::pod_key::PodKey;
use crate::pods::Pods;
use crate::shutdown::{is_asked, leaving, told};
use crate::surroundings::Leaving;
use crate::{NodeReading, PodReading};

impl Pods {
    /// The node is looked at, if it may be short of something: a pod was told what to use, or it is short already.
    pub(crate) fn look_at_node(&self, node: &Agent, is_told: bool) {
        if is_told || !node.machine.shortage.is_at_rest() {
            self.queue.add(PodKey::of_node(&node.name), &[]);
        }
    }

    /// Looks whether the node is short of something, says so, and chooses who goes.
    pub(crate) async fn relieve(&self, pass: &Pass, agent: &Agent) -> Result<Action, ReconcileError> {
        let (meters, shortage, now) = (&agent.machine.meters, &agent.machine.shortage, self.clock.now());
        let key = ObjectKey::cluster(&*agent.name);
        let Some(node) = self.node_objects.get(&key) else { return Ok(Action::Done) };
        let looks = Look { pods: self, agent, node: &node, events: agent.events.in_pass(pass) };
        for message in meters.observe_node(&node, now) {
            looks.tell(EventType::Warning, "InvalidUsage", message);
        }
        let Some(reading) = meters.read(now) else { return Ok(Action::Done) };
        let signals = signals(&node, &reading);
        let is_shutting_down = is_asked(&node).unwrap_or_else(|fault| {
            looks.tell(EventType::Warning, "InvalidAnnotation", fault);
            false
        });
        let (before, pressed) = shortage.observe(&signals, is_shutting_down, now);
        if before.is_shutting_down != is_shutting_down {
            looks.tell(EventType::Normal, "Shutdown", told(is_shutting_down).to_owned());
        }
        for reason in pressed.changes_since(&before) {
            looks.tell(EventType::Normal, reason, format!("Node {} status is now: {reason}", agent.name));
        }
        if is_shutting_down {
            looks.shut_down();
        } else {
            looks.choose(&signals, &reading);
        }
        if !is_reported(&node, &pressed, now) {
            let patch = Patch::Strategic(status_patch(&node, &pressed, now));
            match pass.api::<Node>().patch_status(&key, &patch).await {
                // It says so when it can be reached again.
                Err(Error::Transport { .. }) if agent.machine.is_cut_off() => {}
                written => drop(written?),
            }
        }
        let next = [shortage.changes_at(), meters.changes_after(now)].into_iter().flatten().min();
        Ok(next.map_or(Action::Done, |next| {
            Action::RequeueAfter(Duration::try_from(next.duration_since(now)).unwrap_or_default())
        }))
    }
}

/// One look at a node.
struct Look<'a> {
    pods: &'a Pods,
    agent: &'a Agent,
    node: &'a Node,
    events: EventRecorder,
}

impl Look<'_> {
    /// Who uses more disk than it may goes; and one pod at a time while the node is short of something.
    fn choose(&self, signals: &[Signal], reading: &NodeReading) {
        let active = reading.pods.iter().filter_map(|own| Some((self.agent.view.pod(&own.key)?, own.clone())));
        let active: Vec<(Arc<Pod>, PodReading)> = active.filter(|(pod, _)| !pod.is_finished()).collect();
        let beyond = active.iter().filter_map(|(pod, own)| Some((pod, beyond_local_limits(pod, own)?)));
        let beyond: Vec<(&Arc<Pod>, String)> = beyond.collect();
        if !beyond.is_empty() {
            beyond.into_iter().for_each(|(pod, message)| self.evict(pod, message, false));
            return;
        }
        let is_one_leaving = active.iter().any(|(pod, _)| self.leaves(pod));
        let Some(signal) = signals.first().filter(|_| !is_one_leaving) else { return };
        let message = format!("Attempting to reclaim {}", signal.scarce.word());
        self.tell(EventType::Warning, "EvictionThresholdMet", message);
        if let Some((pod, own)) = ranked(active, signal.scarce).first() {
            self.evict(pod, shortage_message(signal, pod, own), true);
        }
    }

    /// All pods go: the critical ones when the others have.
    fn shut_down(&self) {
        let active: Vec<Arc<Pod>> = self.agent.view.pods().into_iter().filter(|pod| !pod.is_finished()).collect();
        let is_last_turn = active.iter().all(|pod| is_critical(pod));
        for pod in active.iter().filter(|pod| is_last_turn || !is_critical(pod)) {
            if !self.leaves(pod) {
                self.let_go(pod, leaving());
            }
        }
    }

    fn let_go(&self, pod: &Pod, why: Leaving) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        self.agent.machine.shortage.lets_go(&pod.object_key(), uid, why);
        self.pods.queue.add(PodKey { node: self.agent.name.clone(), pod: pod.object_key() }, &[]);
    }

    fn leaves(&self, pod: &Pod) -> bool {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        pod.is_terminating() || self.agent.machine.shortage.leaving(&pod.object_key(), uid).is_some()
    }

    fn evict(&self, pod: &Pod, message: String, is_disruption: bool) {
        if self.leaves(pod) || is_critical(pod) {
            return;
        }
        self.events.event_on(reference_to(pod), EventType::Warning, EVICTED, message.as_str());
        self.let_go(pod, Leaving { reason: EVICTED, message, is_disruption, is_graceful: false });
    }

    fn tell(&self, event_type: EventType, reason: &str, message: String) {
        self.events.event_on(self.agent.reference(self.node), event_type, reason, message);
    }
}
