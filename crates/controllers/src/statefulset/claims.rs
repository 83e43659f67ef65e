//! The owners of the claims of a StatefulSet's pods, by `persistentVolumeClaimRetentionPolicy`.
//!
//! ```text
//! whenScaled  whenDeleted   a pod that stays    a pod beyond the replicas
//! Retain      Retain        none                none
//! Retain      Delete        the set             the set
//! Delete      Retain        none                the pod
//! Delete      Delete        the set             the pod
//! ```

use coracle_api::apps_v1::StatefulSet;
use coracle_api::core_v1::{PersistentVolumeClaim, Pod};
use coracle_controller_runtime::ownership::controller_reference;
use coracle_meta::{OwnerReference, Resource};

/// The desired owners of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Owners {
    /// No change, or the owners are not managed here.
    AsTheyAre,
    /// These owners.
    Become(Vec<OwnerReference>),
}

/// Whether a claim is deleted when the set is scaled down.
fn goes_when_scaled(set: &StatefulSet) -> bool {
    set.spec.persistent_volume_claim_retention_policy.as_ref().is_some_and(|policy| policy.when_scaled == "Delete")
}

/// Whether a claim is deleted with the set.
fn goes_when_deleted(set: &StatefulSet) -> bool {
    set.spec.persistent_volume_claim_retention_policy.as_ref().is_some_and(|policy| policy.when_deleted == "Delete")
}

/// The desired owners of a claim of `pod`; `stays` is whether the pod is within the set's replicas.
///
/// In Kubernetes: `isClaimOwnerUpToDate` and `updateClaimOwnerRefForSetAndPod`.
pub(super) fn owners(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod, stays: bool) -> Owners {
    if is_stale(claim, set) || is_stale(claim, pod) {
        return Owners::AsTheyAre;
    }
    let before = &claim.metadata.owner_references;
    let is_ours = |owner: &OwnerReference| refers_to(owner, set) || refers_to(owner, pod);
    let others: Vec<_> = before.iter().filter(|owner| !is_ours(owner)).cloned().collect();
    let wanted = match (goes_when_scaled(set), goes_when_deleted(set)) {
        _ if has_other_controller(claim, set, pod) => None,
        (true, _) if !stays => Some(controller_reference(pod)),
        (_, true) => Some(controller_reference(set)),
        _ => None,
    };
    let after: Vec<_> = others.into_iter().chain(wanted).collect();
    let same = |a: &OwnerReference, b: &OwnerReference| a.uid == b.uid && a.controller == b.controller;
    let is_same = before.len() == after.len() && after.iter().all(|one| before.iter().any(|other| same(one, other)));
    if is_same { Owners::AsTheyAre } else { Owners::Become(after) }
}

/// Whether another controller manages a claim that the policy would give to the set or the pod.
pub(super) fn has_other_controller(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    let owners = &claim.metadata.owner_references;
    let is_other =
        |owner: &OwnerReference| owner.controller == Some(true) && !refers_to(owner, set) && !refers_to(owner, pod);
    (goes_when_scaled(set) || goes_when_deleted(set)) && owners.iter().any(is_other)
}

/// Whether a claim still belongs to an earlier pod of this name, and is about to be deleted with it.
///
/// In Kubernetes: `PodClaimIsStale`.
pub(super) fn belongs_to_earlier(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    goes_when_scaled(set) && is_stale(claim, pod)
}

/// Whether a claim has an owner of this name with another uid.
fn is_stale<O: Resource>(claim: &PersistentVolumeClaim, owner: &O) -> bool {
    let uid = owner.meta().uid.as_deref().unwrap_or_default();
    claim.metadata.owner_references.iter().any(|one| refers_to(one, owner) && one.uid != uid)
}

fn refers_to<O: Resource>(reference: &OwnerReference, owner: &O) -> bool {
    reference.kind == O::KIND
        && reference.api_version == O::api_version()
        && Some(&reference.name) == owner.meta().name.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(scaled: &str, deleted: &str) -> StatefulSet {
        let policy = json!({"whenScaled": scaled, "whenDeleted": deleted});
        let set = json!({"metadata": {"name": "db", "uid": "u-db"}, "spec": {"persistentVolumeClaimRetentionPolicy": policy}});
        serde_json::from_value(set).unwrap()
    }

    fn pod() -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "db-0", "uid": "u-pod"}})).unwrap()
    }

    fn claim(owners: Vec<OwnerReference>) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.owner_references = owners;
        claim
    }

    #[test]
    fn the_retention_policy_decides_the_owners_of_a_claim() {
        for (scaled, deleted, staying, leaving) in [
            ("Retain", "Retain", "", ""),
            ("Retain", "Delete", "u-db", "u-db"),
            ("Delete", "Retain", "", "u-pod"),
            ("Delete", "Delete", "u-db", "u-pod"),
        ] {
            let set = set(scaled, deleted);
            for (stays, wanted) in [(true, staying), (false, leaving)] {
                for before in [vec![], vec![controller_reference(&set)], vec![controller_reference(&pod())]] {
                    let after = match owners(&claim(before.clone()), &set, &pod(), stays) {
                        Owners::AsTheyAre => before,
                        Owners::Become(after) => after,
                    };
                    let uids: Vec<_> = after.iter().map(|owner| owner.uid.as_str()).collect();
                    assert_eq!(uids.join(","), wanted, "{scaled} {deleted} {stays}");
                    assert_eq!(owners(&claim(after), &set, &pod(), stays), Owners::AsTheyAre);
                }
            }
        }
    }

    #[test]
    fn a_claim_of_another_owner_or_of_an_earlier_pod_is_not_changed() {
        let set = set("Delete", "Delete");
        let other =
            OwnerReference { kind: "Backup".into(), uid: "x".into(), controller: Some(true), ..Default::default() };
        assert!(has_other_controller(&claim(vec![other.clone()]), &set, &pod()));
        assert_eq!(owners(&claim(vec![other.clone()]), &set, &pod(), true), Owners::AsTheyAre);
        let both = claim(vec![other.clone(), controller_reference(&set)]);
        assert_eq!(owners(&both, &set, &pod(), true), Owners::Become(vec![other]));

        let earlier = OwnerReference { uid: "u-earlier".into(), ..controller_reference(&pod()) };
        assert_eq!(owners(&claim(vec![earlier.clone()]), &set, &pod(), true), Owners::AsTheyAre);
        assert!(belongs_to_earlier(&claim(vec![earlier]), &set, &pod()));
    }
}
