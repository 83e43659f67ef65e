//! What a volume needs next.

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};

use super::reclaim::{Reclaim, reclaim};
use crate::volumes::PROVISIONED_BY;

/// What to do for a volume.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
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
pub(super) fn step(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> Step {
    if volume.spec.claim_ref.as_ref().is_none_or(|reference| reference.uid.is_empty()) {
        return Step::Phase("Available");
    }
    let Some(claim) = claim else { return Step::Reclaim(reclaim(volume)) };
    if claim.spec.volume_name.is_empty() {
        return if volume.differs_in_mode(claim) { Step::Mismatch } else { Step::Claim };
    }
    if Some(&claim.spec.volume_name) == volume.metadata.name.as_ref() {
        return Step::Phase("Bound");
    }
    let was_made_for_it = volume.metadata.annotations.contains_key(PROVISIONED_BY);
    if was_made_for_it && volume.spec.persistent_volume_reclaim_policy == "Delete" {
        Step::Reclaim(reclaim(volume))
    } else {
        Step::Release
    }
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(step: &Step) -> String {
    match step {
        Step::Phase(phase) => format!("it is {phase}"),
        Step::Claim => "its claim does not name it yet: look at the claim".to_owned(),
        Step::Mismatch => "its claim wants another volume mode".to_owned(),
        Step::Release => "its claim has another volume: take it back".to_owned(),
        Step::Reclaim(Reclaim::Keep) => "its claim is gone: keep it".to_owned(),
        Step::Reclaim(Reclaim::Delete) => "its claim is gone: delete it".to_owned(),
        Step::Reclaim(Reclaim::Fail(_, why)) => format!("its claim is gone: {why}"),
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
        assert_eq!(step(&PersistentVolume::default(), None), Step::Phase("Available"));
        let mut reserved = volume();
        reserved.spec.claim_ref.as_mut().unwrap().uid.clear();
        assert_eq!(step(&reserved, None), Step::Phase("Available"));
        assert_eq!(step(&volume(), Some(&claim("v"))), Step::Phase("Bound"));
        assert_eq!(step(&volume(), Some(&claim(""))), Step::Claim);
        assert_eq!(step(&volume(), Some(&claim("w"))), Step::Release);
        let mut block = volume();
        block.spec.volume_mode = Some("Block".to_owned());
        assert_eq!(step(&block, Some(&claim(""))), Step::Mismatch);
    }

    #[test]
    fn a_provisioned_volume_is_deleted_when_its_claim_has_another() {
        let mut made = volume();
        made.metadata.annotations.insert(PROVISIONED_BY.to_owned(), "csi.example.com".to_owned());
        assert_eq!(step(&made, Some(&claim("w"))), Step::Reclaim(Reclaim::Keep), "its driver deletes it");
    }
}
