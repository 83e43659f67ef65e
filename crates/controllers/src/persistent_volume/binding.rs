//! Binding in steps: the next sync continues where a failed one stopped.

use std::collections::BTreeMap;

use coracle_api::core_v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use coracle_controller_runtime::{Pass, ReconcileError, reference_to};

use crate::volumes::{BIND_COMPLETED, BOUND_BY_CONTROLLER, STORAGE};

/// The size of a volume before its current resize.
const PRE_RESIZE_CAPACITY: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";

/// Binds: the volume first, since two claims may compete for it.
pub(super) async fn bind(
    pass: &Pass,
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Result<(), ReconcileError> {
    let mut bound = volume.clone();
    reserve(&mut bound, claim);
    if bound != *volume {
        bound = pass.api().update(&bound).await?;
    }
    let volume = set_phase(pass, bound, "Bound", "").await?;

    let mut bound = claim.clone();
    complete(&mut bound, &volume);
    if bound != *claim {
        bound = pass.api().update(&bound).await?;
    }
    set_claim_status(pass, &bound, "Bound", Some(&volume)).await
}

/// Sets the volume's claim reference; annotates that the controller did so, unless a user had reserved it.
fn reserve(volume: &mut PersistentVolume, claim: &PersistentVolumeClaim) {
    let annotations = &volume.metadata.annotations;
    if !volume.is_for(claim) && !annotations.contains_key(BOUND_BY_CONTROLLER) {
        volume.metadata.annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    }
    let reference = reference_to(claim);
    let names = |one: &ObjectReference| (one.namespace.clone(), one.name.clone(), one.uid.clone());
    if volume.spec.claim_ref.as_deref().map(names) != Some(names(&reference)) {
        volume.spec.claim_ref = Some(Box::new(reference));
    }
}

/// Sets the claim's volume; annotates that the controller did so, unless its owner had.
fn complete(claim: &mut PersistentVolumeClaim, volume: &PersistentVolume) {
    let name = volume.metadata.name.clone().unwrap_or_default();
    let annotations = &mut claim.metadata.annotations;
    if claim.spec.volume_name != name {
        claim.spec.volume_name = name;
        annotations.entry(BOUND_BY_CONTROLLER.to_owned()).or_insert_with(|| "yes".to_owned());
    }
    annotations.entry(BIND_COMPLETED.to_owned()).or_insert_with(|| "yes".to_owned());
}

/// Removes the claim reference of the volume; a reservation by a user stays.
pub(super) fn release(volume: &mut PersistentVolume) {
    if volume.metadata.annotations.remove(BOUND_BY_CONTROLLER).is_some() {
        volume.spec.claim_ref = None;
    } else if let Some(reference) = &mut volume.spec.claim_ref {
        reference.uid.clear();
    }
}

/// Writes a volume's phase, if it differs.
pub(super) async fn set_phase(
    pass: &Pass,
    mut volume: PersistentVolume,
    phase: &str,
    message: &str,
) -> Result<PersistentVolume, ReconcileError> {
    if volume.status.phase == phase {
        return Ok(volume);
    }
    phase.clone_into(&mut volume.status.phase);
    message.clone_into(&mut volume.status.message);
    Ok(pass.api().update_status(&volume).await?)
}

/// Writes a claim's status, if it differs: with its volume's properties, or empty.
pub(super) async fn set_claim_status(
    pass: &Pass,
    claim: &PersistentVolumeClaim,
    phase: &str,
    volume: Option<&PersistentVolume>,
) -> Result<(), ReconcileError> {
    let mut changed = claim.clone();
    let status = &mut changed.status;
    match volume {
        None => {
            status.access_modes.clear();
            status.capacity = BTreeMap::new();
            status.current_volume_attributes_class_name = None;
        }
        Some(volume) => {
            status.access_modes.clone_from(&volume.spec.access_modes);
            if claim.status.phase != phase {
                let capacity = volume.spec.capacity.get(STORAGE).ok_or_else(|| {
                    let name = volume.metadata.name.as_deref().unwrap_or_default();
                    ReconcileError::Object(format!("PersistentVolume {name:?} is without a storage capacity"))
                })?;
                match volume.metadata.annotations.get(PRE_RESIZE_CAPACITY) {
                    Some(before) => {
                        status.capacity.insert(STORAGE.to_owned(), before.parse().unwrap_or(*capacity));
                    }
                    None if status.capacity.get(STORAGE) != Some(capacity) => {
                        status.capacity.clone_from(&volume.spec.capacity);
                    }
                    None => {}
                }
            }
            if claim.status.phase == "Pending" && phase == "Bound" {
                status.current_volume_attributes_class_name.clone_from(&volume.spec.volume_attributes_class_name);
            }
        }
    }
    phase.clone_into(&mut status.phase);
    if changed != *claim {
        pass.api().update_status(&changed).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = Some("c".to_owned());
        claim.metadata.namespace = Some("default".to_owned());
        claim.metadata.uid = Some("u".to_owned());
        claim
    }

    #[test]
    fn the_controllers_binding_is_removed_and_a_users_reservation_stays() {
        let mut chosen = PersistentVolume::default();
        reserve(&mut chosen, &claim());
        assert!(chosen.metadata.annotations.contains_key(BOUND_BY_CONTROLLER));
        release(&mut chosen);
        assert_eq!(chosen, PersistentVolume::default());

        let mut reserved = PersistentVolume::default();
        let reference = ObjectReference { uid: String::new(), ..reference_to(&claim()) };
        reserved.spec.claim_ref = Some(Box::new(reference));
        let before = reserved.clone();
        reserve(&mut reserved, &claim());
        assert!(!reserved.metadata.annotations.contains_key(BOUND_BY_CONTROLLER));
        assert_eq!(reserved.spec.claim_ref.as_ref().unwrap().uid, "u");
        release(&mut reserved);
        assert_eq!(reserved, before);
    }
}
