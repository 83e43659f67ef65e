//! What a node does for the pods that are bound to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Clock, Timestamp};
use coracle_api::core_v1::{ConfigMap, Container, Node, Pod, Secret};
use coracle_client::{DeleteParams, Error, Patch};
use coracle_controller_runtime::{Action, EventType, Pass, ReconcileError, Reconciler, Speaker};
use coracle_informer::Lister;
use coracle_journal::{Detail, Recorder, Stage};
use coracle_meta::{ObjectKey, parse_time};
use coracle_workqueue::WorkQueue;
use serde_json::{Value, json};

use crate::Delays;
use crate::agent::Agent;
use crate::container::{Change, LOOKS_AGAIN, State, signed};
use crate::eviction::pressed_out;
use crate::fetch::fetch;
use crate::lifecycle::{PodStage, Runtime, Step, next};
use crate::machine::Talk;
use crate::measured::{runs, runs_told};
use crate::nodes::Nodes;
use crate::place::Place;
use crate::pod_key::PodKey;
use crate::power_cut::after_power_cut;
use crate::program::transcript;
use crate::refusal::{Share, refusal};
use crate::resize::PENDING;
use crate::sources::{Facts, Sources, references};
use crate::stages::Programme;
use crate::status::pod_status;
use crate::surroundings::Surroundings;
use crate::telling::{Told, about, line_of_change, lines_of_stage, of_change, of_stage};
use crate::usage::Given;
use crate::volumes::{Progress, Site, Wish};

/// The conditions that a node speaks of; others are somebody else's.
const OWN_CONDITIONS: [&str; 7] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
    "DisruptionTarget",
    PENDING,
];

/// Lets each pod of the nodes go its way, and says where it is, each as its node.
pub(crate) struct Pods {
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) node_objects: Lister<Node>,
    pub(crate) delays: Delays,
    pub(crate) stages: Option<Arc<Programme>>,
    pub(crate) has_csi_driver: bool,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
    /// The keys that are worked on: pods, and the node itself when it may be short of something.
    pub(crate) queue: WorkQueue<PodKey>,
}

impl Reconciler<PodKey> for Pods {
    fn speaker(&self, key: &PodKey) -> Option<Speaker> {
        self.nodes.agent(&key.node).map(|node| node.at_work.clone())
    }

    async fn reconcile(&self, pass: &Pass, key: &PodKey) -> Result<Action, ReconcileError> {
        // A node that is not at work asks for all its pods when it is.
        let Some(node) = self.nodes.agent(&key.node).filter(|node| node.is_at_work()) else {
            return pass.done(|| "the node is not at work");
        };
        if key.is_node() {
            pass.decided(|| "look at the node: what it is short of, and which pods its files ask for");
            let reads = self.look_at_manifests(&node, pass);
            return Ok(match (self.relieve(pass, &node).await?, reads) {
                (Action::Done, Some(reads)) => Action::RequeueAfter(reads),
                (Action::RequeueAfter(left), Some(reads)) => Action::RequeueAfter(left.min(reads)),
                (action, _) => action,
            });
        }
        let key = &key.pod;
        let Some(bound) = self.bound(&node, pass, key).await else {
            pass.decided(|| "no such pod belongs to this node: forget it");
            node.machine.remove(key);
            node.machine.meters.forget(key, self.clock.now());
            node.machine.shortage.forget(key);
            self.look_at_node(&node, false);
            self.makes_room(&node);
            let left = self.volumes(&node, pass, key, Wish::Unmounted(None), &Sources::default()).await?;
            return Ok(left.again.map_or(Action::Done, Action::RequeueAfter));
        };
        let pod = &bound.pod;
        if self.stages.as_ref().is_some_and(|stages| stages.plays("Pod")) {
            self.measure_told(&node, pod);
            return pass.done(|| "stages play its life");
        }
        let sources = sources(&node, pass, key, pod).await?;
        if node.has_ended() {
            return pass.done(|| "the node has stopped meanwhile");
        }
        let sources = Arc::new(sources);
        let mut course = self.course(&node, pass, key, pod, sources.clone());
        if course.runtime.is_none() && !pod.spec.volumes.is_empty() {
            // Whether the pod is taken at all comes first.
            course.around.waits_for_volumes = true;
            course.advance();
        }
        let mut volumes = self.volumes(&node, pass, key, course.wish(), &sources).await?;
        if node.has_ended() {
            return pass.done(|| "the node has stopped meanwhile");
        }
        course.around.waits_for_volumes = !course.has_ended() && !volumes.is_done;
        let step = course.advance();
        course.measure();
        if course.has_ended() {
            volumes = self.volumes(&node, pass, key, course.wish(), &sources).await?;
        }
        let Course { runtime, around, .. } = course;
        if let (Some(runtime), Some(shown)) = (&runtime, &bound.shown) {
            let status = pod_status(pod, runtime, &around, &node.machine.address, self.clock.now());
            if let Some(patch) = status_patch(shown, &status) {
                match pass.api::<Pod>().patch_status(key, &Patch::Strategic(patch)).await {
                    // Gone, or another pod of the same name: the cache will tell.
                    Err(error) if error.is_not_found() || error.is_conflict() => {
                        return pass.done(|| "it is gone, or another pod of that name: wait for the cache");
                    }
                    // It goes on, and says so when it can be reached again.
                    Err(Error::Transport { .. }) if node.machine.is_cut_off() => {}
                    written => drop(written?),
                }
            }
        }
        let waits = match step {
            // In Kubernetes: `SyncTerminatedPod` waits for them.
            Step::Remove if !volumes.is_done => None,
            Step::Remove if bound.is_static => {
                self.static_pod_ended(&node, key);
                return pass.done(|| "it has ended, and no file asks for it");
            }
            Step::Remove => {
                pass.decided(|| "it has ended and is to go: remove it");
                let uid = pod.metadata.uid.clone().unwrap_or_default();
                match pass.api::<Pod>().delete(key, &DeleteParams::now().with_uid(uid)).await {
                    Err(error) if error.is_not_found() || error.is_conflict() => {}
                    Err(Error::Transport { .. }) if node.machine.is_cut_off() => {}
                    deleted => {
                        deleted?;
                    }
                }
                return Ok(Action::Done);
            }
            Step::Wait(left) => left,
            Step::Become(_) | Step::Changed(..) => None,
        };
        let again = volumes.again.into_iter().chain(bound.again).min();
        // What is lacking is looked for again: nobody tells a node of a ConfigMap.
        let looks = (!around.lacks.is_empty()).then(|| signed(LOOKS_AGAIN));
        pass.decided(|| match (&waits, around.waits_for_volumes) {
            (_, true) => "its volumes are not there yet: wait for them".to_owned(),
            (Some(left), false) => format!("look again in {left:#}"),
            (None, false) => "nothing more to do".to_owned(),
        });
        Ok(match waits.into_iter().chain(looks).chain(again.map(signed)).min() {
            Some(left) => Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()),
            None => Action::Done,
        })
    }
}

/// One pod on its way, as far as it goes at the moment.
struct Course<'p> {
    pods: &'p Pods,
    node: &'p Agent,
    pass: &'p Pass,
    key: &'p ObjectKey,
    pod: &'p Pod,
    around: Surroundings,
    sources: Arc<Sources>,
    runtime: Option<Runtime>,
}

/// What the pod's containers are configured with, as long as any of them is to be made, or may be made again.
async fn sources(node: &Agent, pass: &Pass, key: &ObjectKey, pod: &Pod) -> Result<Sources, ReconcileError> {
    let wanted = references(pod);
    let is_settled = || node.machine.is_settled(key, pod.metadata.uid.as_deref().unwrap_or_default());
    if wanted.is_empty() || pod.is_finished() || is_settled() {
        return Ok(Sources::default());
    }
    Ok(fetch(&pass.api::<ConfigMap>(), &pass.api::<Secret>(), &key.namespace, wanted).await?)
}

impl Pods {
    /// Takes the volumes of a pod as far as they go.
    async fn volumes(
        &self,
        node: &Agent,
        pass: &Pass,
        key: &ObjectKey,
        wish: Wish<'_>,
        sources: &Sources,
    ) -> Result<Progress, ReconcileError> {
        let site = Site {
            node: &node.name,
            actor: &node.voice.actor,
            pass,
            nodes: &self.node_objects,
            events: &node.events,
            recorder: &self.recorder,
            sources,
            has_csi_driver: self.has_csi_driver,
        };
        match node.volumes.sync(&site, key, wish).await {
            // What is mounted stays mounted, and what is not has to wait for the API.
            Err(ReconcileError::Call(Error::Transport { .. })) if node.machine.is_cut_off() => {
                Ok(node.volumes.standing(key, wish))
            }
            progress => progress,
        }
    }

    /// What objects say that the containers of a pod use, and what could not be found out of that.
    fn given(&self, node: &Agent, pod: &Pod) -> (BTreeMap<String, Given>, Vec<String>) {
        let Some(stages) = &self.stages else { return Default::default() };
        let object = self.node_objects.get(&ObjectKey::cluster(&*node.name));
        stages.usages.of(pod, object.as_deref())
    }

    /// Counts what a pod uses that lives by stages.
    fn measure_told(&self, node: &Agent, pod: &Pod) {
        let now = self.clock.now();
        let seen = pod.status.start_time.as_deref().and_then(parse_time).unwrap_or(now);
        let given = self.given(node, pod);
        for fault in node.machine.meters.observe(pod, seen, &runs_told(pod, now), &given, now) {
            node.events.event(pod, EventType::Warning, "InvalidUsage", fault);
        }
    }

    fn course<'p>(
        &'p self,
        node: &'p Agent,
        pass: &'p Pass,
        key: &'p ObjectKey,
        pod: &'p Pod,
        sources: Arc<Sources>,
    ) -> Course<'p> {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = node.machine.pod(key).filter(|running| running.uid == uid);
        if known.is_none() {
            node.machine.remove(key);
        }
        let mut around = Surroundings::of(pod);
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        if !sources.0.is_empty() {
            let lacks = containers.filter_map(|own| Some((own.name.clone(), sources.lacked_by(pod, own)?)));
            around.lacks = lacks.collect();
        }
        around.leaves = node.machine.shortage.leaving(key, uid);
        let object = self.node_objects.get(&ObjectKey::cluster(&*node.name));
        around.ranges = object.as_ref().map(|object| object.spec.pod_cidrs.clone()).unwrap_or_default();
        let runs = known.as_ref().is_some_and(|running| running.runtime.stage == PodStage::Active);
        around.held_back = object.filter(|_| runs).and_then(|object| self.resized(node, pass, &object, key, pod));
        for (name, talks) in known.iter().flat_map(|running| &running.talks) {
            if let Some(talk) = talks.back() {
                around.transcripts.insert(name.clone(), talk.transcript.clone());
            }
        }
        let runtime = known.map(|running| match running.lost {
            Some(cut) => self.begins_anew(node, key, pod, &around, &running.runtime, cut),
            None => running.runtime,
        });
        Course { pods: self, node, pass, key, pod, around, sources, runtime }
    }
}

impl Pods {
    /// The pod after its machine has lost its power and got it back.
    fn begins_anew(
        &self,
        node: &Agent,
        key: &ObjectKey,
        pod: &Pod,
        around: &Surroundings,
        lost: &Runtime,
        cut: Timestamp,
    ) -> Runtime {
        let mut runtime = after_power_cut(lost, pod, around, cut, self.clock.now());
        if runtime.stage == PodStage::Active {
            runtime.ip = node.machine.new_address(&around.ranges);
        }
        node.machine.set(key, pod.metadata.uid.as_deref().unwrap_or_default(), runtime.clone(), Vec::new());
        runtime
    }
}

impl Course<'_> {
    /// Takes the pod as far as it goes; gives what it waits for then.
    fn advance(&mut self) -> Step {
        loop {
            let now = self.pods.clock.now();
            match next(self.pod, self.runtime.as_ref(), &self.around, &self.pods.delays, now) {
                Step::Become(changed) => self.enters(*changed),
                Step::Changed(place, change, changed) => self.changes(place, &change, *changed),
                step => return step,
            }
        }
    }

    /// The pod comes to another stage.
    fn enters(&mut self, mut changed: Runtime) {
        let pods = self.pods;
        let now = pods.clock.now();
        let is_new = self.runtime.is_none() && changed.stage == PodStage::Starting;
        let mut share = None;
        if is_new {
            let own = Share::of(self.pod);
            let node = pods.node_objects.get(&ObjectKey::cluster(&*self.node.name));
            let machine = &self.node.machine;
            let refused = node.and_then(|node| {
                pressed_out(self.pod, &machine.shortage.pressed())
                    .or_else(|| refusal(self.pod, &own, &node, &machine.taken()))
            });
            if let Some((reason, message)) = refused {
                changed = Runtime::refused(self.pod, reason, message, now);
            }
            share = Some(own);
        }
        if changed.ip.is_none() && !matches!(changed.stage, PodStage::Starting | PodStage::Ended) {
            changed.ip = self.node.machine.new_address(&self.around.ranges);
        }
        self.record(&changed);
        of_stage(self.pod, &changed, &self.around).into_iter().for_each(|told| self.tell(&told));
        let before = self.runtime.as_ref();
        let lines = before.map(|before| lines_of_stage(self.pod, before, &changed, &self.around, now));
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        self.node.machine.set(self.key, uid, changed.clone(), lines.unwrap_or_default());
        if let Some(share) = share {
            self.node.machine.take(self.key, share);
        } else if self.runtime.is_none() {
            self.node.machine.take(self.key, Share::of(self.pod));
            for place in changed.places() {
                if let (Some(container), true) = (self.around.container(self.pod, place), changed.has_run_at(place)) {
                    self.node.machine.name(self.key, &container.name, place);
                }
            }
        }
        if changed.stage == PodStage::Ended {
            pods.makes_room(self.node);
            for name in self.around.transcripts.keys() {
                self.node.machine.silence(self.key, name, now);
            }
        }
        self.runtime = Some(changed);
    }

    /// Something happens to one of the pod's containers.
    fn changes(&mut self, place: Place, change: &Change, changed: Runtime) {
        let pods = self.pods;
        let now = pods.clock.now();
        let Some(container) = self.around.container(self.pod, place).cloned() else { return };
        let before = self.runtime.take();
        let talk = (*change == Change::Starts).then(|| self.talk(&container, &changed, place)).flatten();
        match &talk {
            Some(talk) => drop(self.around.transcripts.insert(container.name.clone(), talk.transcript.clone())),
            None if *change == Change::Starts => drop(self.around.transcripts.remove(&container.name)),
            None => {}
        }
        self.runtime = before;
        self.record(&changed);
        let told = of_change(self.pod, place, change, &changed, &self.around);
        told.iter().for_each(|told| self.tell(told));
        let is_silent = self.around.transcripts.contains_key(&container.name);
        let before = self.runtime.as_ref().filter(|_| !is_silent);
        let line = before.and_then(|before| line_of_change(&container, change, before, &changed, place, now));
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        let is_stopped = matches!(change, Change::Probed(..))
            && changed.container(place).is_some_and(|own| own.state != State::Running);
        self.node.machine.set(self.key, uid, changed.clone(), line.into_iter().collect());
        if *change == Change::Starts {
            self.node.machine.name(self.key, &container.name, place);
        }
        if let Some(talk) = talk {
            self.node.machine.talk(self.key, &container.name, talk);
        } else if is_stopped {
            self.node.machine.silence(self.key, &container.name, now);
        }
        self.runtime = Some(changed);
    }

    /// What a container says in the run that it begins, if its program is known.
    fn talk(&self, container: &Container, changed: &Runtime, place: Place) -> Option<Talk> {
        let now = self.pods.clock.now();
        let facts = Facts { node: &self.node.name, host_ip: &self.node.machine.address, pod_ip: changed.ip.as_deref() };
        let world = self.sources.world(self.pod, container, &facts);
        let transcript = Arc::new(transcript(container, &world, now)?);
        let restarts = changed.container(place)?.restarts;
        Some(Talk { restarts, began: now, stopped: None, transcript })
    }

    fn record(&self, to: &Runtime) {
        let (pod, pods) = (self.pod, self.pods);
        let before = self.runtime.as_ref().map_or_else(|| "Bound".to_owned(), |runtime| runtime.word(pod));
        let after = to.word(pod);
        if before != after {
            self.pass.decided(|| format!("{before} becomes {after}"));
            pods.recorder.record(&self.node.voice.actor, Stage::KubeletTransition, || {
                let detail = Detail::about(format!("pods/{}", self.key)).caused_by(self.pass.cause());
                detail.with("from", before).with("to", after).with("node", &*self.node.name)
            });
        }
    }

    fn tell(&self, told: &Told<'_>) {
        let events = self.node.events.in_pass(self.pass);
        events.event_on(about(self.pod, told.place, &self.around), told.event_type, told.reason, told.message.as_str());
    }

    /// What the containers use from now on is counted.
    fn measure(&self) {
        let Some(runtime) = &self.runtime else { return };
        let (meters, now) = (&self.node.machine.meters, self.pods.clock.now());
        let given = self.pods.given(self.node, self.pod);
        self.pods.look_at_node(self.node, self.around.is_told() || !given.0.is_empty());
        let runs = runs(self.pod, runtime, &self.around, now);
        for message in meters.observe(self.pod, runtime.seen, &runs, &given, now) {
            self.tell(&Told { place: None, event_type: EventType::Warning, reason: "InvalidUsage", message });
        }
    }

    /// Whether no container of the pod runs any more or will.
    fn has_ended(&self) -> bool {
        self.runtime.as_ref().map_or(self.pod.is_finished(), |runtime| runtime.stage == PodStage::Ended)
    }

    fn wish(&self) -> Wish<'_> {
        if self.has_ended() { Wish::Unmounted(Some(self.pod)) } else { Wish::Mounted(self.pod) }
    }
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
            let mut value = value.clone();
            // A strategic merge would keep addresses that the pod no longer has.
            let had = before.get(field).and_then(Value::as_array).is_some_and(|had| !had.is_empty());
            if had && let (Value::Array(addresses), "podIPs" | "hostIPs") = (&mut value, field.as_str()) {
                addresses.push(json!({"$patch": "replace"}));
            }
            patch.insert(field.clone(), value);
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
    let is_said = |type_: &str| status.conditions.iter().any(|condition| condition.type_ == type_);
    let gone = OWN_CONDITIONS.iter().filter(|type_| pod.condition(type_).is_some() && !is_said(type_));
    let gone = gone.map(|type_| json!({"$patch": "delete", "type": type_}));
    let changed: Vec<Value> = changed.into_iter().chain(gone).collect();
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
