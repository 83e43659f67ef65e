//! Which volume suits which claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_meta::LabelSelector;

/// The access modes in their order.
const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

/// The volume for a claim, if there is one. Volumes are searched by their sets of access modes, those with the fewest
/// modes first. Within the first set with a match it is a volume that is reserved for the claim, or else the smallest
/// sufficient one. While binding is `delayed`, only a reserved one.
///
/// # Errors
/// If the claim's selector is invalid.
pub(super) fn find(
    claim: &PersistentVolumeClaim,
    volumes: &[Arc<PersistentVolume>],
    delayed: bool,
) -> Result<Option<Arc<PersistentVolume>>, String> {
    let selector = match &claim.spec.selector {
        Some(selector) => selector.to_selector().map_err(|error| {
            let of = format!("{}/{}", claim.metadata.namespace.as_deref().unwrap_or_default(), claim_name(claim));
            format!("error creating internal label selector for claim: {of}: {error}")
        })?,
        None => LabelSelector::everything(),
    };
    let mut by_modes: BTreeMap<(usize, Vec<&str>), Vec<&Arc<PersistentVolume>>> = BTreeMap::new();
    for volume in volumes.iter().filter(|volume| volume.has_modes_of(claim)) {
        let modes: Vec<_> =
            MODES.into_iter().filter(|mode| volume.spec.access_modes.iter().any(|one| one == mode)).collect();
        by_modes.entry((modes.len(), modes)).or_default().push(volume);
    }
    let best = |volumes: Vec<&Arc<PersistentVolume>>| -> Option<Arc<PersistentVolume>> {
        let mut fitting: Vec<_> = volumes.into_iter().filter(|volume| volume.suits(claim)).collect();
        if let Some(place) = fitting.iter().position(|volume| volume.is_for(claim)) {
            return Some(fitting[place].clone());
        }
        fitting.retain(|volume| volume.is_free_for(claim, &selector));
        fitting.into_iter().filter(|_| !delayed).min_by_key(|volume| volume.storage()).cloned()
    };
    Ok(by_modes.into_values().find_map(best))
}

/// Why a claim cannot use the volume that it names, if so. In Kubernetes: `checkVolumeSatisfyClaim`.
pub(super) fn mismatch(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    if volume.metadata.is_terminating() {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        return Some(format!("the volume is marked for deletion {name:?}"));
    }
    let why = if volume.storage().value() < claim.requested_storage().value() {
        "requested PV is too small"
    } else if volume.storage_class() != claim.storage_class() {
        "storageClassName does not match"
    } else if volume.differs_in_attributes(claim) {
        "volumeAttributesClassName does not match"
    } else if volume.differs_in_mode(claim) {
        "incompatible volumeMode"
    } else if !volume.has_modes_of(claim) {
        "incompatible accessMode"
    } else {
        return None;
    };
    Some(why.to_owned())
}

pub(super) fn claim_name(claim: &PersistentVolumeClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::STORAGE;
    use coracle_api::core_v1::ObjectReference;

    fn claim(size: &str, modes: &[&str]) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = Some("c".to_owned());
        claim.metadata.namespace = Some("default".to_owned());
        claim.spec.access_modes = modes.iter().map(|&mode| mode.to_owned()).collect();
        claim.spec.resources.requests = [(STORAGE.to_owned(), size.parse().unwrap())].into();
        claim
    }

    fn volume(name: &str, size: &str, modes: &[&str]) -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Some(name.to_owned());
        volume.spec.access_modes = modes.iter().map(|&mode| mode.to_owned()).collect();
        volume.spec.capacity = [(STORAGE.to_owned(), size.parse().unwrap())].into();
        volume.status.phase = "Available".to_owned();
        volume
    }

    fn found(claim: &PersistentVolumeClaim, volumes: &[PersistentVolume], delayed: bool) -> Option<String> {
        let volumes: Vec<_> = volumes.iter().cloned().map(Arc::new).collect();
        find(claim, &volumes, delayed).unwrap().and_then(|volume| volume.metadata.name.clone())
    }

    const ONCE: &str = "ReadWriteOnce";

    #[test]
    fn fewer_modes_come_before_a_smaller_size_and_what_is_too_small_never_comes() {
        let volumes = [
            volume("two-modes", "2Gi", &[ONCE, "ReadOnlyMany"]),
            volume("large", "10Gi", &[ONCE]),
            volume("larger", "20Gi", &[ONCE]),
            volume("small", "500Mi", &[ONCE]),
        ];
        assert_eq!(found(&claim("1Gi", &[ONCE]), &volumes, false).as_deref(), Some("large"));
        assert_eq!(found(&claim("1Gi", &["ReadOnlyMany"]), &volumes, false).as_deref(), Some("two-modes"));
        assert_eq!(found(&claim("1Gi", &["ReadWriteMany"]), &volumes, false), None);
        assert_eq!(found(&claim("1Gi", &[ONCE]), &volumes, true), None, "the scheduler decides");
    }

    #[test]
    fn a_reserved_volume_is_preferred_and_given_to_no_other_claim() {
        let mut reserved = volume("reserved", "5Gi", &[ONCE]);
        let reference =
            ObjectReference { name: "c".to_owned(), namespace: "default".to_owned(), ..ObjectReference::default() };
        reserved.spec.claim_ref = Some(Box::new(reference));
        let volumes = [volume("free", "1Gi", &[ONCE]), reserved];
        let mut one = claim("1Gi", &[ONCE]);
        assert_eq!(found(&one, &volumes, true).as_deref(), Some("reserved"));
        one.metadata.name = Some("d".to_owned());
        assert_eq!(found(&one, &volumes[1..], false), None);
    }

    #[test]
    fn class_phase_and_selector_have_to_agree() {
        let one = claim("1Gi", &[ONCE]);
        let with = |change: fn(&mut PersistentVolume)| {
            let mut volume = volume("v", "1Gi", &[ONCE]);
            change(&mut volume);
            found(&one, &[volume], false).is_some()
        };
        assert!(with(|_| {}));
        assert!(!with(|volume| volume.spec.storage_class_name = "fast".to_owned()));
        assert!(!with(|volume| volume.status.phase = "Released".to_owned()));
        assert!(!with(|volume| volume.spec.volume_mode = Some("Block".to_owned())));
        assert!(!with(|volume| volume.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned())));
    }
}
