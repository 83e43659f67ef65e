use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::{ObjectReference, Pod, PodCondition};
use coracle_client::{DeleteParams, Patch};
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError};
use coracle_meta::{ObjectKey, format_time};
use coracle_workqueue::WorkQueue;
use serde_json::json;

use super::caches::Caches;
use super::timers::{EvictedPods, Timer, Timers};
use super::{Key, STATUS_PERIOD};
use crate::conditions::find;

/// The worker of pods: evicts those whose time has come.
pub(super) struct Pods {
    pub(super) caches: Caches,
    pub(super) timers: Arc<Timers>,
    pub(super) evicted: Arc<EvictedPods>,
    pub(super) events: EventRecorder,
    pub(super) clock: Clock,
    pub(super) queue: WorkQueue<Key>,
}

impl Pods {
    /// In Kubernetes: `handlePod`, `maybeDeletePod`.
    pub(super) async fn sync(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.caches.pods.get(key) else {
            self.timers.remove(key);
            return pass.gone();
        };
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let timer = self.timers.get(key, uid);
        if timer == Some(Timer::Fired) {
            return pass.done(|| "it has been evicted");
        }
        let Some(eviction) = self.caches.eviction_of(&pod, &self.caches.evicting_rules()) else {
            self.timers.remove(key);
            if timer.is_some() {
                self.event(pass, key, uid, "Cancelling deletion");
            }
            return pass.done(|| "it may stay");
        };
        self.timers.set(key, uid, Timer::Running(eviction.at));
        let now = self.clock.now();
        if now < eviction.at {
            pass.decided(|| format!("it may stay until {}: {}", format_time(eviction.at), eviction.reasons()));
            let rest = Duration::try_from(eviction.at.duration_since(now)).unwrap_or_default();
            return Ok(Action::RequeueAfter(rest));
        }
        pass.decided(|| format!("its claims do not tolerate a taint: evict it: {}", eviction.reasons()));
        let has_evicted = self.evict(pass, key, uid).await?;
        self.timers.set(key, uid, Timer::Fired);
        for (name, uid) in eviction.rules().filter(|_| has_evicted) {
            self.evicted.count(uid);
            // Later, because the caches do not show the deletion yet.
            let causes: Vec<_> = pass.cause().into_iter().collect();
            self.queue.add_after(Key::Rule(name.to_owned()), STATUS_PERIOD, &causes);
        }
        Ok(Action::Done)
    }

    /// Returns false if the pod is gone. In Kubernetes: `addConditionAndDeletePod`.
    async fn evict(&self, pass: &Pass, key: &ObjectKey, uid: &str) -> Result<bool, ReconcileError> {
        let api = pass.api::<Pod>();
        let Some(pod) = api.find(key).await?.filter(|pod| pod.metadata.uid.as_deref() == Some(uid)) else {
            return Ok(false);
        };
        if pod.metadata.is_terminating() {
            return Ok(true);
        }
        self.event(pass, key, uid, "Marking for deletion");
        if let Some(condition) = self.condition(&pod) {
            let patch = json!({"metadata": {"uid": uid}, "status": {"conditions": [condition]}});
            match api.patch_status(key, &Patch::Strategic(patch)).await {
                Err(error) if error.is_not_found() => return Ok(false),
                patched => patched?,
            };
        }
        pass.delete_if_there::<Pod>(key, &DeleteParams::default().with_uid(uid)).await
    }

    /// The condition of a pod that is evicted; `None` if it has it.
    fn condition(&self, pod: &Pod) -> Option<PodCondition> {
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: "DeletionByDeviceTaintManager".to_owned(),
            message: "Device Taint manager: deleting due to NoExecute taint".to_owned(),
            last_transition_time: Some(format_time(self.clock.now())),
            ..PodCondition::default()
        };
        let Some(before) = find(&pod.status.conditions, &condition.type_) else { return Some(condition) };
        let is_same = |after: &PodCondition| {
            (&before.status, &before.reason, &before.message) == (&after.status, &after.reason, &after.message)
        };
        let since = if before.status == condition.status { &before.last_transition_time } else { &None };
        Some(PodCondition {
            last_transition_time: since.clone().or(condition.last_transition_time.clone()),
            ..condition
        })
        .filter(|condition| !is_same(condition))
    }

    /// The reference has no resource version, as in Kubernetes.
    fn event(&self, pass: &Pass, key: &ObjectKey, uid: &str, message: &str) {
        let pod = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: key.name.clone(),
            namespace: key.namespace.clone(),
            uid: uid.to_owned(),
            ..ObjectReference::default()
        };
        self.events.in_pass(pass).event_on(pod, EventType::Normal, "DeviceTaintManagerEviction", message);
    }
}
