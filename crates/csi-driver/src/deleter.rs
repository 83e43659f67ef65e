//! Deletes released volumes whose reclaim policy is `Delete`.
//!
//! In Kubernetes: the part of external-provisioner that works on volumes.

use coracle_api::core_v1::PersistentVolume;
use coracle_api::storage_v1::VolumeAttachment;
use coracle_client::DeleteParams;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use crate::DRIVER;
use crate::attachment::{index_by_volume, of_volume, volume_key};
use crate::behaviour::{Behaviour, CsiCall, CsiOutcome, failure};
use crate::calls::Calls;
use crate::provisioner::{FINALIZER, PROVISIONED_BY, RETRY};

pub(super) fn start(process: &Process) -> BoxFuture<'static, ()> {
    let volumes = process.informers.informer::<PersistentVolume>();
    let attachments = process.informers.informer::<VolumeAttachment>();
    index_by_volume(&attachments);
    let component = format!("{DRIVER}_csi-sim_{}", process.ambient.random.split("provisioner").uuid());
    let reconciler = Deleter {
        volumes: volumes.lister(),
        attachments: attachments.lister(),
        events: EventRecorder::new(process, &component),
        calls: Calls::default(),
    };
    let queue = process.queue("deleter", RateLimiter::exponential(RETRY.0, RETRY.1));
    let controller = Controller::on_queue(process, "deleter", queue, reconciler)
        .watches(&volumes, key_of)
        .watches(&attachments, volume_key)
        .workers(10);
    Box::pin(controller.run())
}

struct Deleter {
    volumes: Lister<PersistentVolume>,
    attachments: Lister<VolumeAttachment>,
    events: EventRecorder,
    calls: Calls,
}

impl Reconciler for Deleter {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(volume) = self.volumes.get(key).filter(|volume| is_to_go(volume)) else {
            self.calls.end(key);
            return pass.done(|| "it is not released to be deleted: nothing to do");
        };
        let tell = |reason: &str, message: String| {
            self.events.in_pass(pass).event(volume.as_ref(), EventType::Warning, reason, message);
        };
        if let Some(attachment) = of_volume(&self.attachments, &key.name).first() {
            let node = &attachment.spec.node_name;
            let message = format!("persistentvolume {} is still attached to node {node}", key.name);
            tell("VolumeFailedDelete", message);
            // The deletion of the attachment enqueues the volume again.
            return pass.done(|| format!("it is attached to {node}: wait until it is not"));
        }
        let behaviour = match Behaviour::of(CsiCall::Delete, &[&volume.metadata.annotations]) {
            Ok(behaviour) => behaviour,
            Err(why) => {
                tell("InvalidBehaviour", why.to_string());
                return pass.done(|| why.to_string());
            }
        };
        let call = self.calls.progress(key, behaviour.takes);
        if let Some(action) = self.calls.wait(pass, key, behaviour.outcome, call) {
            return Ok(action);
        }
        if behaviour.outcome == CsiOutcome::Fails {
            let message = failure(CsiCall::Delete);
            tell("VolumeFailedDelete", message.clone());
            return Err(ReconcileError::Object(message));
        }
        pass.decided(|| "unclaimed: delete it");
        if !volume.metadata.is_terminating() {
            pass.delete_if_there::<PersistentVolume>(key, &DeleteParams::default()).await?;
        }
        let let_go = |volume: &mut PersistentVolume| volume.metadata.finalizers.retain(|one| one != FINALIZER);
        pass.update(volume.as_ref(), let_go).await?;
        Ok(Action::Done)
    }
}

/// Whether the driver has to delete the volume. In Kubernetes: `shouldDelete`.
fn is_to_go(volume: &PersistentVolume) -> bool {
    let is_own = volume.metadata.annotations.get(PROVISIONED_BY).is_some_and(|driver| driver == DRIVER);
    let is_held = volume.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER);
    is_own
        && volume.status.phase == "Released"
        && volume.spec.persistent_volume_reclaim_policy == "Delete"
        && (is_held || !volume.metadata.is_terminating())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_provisioned_volumes_are_deleted_unless_retained() {
        let mut volume = PersistentVolume::default();
        volume.metadata.annotations.insert(PROVISIONED_BY.to_owned(), DRIVER.to_owned());
        volume.metadata.finalizers = vec![FINALIZER.to_owned()];
        "Released".clone_into(&mut volume.status.phase);
        "Delete".clone_into(&mut volume.spec.persistent_volume_reclaim_policy);
        let with = |change: &dyn Fn(&mut PersistentVolume)| {
            let mut changed = volume.clone();
            change(&mut changed);
            is_to_go(&changed)
        };
        assert!(with(&|_| {}));
        assert!(!with(&|volume| volume.status.phase = "Bound".to_owned()));
        assert!(!with(&|volume| volume.spec.persistent_volume_reclaim_policy = "Retain".to_owned()));
        assert!(!with(&|volume| volume.metadata.annotations.clear()));
        assert!(!with(&|volume| {
            volume.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
            volume.metadata.finalizers.clear();
        }));
    }
}
