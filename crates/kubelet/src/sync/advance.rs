//! Applies the steps of a pod to its machine until it has to wait.

use std::sync::Arc;

use coracle_api::core_v1::Container;
use coracle_container_programs::{PodFacts, transcript};
use coracle_journal::{Detail, Stage};
use coracle_meta::ObjectKey;

use crate::eviction::pressed_out;
use crate::node::machine::Talk;
use crate::pod::container::{ContainerChange, ContainerPhase};
use crate::pod::container_place::ContainerPlace;
use crate::pod::lifecycle::{PodStage, PodStep, Runtime, next};
use crate::pod::refusal::{Share, refusal};
use crate::status::pod_events::{container_events, container_line, stage_events, stage_lines};
use crate::sync::sync_pass::SyncPass;

impl SyncPass<'_> {
    /// Advances the pod until it has to wait; returns what it waits for.
    pub(crate) fn run_steps(&mut self) -> PodStep {
        loop {
            match self.next_step() {
                PodStep::Become(changed) => self.change_stage(*changed),
                PodStep::Changed(place, change, changed) => self.change_container(place, &change, *changed),
                step => return step,
            }
        }
    }

    /// The next step of the pod. A pull of it is in the queue of the node before another worker asks for a pull.
    fn next_step(&mut self) -> PodStep {
        let now = self.pods.clock.now();
        let mut images = self.node.machine.images.lock();
        self.context.on_node = images.clone();
        let step = next(self.pod, self.runtime.as_ref(), &self.context, &self.pods.delays, now);
        if let PodStep::Changed(_, ContainerChange::Pulls(pull), _) = &step {
            images.begin(pull);
        }
        step
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
        for event in stage_events(self.pod, &changed, &self.context) {
            self.add_event(event);
        }
        let before = self.runtime.as_ref();
        let lines = before.map(|before| stage_lines(self.pod, before, &changed, &self.context, now));
        self.node.machine.set(self.key, self.uid(), changed.clone(), lines.unwrap_or_default());
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
    fn change_container(&mut self, place: ContainerPlace, change: &ContainerChange, changed: Runtime) {
        let pods = self.pods;
        let now = pods.clock.now();
        let Some(container) = self.context.container(self.pod, place).cloned() else { return };
        let talk = (*change == ContainerChange::Starts).then(|| self.talk(&container, &changed, place)).flatten();
        match &talk {
            Some(talk) => drop(self.context.transcripts.insert(container.name.clone(), talk.transcript.clone())),
            None if *change == ContainerChange::Starts => drop(self.context.transcripts.remove(&container.name)),
            None => {}
        }
        self.record(&changed);
        for event in container_events(self.pod, place, change, self.runtime.as_ref(), &changed, &self.context) {
            self.add_event(event);
        }
        let is_silent = self.context.transcripts.contains_key(&container.name);
        let before = self.runtime.as_ref().filter(|_| !is_silent);
        let line = before.and_then(|before| container_line(&container, change, before, &changed, place, now));
        let is_stopped = matches!(change, ContainerChange::Probed(..))
            && changed.container(place).is_some_and(|own| own.state != ContainerPhase::Running);
        self.node.machine.set(self.key, self.uid(), changed.clone(), line.into_iter().collect());
        if *change == ContainerChange::Starts {
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
}
