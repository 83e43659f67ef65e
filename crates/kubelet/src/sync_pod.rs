//! The stages of a sync: what a node does for its own pressure, and for each pod that is bound to it.
//!
//! `sync_node` reads manifests and runs the eviction manager. `sync_pod` is a row of stages: find the pod, fetch what it
//! is configured with, mount its volumes, advance its containers, report its status. [`SyncPass`] holds what these
//! stages share.
//!
//! In Kubernetes: `SyncPod`, `SyncTerminatingPod` and `SyncTerminatedPod` of `pkg/kubelet`.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{ConfigMap, Pod, Secret};
use coracle_container_programs::{Sources, references};
use coracle_controller_runtime::{Action, EventType, Pass, ReconcileError};
use coracle_kubelet_api::UsageOverrides;
use coracle_meta::{ObjectKey, parse_time};
use coracle_volume_manager::VolumeGoal;

use crate::agent::Agent;
use crate::container_runs::runs_from_status;
use crate::fetch::fetch;
use crate::lifecycle::{PodStage, Runtime};
use crate::pod_context::PodContext;
use crate::pod_workers::PodWorkers;
use crate::power_cut::after_power_cut;
use crate::sync_pass::SyncPass;

impl PodWorkers {
    /// Reads the static pod manifests if that is due, and runs the eviction manager.
    pub(crate) async fn sync_node(&self, node: &Agent, pass: &Pass) -> Result<Action, ReconcileError> {
        pass.decided(|| "look at the node: what it is short of, and which pods its files ask for");
        let reads = self.look_at_manifests(node, pass);
        Ok(match (self.synchronize(pass, node).await?, reads) {
            (Action::Done, Some(reads)) => Action::RequeueAfter(reads),
            (Action::RequeueAfter(left), Some(reads)) => Action::RequeueAfter(left.min(reads)),
            (action, _) => action,
        })
    }

    /// Advances one pod as far as possible at the moment. In Kubernetes: `SyncPod`, `SyncTerminatingPod` and
    /// `SyncTerminatedPod`.
    pub(crate) async fn sync_pod(&self, node: &Agent, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(bound) = self.bound(node, pass, key).await else { return self.forget_pod(node, pass, key).await };
        let pod = &bound.pod;
        if self.stages.as_ref().is_some_and(|stages| stages.has_stages_for("Pod")) {
            self.measure_from_status(node, pod);
            return pass.done(|| "stages play its life");
        }
        let sources = sources(node, pass, key, pod).await?;
        if node.has_ended() {
            return pass.done(|| "the node has stopped meanwhile");
        }
        let sources = Arc::new(sources);
        let mut sync = self.sync_pass(node, pass, key, pod, sources.clone());
        if sync.runtime.is_none() && !pod.spec.volumes.is_empty() {
            // The node admits or rejects the pod before it mounts any of its volumes.
            sync.context.waits_for_volumes = true;
            sync.advance();
        }
        let mut volumes = self.volumes(node, pass, key, sync.goal(), &sources).await?;
        if node.has_ended() {
            return pass.done(|| "the node has stopped meanwhile");
        }
        sync.context.waits_for_volumes = !sync.has_ended() && !volumes.is_done;
        let step = sync.advance();
        sync.measure();
        if sync.has_ended() {
            volumes = self.volumes(node, pass, key, sync.goal(), &sources).await?;
        }
        if !sync.report_status(bound.in_api.as_deref()).await? {
            return pass.done(|| "it is gone, or another pod of that name: wait for the cache");
        }
        sync.finish(step, &volumes, &bound).await
    }

    /// Forgets a pod that is not bound to the node any more, and unmounts its volumes.
    async fn forget_pod(&self, node: &Agent, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        pass.decided(|| "no such pod belongs to this node: forget it");
        node.machine.remove(key);
        node.machine.meters.forget(key, self.clock.now());
        node.machine.shortage.forget(key);
        self.enqueue_node(node, false);
        self.retry_deferred(node);
        let left = self.volumes(node, pass, key, VolumeGoal::Unmounted(None), &Sources::default()).await?;
        Ok(left.again.map_or(Action::Done, Action::RequeueAfter))
    }

    /// What usage objects of KWOK say that the containers of a pod use.
    pub(crate) fn usage_overrides(&self, node: &Agent, pod: &Pod) -> UsageOverrides {
        let Some(stages) = &self.stages else { return Default::default() };
        let object = self.node_objects.get(&ObjectKey::cluster(&*node.name));
        stages.usage_of(pod, object.as_deref())
    }

    /// Counts the usage of a pod whose status is written by stages.
    fn measure_from_status(&self, node: &Agent, pod: &Pod) {
        let now = self.clock.now();
        let seen = pod.status.start_time.as_deref().and_then(parse_time).unwrap_or(now);
        let given = self.usage_overrides(node, pod);
        for fault in node.machine.meters.observe(pod, seen, &runs_from_status(pod, now), &given, now) {
            node.events.event(pod, EventType::Warning, "InvalidUsage", fault);
        }
    }

    fn sync_pass<'p>(
        &'p self,
        node: &'p Agent,
        pass: &'p Pass,
        key: &'p ObjectKey,
        pod: &'p Pod,
        sources: Arc<Sources>,
    ) -> SyncPass<'p> {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = node.machine.pod(key).filter(|running| running.uid == uid);
        if known.is_none() {
            node.machine.remove(key);
        }
        let mut context = PodContext::of(pod);
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        if !sources.0.is_empty() {
            let lacks = containers.filter_map(|own| Some((own.name.clone(), sources.lacked_by(pod, own)?)));
            context.lacks = lacks.collect();
        }
        context.leaves = node.machine.shortage.leaving(key, uid);
        let object = self.node_objects.get(&ObjectKey::cluster(&*node.name));
        context.ranges = object.as_ref().map(|object| object.spec.pod_cidrs.clone()).unwrap_or_default();
        let runs = known.as_ref().is_some_and(|running| running.runtime.stage == PodStage::Active);
        context.pending_resize = object.filter(|_| runs).and_then(|object| self.resized(node, pass, &object, key, pod));
        for (name, talks) in known.iter().flat_map(|running| &running.talks) {
            if let Some(talk) = talks.back() {
                context.transcripts.insert(name.clone(), talk.transcript.clone());
            }
        }
        let runtime = known.map(|running| match running.lost {
            Some(cut) => self.restart_after_power_cut(node, key, pod, &context, &running.runtime, cut),
            None => running.runtime,
        });
        SyncPass { pods: self, node, pass, key, pod, context, sources, runtime }
    }

    /// The state of the pod after its machine has lost power and got it back.
    fn restart_after_power_cut(
        &self,
        node: &Agent,
        key: &ObjectKey,
        pod: &Pod,
        context: &PodContext,
        lost: &Runtime,
        cut: Timestamp,
    ) -> Runtime {
        let mut runtime = after_power_cut(lost, pod, context, cut, self.clock.now());
        if runtime.stage == PodStage::Active {
            runtime.ip = node.machine.new_address(&context.ranges);
        }
        node.machine.set(key, pod.metadata.uid.as_deref().unwrap_or_default(), runtime.clone(), Vec::new());
        runtime
    }
}

/// Fetches the ConfigMaps and Secrets that the pod refers to, as long as any of its containers may still be created.
async fn sources(node: &Agent, pass: &Pass, key: &ObjectKey, pod: &Pod) -> Result<Sources, ReconcileError> {
    let wanted = references(pod);
    let is_settled = || node.machine.is_settled(key, pod.metadata.uid.as_deref().unwrap_or_default());
    if wanted.is_empty() || pod.is_finished() || is_settled() {
        return Ok(Sources::default());
    }
    Ok(fetch(&pass.api::<ConfigMap>(), &pass.api::<Secret>(), &key.namespace, wanted).await?)
}
