//! Which step a claim needs next when it requests more than its volume has.

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition};
use coracle_meta::Quantity;

use crate::DRIVER;

pub(super) const STORAGE: &str = "storage";
/// The annotation of a claim whose volume needs no expansion on the node.
const NOT_REQUIRED: &str = "volume.kubernetes.io/node-expansion-not-required";
/// The condition types that are about expansion.
const OF_GROWTH: [&str; 4] = ["Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"];

/// A step of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpansionStep {
    /// Nothing, or the node has to act.
    Nothing,
    /// Expand the volume to this size.
    Grow(Quantity),
    /// The volume has this size already: hand over to the node, or finish.
    HandOn(Quantity),
}

/// The next step of an expansion. In Kubernetes: `expandAndRecover` of external-resizer.
pub(super) fn step(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> ExpansionStep {
    let is_own = volume.spec.csi.as_ref().is_some_and(|source| source.driver == DRIVER) && volume.is_for(claim);
    let has = claim.status.capacity.get(STORAGE).copied().unwrap_or_else(|| Quantity::of(0));
    if !is_own || claim.status.phase != "Bound" || claim.requested_storage() <= has {
        return ExpansionStep::Nothing;
    }
    let promised = claim.status.allocated_resources.get(STORAGE).copied();
    let status = claim.status.allocated_resource_statuses.get(STORAGE).map_or("", String::as_str);
    let is_with_node = matches!(status, "NodeResizePending" | "NodeResizeInProgress");
    let wanted = match promised {
        Some(promised) if is_with_node || status == "ControllerResizeInProgress" => promised,
        _ => claim.requested_storage(),
    };
    if volume.storage() < wanted {
        ExpansionStep::Grow(wanted)
    } else if is_with_node {
        ExpansionStep::Nothing
    } else {
        ExpansionStep::HandOn(wanted)
    }
}

/// Records that the driver expands the volume.
pub(super) fn begin(claim: &mut PersistentVolumeClaim, size: Quantity, now: &str) {
    let status = &mut claim.status;
    let is_new = status.allocated_resources.get(STORAGE) != Some(&size)
        || status.allocated_resource_statuses.get(STORAGE).is_none_or(|status| status != "ControllerResizeInProgress");
    if is_new {
        status.conditions.retain(|condition| !OF_GROWTH.contains(&condition.type_.as_str()));
    }
    status.allocated_resources.insert(STORAGE.to_owned(), size);
    status.allocated_resource_statuses.insert(STORAGE.to_owned(), "ControllerResizeInProgress".to_owned());
    say(claim, "Resizing", "", now);
}

/// Records that the volume has its new size, and that the node has to expand the file system.
pub(super) fn hand_on(claim: &mut PersistentVolumeClaim, now: &str) {
    claim.status.allocated_resource_statuses.insert(STORAGE.to_owned(), "NodeResizePending".to_owned());
    let message = "Waiting for user to (re-)start a pod to finish file system resize of volume on node.";
    say(claim, "FileSystemResizePending", message, now);
}

/// Records that the expansion is complete. The annotation for the node is written separately from the status.
pub(super) fn finish(claim: &mut PersistentVolumeClaim, size: Quantity) {
    let status = &mut claim.status;
    status.capacity.insert(STORAGE.to_owned(), size);
    status.allocated_resource_statuses.remove(STORAGE);
    status.conditions.retain(|condition| !OF_GROWTH.contains(&condition.type_.as_str()));
}

/// Sets the annotation for whether a node has to expand the file system.
pub(super) fn note_node(claim: &mut PersistentVolumeClaim, is_required: bool) {
    if is_required {
        claim.metadata.annotations.remove(NOT_REQUIRED);
    } else {
        claim.metadata.annotations.insert(NOT_REQUIRED.to_owned(), "true".to_owned());
    }
}

/// Records that the driver failed.
pub(super) fn fail(claim: &mut PersistentVolumeClaim, why: &str, now: &str) {
    say(claim, "ControllerResizeError", &format!("failed to expand pvc with {why}"), now);
}

fn say(claim: &mut PersistentVolumeClaim, type_: &str, message: &str, now: &str) {
    let conditions = &mut claim.status.conditions;
    if conditions.iter().any(|one| one.type_ == type_ && one.status == "True" && one.message == message) {
        return;
    }
    conditions.retain(|condition| condition.type_ != type_);
    conditions.push(PersistentVolumeClaimCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        message: message.to_owned(),
        last_transition_time: Some(now.to_owned()),
        ..PersistentVolumeClaimCondition::default()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bound(requested: &str) -> (PersistentVolumeClaim, PersistentVolume) {
        let claim = json!({
            "metadata": {"name": "c", "namespace": "shop", "uid": "u"},
            "spec": {"resources": {"requests": {"storage": requested}}, "volumeName": "v"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
        });
        let volume = json!({
            "metadata": {"name": "v"},
            "spec": {"capacity": {"storage": "1Gi"}, "csi": {"driver": DRIVER, "volumeHandle": "v"},
                "claimRef": {"name": "c", "namespace": "shop", "uid": "u"}},
        });
        (serde_json::from_value(claim).unwrap(), serde_json::from_value(volume).unwrap())
    }

    fn size(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn the_volume_grows_first_and_then_it_is_the_nodes_turn() {
        let (mut claim, mut volume) = bound("2Gi");
        assert_eq!(step(&claim, &volume), ExpansionStep::Grow(size("2Gi")));
        begin(&mut claim, size("2Gi"), "now");
        assert_eq!(step(&claim, &volume), ExpansionStep::Grow(size("2Gi")));
        volume.spec.capacity.insert(STORAGE.to_owned(), size("2Gi"));
        assert_eq!(step(&claim, &volume), ExpansionStep::HandOn(size("2Gi")));
        hand_on(&mut claim, "now");
        assert_eq!(step(&claim, &volume), ExpansionStep::Nothing);
        let types: Vec<_> = claim.status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(types, ["Resizing", "FileSystemResizePending"]);
        finish(&mut claim, size("2Gi"));
        assert_eq!(step(&claim, &volume), ExpansionStep::Nothing);
        assert!(claim.status.conditions.is_empty() && claim.status.allocated_resource_statuses.is_empty());
    }

    #[test]
    fn a_started_expansion_finishes_before_the_next_one_starts() {
        let (mut claim, volume) = bound("2Gi");
        begin(&mut claim, size("2Gi"), "now");
        claim.spec.resources.requests.insert(STORAGE.to_owned(), size("5Gi"));
        assert_eq!(step(&claim, &volume), ExpansionStep::Grow(size("2Gi")));
        assert_eq!(step(&bound("1Gi").0, &volume), ExpansionStep::Nothing);
    }
}
