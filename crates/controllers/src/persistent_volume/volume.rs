//! What a volume needs next.

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};

use super::reclaim::{Reclaim, reclaim};
use crate::volumes::PROVISIONED_BY;

/// What to do for a volume.
#[derive(Debug, PartialEq)]
pub(super) enum VolumeStep {
    /// Set this phase.
    Phase(&'static str),
    /// Queue its claim, which completes the binding.
    Claim,
    /// Report that claim and volume are incompatible.
    Mismatch,
    /// Remove the reference to a claim that is bound to another volume.
    Release,
    /// Its claim is deleted.
    Reclaim(Reclaim),
}

/// What to do for a volume. `claim` is the bound claim, if it still exists.
pub(super) fn step(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> VolumeStep {
    if volume.spec.claim_ref.as_ref().is_none_or(|reference| reference.uid.is_empty()) {
        return VolumeStep::Phase("Available");
    }
    let Some(claim) = claim else { return VolumeStep::Reclaim(reclaim(volume)) };
    if claim.spec.volume_name.is_empty() {
        return if volume.differs_in_mode(claim) { VolumeStep::Mismatch } else { VolumeStep::Claim };
    }
    if Some(&claim.spec.volume_name) == volume.metadata.name.as_ref() {
        return VolumeStep::Phase("Bound");
    }
    let was_made_for_it = volume.metadata.annotations.contains_key(PROVISIONED_BY);
    if was_made_for_it && volume.spec.persistent_volume_reclaim_policy == "Delete" {
        VolumeStep::Reclaim(reclaim(volume))
    } else {
        VolumeStep::Release
    }
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(step: &VolumeStep) -> String {
    match step {
        VolumeStep::Phase(phase) => format!("it is {phase}"),
        VolumeStep::Claim => "its claim does not name it yet: look at the claim".to_owned(),
        VolumeStep::Mismatch => "its claim wants another volume mode".to_owned(),
        VolumeStep::Release => "its claim has another volume: take it back".to_owned(),
        VolumeStep::Reclaim(Reclaim::Keep) => "its claim is gone: keep it".to_owned(),
        VolumeStep::Reclaim(Reclaim::Delete) => "its claim is gone: delete it".to_owned(),
        VolumeStep::Reclaim(Reclaim::Fail(_, why)) => format!("its claim is gone: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::ObjectReference;

    fn volume() -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Some("v".to_owned());
        let reference = ObjectReference { uid: "u".to_owned(), ..ObjectReference::default() };
        volume.spec.claim_ref = Some(Box::new(reference));
        volume.spec.persistent_volume_reclaim_policy = "Delete".to_owned();
        volume
    }

    fn claim(volume: &str) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        volume.clone_into(&mut claim.spec.volume_name);
        claim
    }

    #[test]
    fn a_volume_follows_its_claim() {
        assert_eq!(step(&PersistentVolume::default(), None), VolumeStep::Phase("Available"));
        let mut reserved = volume();
        reserved.spec.claim_ref.as_mut().unwrap().uid.clear();
        assert_eq!(step(&reserved, None), VolumeStep::Phase("Available"));
        assert_eq!(step(&volume(), Some(&claim("v"))), VolumeStep::Phase("Bound"));
        assert_eq!(step(&volume(), Some(&claim(""))), VolumeStep::Claim);
        assert_eq!(step(&volume(), Some(&claim("w"))), VolumeStep::Release);
        let mut block = volume();
        block.spec.volume_mode = Some("Block".to_owned());
        assert_eq!(step(&block, Some(&claim(""))), VolumeStep::Mismatch);
    }

    #[test]
    fn a_provisioned_volume_is_deleted_when_its_claim_has_another() {
        let mut made = volume();
        made.metadata.annotations.insert(PROVISIONED_BY.to_owned(), "csi.example.com".to_owned());
        assert_eq!(step(&made, Some(&claim("w"))), VolumeStep::Reclaim(Reclaim::Keep), "its driver deletes it");
    }
}
