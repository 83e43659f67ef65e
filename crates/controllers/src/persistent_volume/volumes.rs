use std::sync::Arc;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use coracle_workqueue::WorkQueue;

use super::binding::{release, set_phase};
use super::matching::claim_name;
use super::reclaim::{Reclaim, let_go, migrate};
use super::volume::{VolumeStep, sentence, step};

/// The worker of volumes.
pub(super) struct Volumes {
    pub(super) claims: Lister<PersistentVolumeClaim>,
    pub(super) volumes: Lister<PersistentVolume>,
    pub(super) events: EventRecorder,
    pub(super) claim_queue: WorkQueue<ObjectKey>,
}

impl Reconciler for Volumes {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(volume) = self.volumes.get(key) else { return pass.gone() };
        let mut volume = volume.as_ref().clone();
        let mut migrated = volume.clone();
        migrate(&mut migrated);
        if migrated != volume {
            volume = pass.api().update(&migrated).await?;
        }
        let claim = self.claim_of(pass, &volume).await?;
        let step = step(&volume, claim.as_deref());
        pass.decided(|| sentence(&step));
        match step {
            VolumeStep::Phase(phase) => drop(set_phase(pass, volume, phase, "").await?),
            VolumeStep::Claim => {
                let reference = volume.spec.claim_ref.unwrap_or_default();
                let causes: Vec<_> = pass.cause().into_iter().collect();
                self.claim_queue.add(ObjectKey::new(reference.namespace, reference.name), &causes);
            }
            VolumeStep::Mismatch => self.tell_mismatch(pass, &volume, claim.as_deref()),
            VolumeStep::Release => {
                release(&mut volume);
                let released = pass.api().update(&volume).await?;
                set_phase(pass, released, "Available", "").await?;
            }
            VolumeStep::Reclaim(reclaim) => self.reclaim(pass, volume, reclaim).await?,
        }
        Ok(Action::Done)
    }
}

impl Volumes {
    /// The claim that a volume is bound to. A claim that is missing in the cache is read live.
    async fn claim_of(
        &self,
        pass: &Pass,
        volume: &PersistentVolume,
    ) -> Result<Option<Arc<PersistentVolumeClaim>>, ReconcileError> {
        let Some(reference) = volume.spec.claim_ref.as_ref().filter(|reference| !reference.uid.is_empty()) else {
            return Ok(None);
        };
        let key = ObjectKey::new(reference.namespace.as_str(), reference.name.as_str());
        let is_it = |claim: &PersistentVolumeClaim| claim.metadata.uid.as_ref() == Some(&reference.uid);
        let cached = self.claims.get(&key);
        let is_given_up = matches!(volume.status.phase.as_str(), "Released" | "Failed");
        match cached {
            Some(claim) if is_it(&claim) => Ok(Some(claim)),
            None if is_given_up => Ok(None),
            _ => {
                let live = pass.api::<PersistentVolumeClaim>().find(&key).await?;
                Ok(live.filter(|claim| is_it(claim)).map(Arc::new))
            }
        }
    }

    fn tell_mismatch(&self, pass: &Pass, volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) {
        let Some(claim) = claim else { return };
        let events = self.events.in_pass(pass);
        let (why, reason) = ("due to incompatible volumeMode.", "VolumeMismatch");
        let name = claim_name(claim);
        let message = format!("Cannot bind PersistentVolume to requested PersistentVolumeClaim {name:?} {why}");
        events.event(volume, EventType::Warning, reason, message);
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let message = format!("Cannot bind PersistentVolume {name:?} to requested PersistentVolumeClaim {why}");
        events.event(claim, EventType::Warning, reason, message);
    }

    /// Sets the volume to released, and deletes it unless an external provisioner does.
    async fn reclaim(&self, pass: &Pass, volume: PersistentVolume, reclaim: Reclaim) -> Result<(), ReconcileError> {
        let mut volume = match volume.status.phase.as_str() {
            "Released" | "Failed" => volume,
            _ => set_phase(pass, volume, "Released", "").await?,
        };
        match reclaim {
            Reclaim::Keep => {}
            Reclaim::Fail(reason, message) => {
                if volume.status.phase != "Failed" {
                    let failed = set_phase(pass, volume, "Failed", &message).await?;
                    self.events.in_pass(pass).event(&failed, EventType::Warning, reason, message);
                }
            }
            Reclaim::Delete => {
                let before = volume.clone();
                let_go(&mut volume);
                if volume != before {
                    volume = pass.api().update(&volume).await?;
                }
                if !volume.metadata.is_terminating() {
                    let key = ObjectKey::cluster(volume.metadata.name.clone().unwrap_or_default());
                    pass.delete_if_there::<PersistentVolume>(&key, &DeleteParams::default()).await?;
                }
            }
        }
        Ok(())
    }
}
