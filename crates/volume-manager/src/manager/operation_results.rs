//! Records the results of volume operations: in the actual state of the world, on the disk, in the event log, and as
//! events.

use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_controller_runtime::{EventType, ReconcileError};
use coracle_journal::{Detail, Stage};
use coracle_meta::ObjectKey;
use tokio::time::Instant;

use crate::lookup::populator::has_claims;
use crate::manager::VolumeManager;
use crate::node_context::NodeContext;
use crate::operation::expansion;
use crate::operation::outcome::OperationOutcome;
use crate::reconciler::{VolumeOperation, Work};
use crate::state::{VolumeManagerState, uid_of};
use crate::world::actual_state::Mount;
use crate::world::spec::VolumeSpec;

impl VolumeManager {
    /// Records the outcome of an operation; returns whether anything has changed.
    pub(crate) async fn note_outcome(
        &self,
        context: &NodeContext<'_>,
        key: &ObjectKey,
        pod: Option<&Pod>,
        work: &Work,
        outcome: OperationOutcome,
    ) -> Result<bool, ReconcileError> {
        let now = Instant::now();
        if !self.disk.is_at(self.term) {
            return Ok(false);
        }
        let why = match outcome {
            OperationOutcome::Waits => return Ok(false),
            OperationOutcome::Done => None,
            OperationOutcome::Failed { why, has_event } => Some((why, has_event)),
        };
        let word = work.operation.word();
        self.note(context, key, word, &work.spec, why.as_ref().map(|(why, _)| why.as_str()));
        self.state.lock().executor.ends(work, why.is_some(), now);
        if let Some((why, has_event)) = why {
            self.fail(context, pod, work, why, has_event);
            return Ok(true);
        }
        if work.operation == VolumeOperation::ExpandVolume {
            self.expanded(context, pod, &work.spec).await?;
        }
        let uid = work.pod.clone();
        let state = &mut *self.state.lock();
        let actual = &mut state.actual;
        match (work.operation, &uid) {
            (VolumeOperation::VerifyControllerAttachedVolume, _) => actual.mark_attached(&work.spec),
            (VolumeOperation::MountDevice, _) => actual.mark_device(&work.spec, Some(Mount::Mounted)),
            (VolumeOperation::UnmountDevice, _) => actual.mark_device(&work.spec, None),
            (VolumeOperation::MountVolume, Some(uid)) => actual.mark_mounted(&work.spec, uid, key, Mount::Mounted),
            (VolumeOperation::UnmountVolume, Some(uid)) => actual.mark_unmounted(&work.spec.unique_name, uid),
            (VolumeOperation::MarkVolumeAsDetached, _) => actual.mark_detached(&work.spec.unique_name),
            _ => {}
        }
        self.write(state, &work.spec);
        Ok(true)
    }

    fn fail(&self, context: &NodeContext<'_>, pod: Option<&Pod>, work: &Work, why: String, has_event: bool) {
        let state = &mut *self.state.lock();
        // A failed call may have had its effect.
        match (work.operation, &work.pod, pod) {
            (VolumeOperation::MountDevice, ..) => state.actual.mark_device(&work.spec, Some(Mount::Uncertain)),
            (VolumeOperation::MountVolume, Some(uid), Some(pod)) if work.spec.driver().is_some() => {
                let key = coracle_meta::Resource::key(pod);
                state.actual.mark_mounted(&work.spec, uid, &key, Mount::Uncertain);
            }
            _ => {}
        }
        self.write(state, &work.spec);
        if let Some(pod) = pod {
            if has_claims(pod) && state.desired.pod(&uid_of(pod)).is_some() {
                state.looks.insert(uid_of(pod), Instant::now());
            }
            let reason = match work.operation {
                VolumeOperation::ExpandVolume => "VolumeResizeFailed",
                _ if work.spec.csi().is_some_and(|volume| volume.is_block) => "FailedMapVolume",
                _ => "FailedMount",
            };
            // A failed unmount has no event; Kubernetes only logs it, too.
            let is_undone = matches!(work.operation, VolumeOperation::UnmountVolume | VolumeOperation::UnmountDevice);
            if has_event && !is_undone {
                context.events.in_pass(context.pass).event(pod, EventType::Warning, reason, why);
            }
        }
    }

    async fn expanded(
        &self,
        context: &NodeContext<'_>,
        pod: Option<&Pod>,
        spec: &Arc<VolumeSpec>,
    ) -> Result<(), ReconcileError> {
        let Some((volume, (size, _))) = spec.csi().and_then(|volume| Some((volume, volume.growth?))) else {
            return Ok(());
        };
        let claim = expansion::finish(context.pass, &volume.claim, size).await?;
        let message = format!("MountVolume.NodeExpandVolume succeeded for volume {:?} {}", spec.name, context.node);
        let events = context.events.in_pass(context.pass);
        if let Some(pod) = pod {
            events.event(pod, EventType::Normal, "FileSystemResizeSuccessful", message.as_str());
        }
        if let Some(claim) = claim {
            events.event(&claim, EventType::Normal, "FileSystemResizeSuccessful", message);
        }
        let mut grown = VolumeSpec::clone(spec);
        if let crate::world::spec::VolumeSource::Csi(volume) = &mut grown.source {
            volume.growth = None;
        }
        self.state.lock().desired.learn(&Arc::new(grown));
        Ok(())
    }

    fn write(&self, state: &VolumeManagerState, spec: &Arc<VolumeSpec>) {
        let volume = state.actual.volume(&spec.unique_name);
        let is_staged = volume.is_some_and(|volume| volume.device.is_some());
        let pods = volume.map(|volume| volume.pods.iter().map(|(uid, (key, _))| (uid.clone(), key.clone())).collect());
        self.disk.write(self.term, spec, is_staged, pods.unwrap_or_default());
    }

    pub(crate) fn note(
        &self,
        context: &NodeContext<'_>,
        key: &ObjectKey,
        step: &str,
        spec: &VolumeSpec,
        error: Option<&str>,
    ) {
        context.recorder.record(context.actor, Stage::KubeletVolume, || {
            let detail = Detail::about(format!("pods/{key}")).caused_by(context.pass.cause());
            let detail = detail.with("step", step).with("volume", spec.name.as_str()).with("node", context.node);
            match error {
                Some(error) => detail.with("error", error),
                None => detail,
            }
        });
    }
}
