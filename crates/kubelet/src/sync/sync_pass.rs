//! What one sync of a pod knows.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{ObjectReference, Pod};
use coracle_container_programs::Sources;
use coracle_controller_runtime::{Action, Pass, ReconcileError};
use coracle_meta::ObjectKey;
use coracle_volume_manager::{Progress, VolumeGoal};

use crate::node::agent::Agent;
use crate::pod::lifecycle::{PodStage, PodStep, Runtime};
use crate::pod::pod_context::PodContext;
use crate::pod::power_cut::after_power_cut;
use crate::static_pods::Bound;
use crate::status::pod_events::{PodEvent, reference};
use crate::sync::pod_workers::PodWorkers;

/// What the stages of one sync of a pod share.
pub(crate) struct SyncPass<'p> {
    pub(crate) pods: &'p PodWorkers,
    pub(crate) node: &'p Agent,
    pub(crate) pass: &'p Pass,
    pub(crate) key: &'p ObjectKey,
    pub(crate) bound: &'p Bound,
    pub(crate) pod: &'p Pod,
    pub(crate) context: PodContext,
    /// What the volumes and variables of the pod are made of, if it was fetched.
    pub(crate) sources: Arc<Sources>,
    /// When a pod certificate has to be looked at again.
    pub(crate) certificates_at: Option<Timestamp>,
    /// What runs of the pod; none before the node has admitted it.
    pub(crate) runtime: Option<Runtime>,
    pub(crate) volumes: Progress,
    /// What the pod waits for.
    pub(crate) step: PodStep,
    /// The events that were not reported yet.
    pub(crate) events: Vec<(ObjectReference, PodEvent<'static>)>,
}

/// Why a sync ends before its last stage.
pub(crate) enum Interrupted {
    /// Nothing is left to do.
    Done(Action),
    /// A request failed.
    Failed(ReconcileError),
}

impl From<ReconcileError> for Interrupted {
    fn from(error: ReconcileError) -> Self {
        Self::Failed(error)
    }
}

impl<'p> SyncPass<'p> {
    /// A sync that knows only the pod.
    pub(crate) fn new(
        pods: &'p PodWorkers,
        node: &'p Agent,
        pass: &'p Pass,
        key: &'p ObjectKey,
        bound: &'p Bound,
    ) -> Self {
        let pod = &*bound.pod;
        Self {
            pods,
            node,
            pass,
            key,
            bound,
            pod,
            context: PodContext::of(pod).with_images(pods.images.clone()),
            sources: Arc::default(),
            certificates_at: None,
            runtime: None,
            volumes: Progress { is_done: false, again: None },
            step: PodStep::Wait(None),
            events: Vec::new(),
        }
    }

    pub(crate) fn uid(&self) -> &'p str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Reads what the node knows about the pod: what its containers lack, why it leaves, and what runs of it.
    pub(crate) fn load(&mut self) {
        let Self { pods, node, pass, key, pod, .. } = *self;
        let known = node.machine.pod(key).filter(|running| running.uid == self.uid());
        if known.is_none() {
            node.machine.remove(key);
        }
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        if !self.sources.is_empty() {
            let lacks = containers.filter_map(|own| Some((own.name.clone(), self.sources.lacked_by(pod, own)?)));
            self.context.lacks = lacks.collect();
        }
        self.context.leaves = node.machine.shortage.leaving(key, self.uid());
        let object = pods.node_objects.get(&ObjectKey::cluster(&*node.name));
        self.context.ranges = object.as_ref().map(|object| object.spec.pod_cidrs.clone()).unwrap_or_default();
        let runs = known.as_ref().is_some_and(|running| running.runtime.stage == PodStage::Active);
        let object = object.filter(|_| runs);
        self.context.pending_resize = object.and_then(|object| pods.resized(node, pass, &object, key, pod));
        for (name, talks) in known.iter().flat_map(|running| &running.talks) {
            if let Some(talk) = talks.back() {
                self.context.transcripts.insert(name.clone(), talk.transcript.clone());
            }
        }
        self.runtime = known.map(|running| match running.lost {
            Some(cut) => self.restart_after_power_cut(&running.runtime, cut),
            None => running.runtime,
        });
    }

    /// The state of the pod after its machine has lost power and got it back.
    fn restart_after_power_cut(&self, lost: &Runtime, cut: Timestamp) -> Runtime {
        let mut runtime = after_power_cut(lost, self.pod, &self.context, cut, self.pods.clock.now());
        if runtime.stage == PodStage::Active {
            runtime.ip = self.node.machine.new_address(&self.context.ranges);
        }
        self.node.machine.set(self.key, self.uid(), runtime.clone(), Vec::new());
        runtime
    }

    /// Keeps an event until the events are reported.
    pub(crate) fn add_event(&mut self, event: PodEvent<'_>) {
        let object = reference(self.pod, event.place, &self.context);
        self.events.push((object, event.into_owned()));
    }

    /// Whether no container of the pod runs, and none will.
    pub(crate) fn has_ended(&self) -> bool {
        self.runtime.as_ref().map_or(self.pod.is_finished(), |runtime| runtime.stage == PodStage::Ended)
    }

    /// What the volumes of the pod must become.
    pub(crate) fn volume_goal(&self) -> VolumeGoal<'p> {
        if self.has_ended() { VolumeGoal::Unmounted(Some(self.pod)) } else { VolumeGoal::Mounted(self.pod) }
    }
}
