//! The eviction manager: reports the pressure conditions of a node, and evicts pods.
//!
//! In Kubernetes: `synchronize` of the eviction manager. Unlike Kubernetes: it does not run every ten seconds, but when
//! a pod, the Node or a usage may have changed.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Node, Pod};
use coracle_client::{Error, Patch};
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, reference_to};
use coracle_informer::Lister;
use coracle_meta::{ApiObject, ObjectKey};
use coracle_workqueue::WorkQueue;

use crate::eviction::{EVICTED, beyond_local_limits, is_critical, ranked, shortage_message};
use crate::node::agent::Agent;
use crate::node::node_status::{is_reported, status_patch};
use crate::node::pod_key::PodKey;
use crate::node::pressure::{Signal, signals};
use crate::node::shutdown::{event_message, is_asked, leaving};
use crate::pod::pod_context::Leaving;
use crate::{NodeReading, PodReading};

/// The eviction manager of one node, at one moment.
pub(crate) struct EvictionManager<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) nodes: &'a Lister<Node>,
    /// Pods to terminate are added to this queue.
    pub(crate) queue: &'a WorkQueue<PodKey>,
    pub(crate) now: Timestamp,
}

impl EvictionManager<'_> {
    /// Updates the pressure conditions of the node, reports them, and chooses the pods to terminate.
    pub(crate) async fn synchronize(&self, pass: &Pass) -> Result<Action, ReconcileError> {
        let Self { agent, now, .. } = *self;
        let (meters, shortage) = (&agent.machine.meters, &agent.machine.shortage);
        let key = ObjectKey::cluster(&*agent.name);
        let Some(node) = self.nodes.get(&key) else { return Ok(Action::Done) };
        let eviction = EvictionRun { queue: self.queue, agent, node: &node, events: agent.events.in_pass(pass) };
        for message in meters.observe_node(&node, now) {
            eviction.record(EventType::Warning, "InvalidUsage", message);
        }
        let Some(reading) = meters.read(now) else { return Ok(Action::Done) };
        let signals = signals(&node, &reading);
        let is_shutting_down = is_asked(&node).unwrap_or_else(|fault| {
            eviction.record(EventType::Warning, "InvalidAnnotation", fault);
            false
        });
        let (before, pressed) = shortage.observe(&signals, is_shutting_down, now);
        if before.is_shutting_down != is_shutting_down {
            eviction.record(EventType::Normal, "Shutdown", event_message(is_shutting_down).to_owned());
        }
        for reason in pressed.changes_since(&before) {
            eviction.record(EventType::Normal, reason, format!("Node {} status is now: {reason}", agent.name));
        }
        if is_shutting_down {
            eviction.shut_down();
        } else {
            eviction.evict_pods(&signals, &reading);
        }
        if !is_reported(&node, &pressed) {
            let patch = Patch::Strategic(status_patch(&node, &pressed, None, now));
            match pass.api::<Node>().patch_status(&key, &patch).await {
                // The node reports it when the partition heals.
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

/// One run of the eviction manager over a node.
struct EvictionRun<'a> {
    queue: &'a WorkQueue<PodKey>,
    agent: &'a Agent,
    node: &'a Node,
    events: EventRecorder,
}

impl EvictionRun<'_> {
    /// Evicts each pod that exceeds its ephemeral storage limits. Otherwise evicts one pod at a time while the
    /// node is short of a resource.
    fn evict_pods(&self, signals: &[Signal], reading: &NodeReading) {
        let active = reading.pods.iter().filter_map(|own| Some((self.agent.pod_view.pod(&own.key)?, own.clone())));
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
        self.record(EventType::Warning, "EvictionThresholdMet", message);
        if let Some((pod, own)) = ranked(active, signal.scarce).first() {
            self.evict(pod, shortage_message(signal, pod, own), true);
        }
    }

    /// Terminates all pods of a node that shuts down: critical pods after the others have ended.
    fn shut_down(&self) {
        let active: Vec<Arc<Pod>> = self.agent.pod_view.pods().into_iter().filter(|pod| !pod.is_finished()).collect();
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
        self.queue.add(PodKey { node: self.agent.name.clone(), pod: pod.object_key() }, &[]);
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

    fn record(&self, event_type: EventType, reason: &str, message: String) {
        self.events.event_on(self.agent.reference(self.node), event_type, reason, message);
    }
}
