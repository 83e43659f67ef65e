//! One pass of a pod worker over one pod: advances the pod on its machine, and records what happened.

use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::{Container, Pod};
use coracle_client::{DeleteParams, Error};
use coracle_container_programs::{PodFacts, Sources, transcript};
use coracle_controller_runtime::{Action, EventType, Pass, ReconcileError};
use coracle_journal::{Detail, Stage};
use coracle_meta::ObjectKey;
use coracle_volume_manager::{Progress, VolumeGoal};

use crate::agent::Agent;
use crate::container::{Change, LOOKS_AGAIN, State, signed};
use crate::container_place::ContainerPlace;
use crate::container_runs::runs;
use crate::eviction::pressed_out;
use crate::lifecycle::{PodStage, Runtime, Step, next};
use crate::machine::Talk;
use crate::pod_context::PodContext;
use crate::pod_events::{PodEvent, container_events, container_line, reference, stage_events, stage_lines};
use crate::pod_workers::PodWorkers;
use crate::refusal::{Share, refusal};
use crate::static_pods::Bound;

/// What the stages of one sync of a pod share.
pub(crate) struct SyncPass<'p> {
    pub(crate) pods: &'p PodWorkers,
    pub(crate) node: &'p Agent,
    pub(crate) pass: &'p Pass,
    pub(crate) key: &'p ObjectKey,
    pub(crate) pod: &'p Pod,
    pub(crate) context: PodContext,
    pub(crate) sources: Arc<Sources>,
    /// What runs of the pod; none before the node has admitted it.
    pub(crate) runtime: Option<Runtime>,
}

impl SyncPass<'_> {
    /// Advances the pod until it has to wait; returns what it waits for.
    pub(crate) fn advance(&mut self) -> Step {
        loop {
            let now = self.pods.clock.now();
            match next(self.pod, self.runtime.as_ref(), &self.context, &self.pods.delays, now) {
                Step::Become(changed) => self.change_stage(*changed),
                Step::Changed(place, change, changed) => self.change_container(place, &change, *changed),
                step => return step,
            }
        }
    }

    /// Moves the pod to another stage. A pod that the node rejects fails here.
    fn change_stage(&mut self, mut changed: Runtime) {
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
            changed.ip = self.node.machine.new_address(&self.context.ranges);
        }
        self.record(&changed);
        stage_events(self.pod, &changed, &self.context).into_iter().for_each(|event| self.record_event(&event));
        let before = self.runtime.as_ref();
        let lines = before.map(|before| stage_lines(self.pod, before, &changed, &self.context, now));
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        self.node.machine.set(self.key, uid, changed.clone(), lines.unwrap_or_default());
        if let Some(share) = share {
            self.node.machine.take(self.key, share);
        } else if self.runtime.is_none() {
            self.node.machine.take(self.key, Share::of(self.pod));
            for place in changed.places() {
                if let (Some(container), true) = (self.context.container(self.pod, place), changed.has_run_at(place)) {
                    self.node.machine.name(self.key, &container.name, place);
                }
            }
        }
        if changed.stage == PodStage::Ended {
            pods.retry_deferred(self.node);
            for name in self.context.transcripts.keys() {
                self.node.machine.silence(self.key, name, now);
            }
        }
        self.runtime = Some(changed);
    }

    /// Applies a change of one container.
    fn change_container(&mut self, place: ContainerPlace, change: &Change, changed: Runtime) {
        let pods = self.pods;
        let now = pods.clock.now();
        let Some(container) = self.context.container(self.pod, place).cloned() else { return };
        let before = self.runtime.take();
        let talk = (*change == Change::Starts).then(|| self.talk(&container, &changed, place)).flatten();
        match &talk {
            Some(talk) => drop(self.context.transcripts.insert(container.name.clone(), talk.transcript.clone())),
            None if *change == Change::Starts => drop(self.context.transcripts.remove(&container.name)),
            None => {}
        }
        self.runtime = before;
        self.record(&changed);
        let events = container_events(self.pod, place, change, &changed, &self.context);
        events.iter().for_each(|event| self.record_event(event));
        let is_silent = self.context.transcripts.contains_key(&container.name);
        let before = self.runtime.as_ref().filter(|_| !is_silent);
        let line = before.and_then(|before| container_line(&container, change, before, &changed, place, now));
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

    /// The output of the run that a container begins, if its program is known.
    fn talk(&self, container: &Container, changed: &Runtime, place: ContainerPlace) -> Option<Talk> {
        let now = self.pods.clock.now();
        let facts =
            PodFacts { node: &self.node.name, host_ip: &self.node.machine.address, pod_ip: changed.ip.as_deref() };
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
            pods.recorder.record(&self.node.speaker.actor, Stage::KubeletTransition, || {
                let detail = Detail::about(format!("pods/{}", self.key)).caused_by(self.pass.cause());
                detail.with("from", before).with("to", after).with("node", &*self.node.name)
            });
        }
    }

    fn record_event(&self, event: &PodEvent<'_>) {
        let events = self.node.events.in_pass(self.pass);
        let object = reference(self.pod, event.place, &self.context);
        events.event_on(object, event.event_type, event.reason, event.message.as_str());
    }

    /// Counts what the containers use from now on.
    pub(crate) fn measure(&self) {
        let Some(runtime) = &self.runtime else { return };
        let (meters, now) = (&self.node.machine.meters, self.pods.clock.now());
        let given = self.pods.usage_overrides(self.node, self.pod);
        self.pods.enqueue_node(self.node, self.context.has_annotations() || !given.of_containers.is_empty());
        let runs = runs(self.pod, runtime, &self.context, now);
        for message in meters.observe(self.pod, runtime.seen, &runs, &given, now) {
            self.record_event(&PodEvent {
                place: None,
                event_type: EventType::Warning,
                reason: "InvalidUsage",
                message,
            });
        }
    }

    /// Whether no container of the pod runs, and none will.
    pub(crate) fn has_ended(&self) -> bool {
        self.runtime.as_ref().map_or(self.pod.is_finished(), |runtime| runtime.stage == PodStage::Ended)
    }

    /// What the volumes of the pod must become.
    pub(crate) fn goal(&self) -> VolumeGoal<'_> {
        if self.has_ended() { VolumeGoal::Unmounted(Some(self.pod)) } else { VolumeGoal::Mounted(self.pod) }
    }

    /// Removes a pod that has ended, or decides when to look at it again.
    pub(crate) async fn finish(&self, step: Step, volumes: &Progress, bound: &Bound) -> Result<Action, ReconcileError> {
        let waits = match step {
            // In Kubernetes: `SyncTerminatedPod` waits until they are unmounted.
            Step::Remove if !volumes.is_done => None,
            Step::Remove if bound.is_static => {
                self.pods.static_pod_ended(self.node, self.key);
                return self.pass.done(|| "it has ended, and no file asks for it");
            }
            Step::Remove => return self.delete().await,
            Step::Wait(left) => left,
            Step::Become(_) | Step::Changed(..) => None,
        };
        let again = volumes.again.into_iter().chain(bound.again).min();
        // A missing ConfigMap or Secret is looked for again: a node does not watch them.
        let looks = (!self.context.lacks.is_empty()).then(|| signed(LOOKS_AGAIN));
        self.pass.decided(|| match (&waits, self.context.waits_for_volumes) {
            (_, true) => "its volumes are not there yet: wait for them".to_owned(),
            (Some(left), false) => format!("look again in {left:#}"),
            (None, false) => "nothing more to do".to_owned(),
        });
        Ok(match waits.into_iter().chain(looks).chain(again.map(signed)).min() {
            Some(left) => Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()),
            None => Action::Done,
        })
    }

    /// Deletes the pod from the API, without a grace period.
    async fn delete(&self) -> Result<Action, ReconcileError> {
        self.pass.decided(|| "it has ended and is to go: remove it");
        let uid = self.pod.metadata.uid.clone().unwrap_or_default();
        match self.pass.api::<Pod>().delete(self.key, &DeleteParams::now().with_uid(uid)).await {
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(Error::Transport { .. }) if self.node.machine.is_cut_off() => {}
            deleted => {
                deleted?;
            }
        }
        Ok(Action::Done)
    }
}
