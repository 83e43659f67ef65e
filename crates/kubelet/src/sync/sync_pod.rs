//! One sync of a pod: a row of stages, each a function over one [`SyncPass`].
//!
//! ```text
//! resolve sources -> admit -> sync volumes -> advance -> report events -> release volumes -> report status -> finish
//! ```
//! In Kubernetes: `SyncPod`, `SyncTerminatingPod` and `SyncTerminatedPod` of `pkg/kubelet`.

use coracle_api::core_v1::Pod;
use coracle_container_programs::Sources;
use coracle_controller_runtime::{Action, EventType, Pass, ReconcileError};
use coracle_kubelet_api::UsageOverrides;
use coracle_meta::{ObjectKey, parse_time};
use coracle_volume_manager::VolumeGoal;

use crate::node::agent::Agent;
use crate::pod::container_runs::runs_from_status;
use crate::sync::pod_workers::PodWorkers;
use crate::sync::sync_pass::{Interrupted, SyncPass};
use crate::volumes::PodVolumes;

impl PodWorkers {
    /// Advances one pod as far as possible at the moment.
    pub(crate) async fn sync_pod(&self, node: &Agent, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(bound) = self.bound(node, pass, key).await else { return self.forget_pod(node, pass, key).await };
        if self.stages.as_ref().is_some_and(|stages| stages.has_stages_for("Pod")) {
            self.measure_from_status(node, &bound.pod);
            return pass.done(|| "stages play its life");
        }
        match run_stages(SyncPass::new(self, node, pass, key, &bound)).await {
            Ok(action) | Err(Interrupted::Done(action)) => Ok(action),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    /// Forgets a pod that is not bound to the node any more, and unmounts its volumes.
    async fn forget_pod(&self, node: &Agent, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        pass.decided(|| "no such pod belongs to this node: forget it");
        node.machine.remove(key);
        node.machine.credentials.forget(key);
        node.certificates.forget(key);
        node.machine.meters.forget(key, self.clock.now());
        node.machine.shortage.forget(key);
        self.enqueue_node(node, false);
        self.retry_deferred(node);
        let left = self.volumes_of(node, pass, key).sync(VolumeGoal::Unmounted(None), &Sources::default()).await?;
        Ok(left.again.map_or(Action::Done, Action::RequeueAfter))
    }

    /// The volumes of a pod, as the volume manager of the node sees them.
    pub(crate) fn volumes_of<'a>(&'a self, agent: &'a Agent, pass: &'a Pass, key: &'a ObjectKey) -> PodVolumes<'a> {
        let (nodes, recorder, drivers) = (&self.node_objects, &self.recorder, &self.csi_drivers);
        PodVolumes { agent, pass, key, nodes, recorder, drivers }
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
}

/// The stages of a sync, in their order.
async fn run_stages(mut sync: SyncPass<'_>) -> Result<Action, Interrupted> {
    sync.resolve_sources().await?;
    sync.admit();
    sync.sync_volumes().await?;
    sync.advance();
    sync.report_events();
    sync.release_volumes().await?;
    sync.report_status().await?;
    sync.finish().await
}
