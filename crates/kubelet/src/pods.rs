//! What a node does for the pods that are bound to it.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Clock, Timestamp};
use coracle_api::core_v1::{Container, ObjectReference, Pod};
use coracle_client::{DeleteParams, Patch};
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, Reconciler, reference_to};
use coracle_informer::Lister;
use coracle_journal::{Detail, Recorder, Stage};
use coracle_meta::ObjectKey;
use serde_json::{Value, json};

use crate::Delays;
use crate::lifecycle::{PodStage, Runtime, Step, next};
use crate::machine::{Line, Machine};
use crate::status::{pod_reference, pod_status};

/// The conditions that a node speaks of; others are somebody else's.
const OWN_CONDITIONS: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// Lets each pod of a node go its way, and says where it is.
pub(crate) struct Pods {
    pub(crate) node: String,
    pub(crate) actor: String,
    pub(crate) machine: Arc<Machine>,
    pub(crate) pods: Lister<Pod>,
    pub(crate) delays: Delays,
    pub(crate) events: EventRecorder,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
}

impl Reconciler for Pods {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.get(key) else {
            self.machine.remove(key);
            return Ok(Action::Done);
        };
        let (runtime, step) = self.advance(pass, key, &pod);
        if let Some(runtime) = &runtime {
            let status = pod_status(&pod, runtime, &self.machine.address, self.clock.now());
            if let Some(patch) = status_patch(&pod, &status) {
                match pass.api::<Pod>().patch_status(key, &Patch::Strategic(patch)).await {
                    // Gone, or another pod of the same name: the cache will tell.
                    Err(error) if error.is_not_found() || error.is_conflict() => return Ok(Action::Done),
                    written => written?,
                };
            }
        }
        match step {
            Step::Remove => {
                let uid = pod.metadata.uid.clone().unwrap_or_default();
                match pass.api::<Pod>().delete(key, &DeleteParams::now().with_uid(uid)).await {
                    Err(error) if error.is_not_found() || error.is_conflict() => {}
                    deleted => {
                        deleted?;
                    }
                }
                Ok(Action::Done)
            }
            Step::Wait(Some(left)) => Ok(Action::RequeueAfter(Duration::try_from(left).unwrap_or_default())),
            Step::Wait(None) | Step::Become(_) => Ok(Action::Done),
        }
    }
}

impl Pods {
    /// Takes the pod as far as it goes at the moment; gives where it is then and what it waits for.
    fn advance(&self, pass: &Pass, key: &ObjectKey, pod: &Pod) -> (Option<Runtime>, Step) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = self.machine.pod(key).filter(|running| running.uid == uid);
        if known.is_none() {
            self.machine.remove(key);
        }
        let mut runtime = known.map(|running| running.runtime);
        loop {
            let now = self.clock.now();
            match next(pod, runtime.as_ref(), &self.delays, now) {
                Step::Become(mut changed) => {
                    if changed.ip.is_none() && !matches!(changed.stage, PodStage::Starting | PodStage::Ended) {
                        changed.ip = self.machine.new_address();
                    }
                    self.record(pass, key, runtime.as_ref(), &changed);
                    self.tell(pass, pod, runtime.as_ref(), &changed);
                    self.machine.set(key, uid, (*changed).clone(), said(pod, runtime.as_ref(), &changed, now));
                    runtime = Some(*changed);
                }
                step => return (runtime, step),
            }
        }
    }

    fn record(&self, pass: &Pass, key: &ObjectKey, from: Option<&Runtime>, to: &Runtime) {
        self.recorder.record(&self.actor, Stage::KubeletTransition, || {
            let detail = Detail::about(format!("pods/{key}")).caused_by(pass.cause());
            let from = from.map_or_else(|| "Bound".to_owned(), |runtime| runtime.stage.to_string());
            detail.with("from", from).with("to", to.stage.to_string()).with("node", self.node.as_str())
        });
    }

    /// The events of a transition.
    fn tell(&self, pass: &Pass, pod: &Pod, from: Option<&Runtime>, to: &Runtime) {
        let events = self.events.in_pass(pass);
        let say = |container: &Container, event_type, reason: &str, message: String| {
            events.event_on(about(pod, container, "containers"), event_type, reason, message);
        };
        for container in &pod.spec.containers {
            let name = &container.name;
            match (from.map(|from| &from.stage), &to.stage) {
                (None, PodStage::Running | PodStage::Ready) => {}
                (_, PodStage::Running) if !matches!(from.map(|from| &from.stage), Some(PodStage::Ready)) => {
                    started(&events, pod, container, "containers");
                }
                (_, PodStage::Stopping) => {
                    say(container, EventType::Normal, "Killing", format!("Stopping container {name}"));
                }
                (_, PodStage::BackingOff) if to.crashes > 1 => {
                    let message = format!("Back-off restarting failed container {name} in pod {}", pod_reference(pod));
                    say(container, EventType::Warning, "BackOff", message);
                }
                _ => {}
            }
        }
        if let PodStage::Initializing(index) = to.stage
            && let Some(container) = pod.spec.init_containers.get(index)
        {
            started(&events, pod, container, "initContainers");
        }
        if let (PodStage::Ended, Some((reason, message))) = (&to.stage, to.failure) {
            events.event(pod, EventType::Normal, reason, message);
        }
    }
}

fn started(events: &EventRecorder, pod: &Pod, container: &Container, list: &str) {
    let present =
        format!("Container image \"{}\" already present on machine and can be accessed by the pod", container.image);
    for (reason, message) in
        [("Pulled", present.as_str()), ("Created", "Container created"), ("Started", "Container started")]
    {
        events.event_on(about(pod, container, list), EventType::Normal, reason, message);
    }
}

/// Names a container of a pod in an event.
fn about(pod: &Pod, container: &Container, list: &str) -> ObjectReference {
    ObjectReference { field_path: format!("spec.{list}{{{}}}", container.name), ..reference_to(pod) }
}

/// What the containers say at a transition.
fn said(pod: &Pod, from: Option<&Runtime>, to: &Runtime, now: Timestamp) -> Vec<Line> {
    let text = match (from.map(|from| &from.stage), &to.stage) {
        (None, PodStage::Running | PodStage::Ready) => return Vec::new(),
        (Some(PodStage::Ready), PodStage::Running) => "not ready".to_owned(),
        (_, PodStage::Running) => "started".to_owned(),
        (_, PodStage::Ready) => "ready".to_owned(),
        (_, PodStage::Stopping) => "asked to stop".to_owned(),
        (_, PodStage::BackingOff | PodStage::Ended) => match to.exit.as_ref().filter(|exit| exit.started.is_some()) {
            Some(exit) => format!("ended with code {}", exit.code),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let line = |container: &Container| Line {
        at: now,
        container: container.name.clone(),
        restarts: to.restarts,
        text: format!("{} ({}): {text}", container.name, container.image),
    };
    pod.spec.containers.iter().map(line).collect()
}

/// The strategic merge patch from the status that the API shows to this one; none if they are the same.
fn status_patch(pod: &Pod, status: &coracle_api::core_v1::PodStatus) -> Option<Value> {
    if pod.status == *status {
        return None;
    }
    let before = serde_json::to_value(&pod.status).ok()?;
    let after = serde_json::to_value(status).ok()?;
    let mut patch = serde_json::Map::new();
    let (before, after) = (before.as_object()?, after.as_object()?);
    for (field, value) in after {
        if field != "conditions" && before.get(field) != Some(value) {
            patch.insert(field.clone(), value.clone());
        }
    }
    for field in before.keys().filter(|field| !after.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    let own = status.conditions.iter().filter(|condition| OWN_CONDITIONS.contains(&condition.type_.as_str()));
    let changed: Vec<Value> = own
        .filter(|condition| pod.condition(&condition.type_) != Some(condition))
        .filter_map(|condition| serde_json::to_value(condition).ok())
        .map(|condition| with_nulls(condition, pod))
        .collect();
    if !changed.is_empty() {
        let order: Vec<Value> = status.conditions.iter().map(|c| json!({"type": c.type_})).collect();
        patch.insert("$setElementOrder/conditions".to_owned(), order.into());
        patch.insert("conditions".to_owned(), changed.into());
    }
    Some(json!({"metadata": {"uid": pod.metadata.uid}, "status": patch}))
}

/// What a condition no longer says has to be taken out by name, since conditions are merged.
fn with_nulls(mut condition: Value, pod: &Pod) -> Value {
    let before = condition["type"].as_str().and_then(|type_| pod.condition(type_));
    let before = before.and_then(|before| serde_json::to_value(before).ok()).unwrap_or_default();
    for field in ["reason", "message"] {
        if before.get(field).is_some() && condition.get(field).is_none() {
            condition[field] = Value::Null;
        }
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::PodCondition;

    fn condition(type_: &str, status: &str, reason: &str) -> PodCondition {
        PodCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            ..PodCondition::default()
        }
    }

    #[test]
    fn a_patch_names_what_changed_and_takes_out_what_is_no_longer_said() {
        let mut pod = Pod::default();
        pod.metadata.uid = Some("u".to_owned());
        pod.status.phase = "Pending".to_owned();
        pod.status.qos_class = "BestEffort".to_owned();
        pod.status.conditions =
            vec![condition("Ready", "False", "ContainersNotReady"), condition("PodScheduled", "True", "")];
        let mut status = pod.status.clone();
        assert_eq!(status_patch(&pod, &status), None);
        status.phase = "Running".to_owned();
        status.conditions[0] = condition("Ready", "True", "");
        assert_eq!(
            status_patch(&pod, &status).unwrap(),
            json!({"metadata": {"uid": "u"}, "status": {
                "phase": "Running",
                "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
                "conditions": [{"type": "Ready", "status": "True", "reason": null}],
            }})
        );
    }
}
