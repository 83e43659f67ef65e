use std::collections::BTreeSet;

use coracle_meta::LabelSelector;

use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::{PodInfo, PodVolumes, StorageRoom, Unbound, VolumeInfo};
use crate::snapshot::Snapshot;

/// Rejects nodes from which the pod's volumes are not accessible, or for which no volume can be found or provisioned.
#[derive(Debug)]
struct VolumeBinding;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(VolumeBinding)
}

const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
const NO_ROOM: &str = "node(s) did not have enough free storage";
const VOLUME_GONE: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

fn verdict(volumes: &PodVolumes, node: &NodeInfo) -> FilterVerdict {
    let mut reasons = Vec::new();
    // The check of bound claims ends at the first one with a reason.
    let mut bound = volumes.bound.iter().map(|bound| bound.volume.as_ref());
    match bound.find(|volume| volume.is_none_or(|volume| !reaches(volume, node))) {
        Some(None) => reasons.push(VOLUME_GONE),
        Some(Some(_)) => reasons.push(NODE_CONFLICT),
        None => {}
    }
    if let Err(lack) = place(volumes, node) {
        reasons.push(match lack {
            Lack::Volume => NO_VOLUME,
            Lack::Room => NO_ROOM,
        });
        reasons.sort_by_key(|reason| *reason == VOLUME_GONE);
    }
    if reasons.is_empty() { FilterVerdict::Fits } else { FilterVerdict::Unresolvable(reasons.into_iter().collect()) }
}

/// How an unbound claim gets a volume if the pod gets this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is bound to this volume.
    Volume(String),
    /// Its provisioner creates a volume.
    Provisioned,
}

/// Why a claim gets no volume on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// No existing volume matches, and none can be provisioned there.
    Volume,
    /// The storage capacity is too small.
    Room,
}

/// The choice for each unbound claim, the smallest claims first.
///
/// # Errors
/// The reason for the first claim without a volume.
pub(crate) fn place(volumes: &PodVolumes, node: &NodeInfo) -> Result<Vec<(Unbound, Placed)>, Lack> {
    let is_elsewhere = |unbound: &Unbound| unbound.selected_node.as_ref().is_some_and(|node_| **node_ != *node.name);
    if volumes.unbound.iter().any(is_elsewhere) {
        return Err(Lack::Volume);
    }
    let mut taken = BTreeSet::new();
    let mut claims: Vec<_> = volumes.unbound.iter().collect();
    claims.sort_by_key(|unbound| unbound.claim.requested_storage());
    let mut placed = Vec::new();
    for unbound in claims {
        let found = match &unbound.selected_node {
            Some(_) => None,
            None => unbound.candidates.iter().find(|one| reaches(one, node) && !taken.contains(&one.name)),
        };
        let how = match found {
            Some(volume) => {
                taken.insert(volume.name.clone());
                Placed::Volume(volume.name.clone())
            }
            None if !unbound.topologies.as_ref().is_some_and(|topologies| is_in(topologies, node)) => {
                return Err(Lack::Volume);
            }
            None if !can_provision(unbound, node) => return Err(Lack::Room),
            None => Placed::Provisioned,
        };
        placed.push((unbound.clone(), how));
    }
    Ok(placed)
}

/// In Kubernetes: `hasEnoughCapacity`.
fn can_provision(unbound: &Unbound, node: &NodeInfo) -> bool {
    let wanted = unbound.claim.spec.resources.requests.get("storage").map(|size| size.value());
    let (Some(wanted), Some(room)) = (wanted, &unbound.room) else { return true };
    room.iter().any(|room| has_room(room, wanted, node))
}

/// Whether a volume of this size can be provisioned for a node.
pub(crate) fn has_room(room: &StorageRoom, wanted: i64, node: &NodeInfo) -> bool {
    room.largest >= wanted && room.nodes.matches(&node.labels)
}

/// Whether the node is in one of the topologies; true if the list is empty.
fn is_in(topologies: &[LabelSelector], node: &NodeInfo) -> bool {
    topologies.is_empty() || topologies.iter().any(|topology| topology.matches(&node.labels))
}

impl Filter for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        (!pod.claims.is_empty()).then(|| -> PreparedFilter<'a> { Box::new(|node| verdict(&pod.volumes, node)) })
    }

    fn refuse(&self, pod: &PodInfo, _: &Snapshot) -> Option<String> {
        pod.volumes.refusal.clone()
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(
            event,
            ClusterEvent::Node { .. }
                | ClusterEvent::Claim { .. }
                | ClusterEvent::Volume { .. }
                | ClusterEvent::StorageClass { .. }
                | ClusterEvent::StorageCapacity
                | ClusterEvent::CsiNode { .. }
                | ClusterEvent::CsiDriver(_)
        )
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::when(match event {
            ClusterEvent::Node { before, after } => before.as_ref().is_none_or(|before| before.labels != after.labels),
            ClusterEvent::Claim { key, .. } => pod.has_claim(key),
            ClusterEvent::Volume { .. } | ClusterEvent::StorageClass { .. } | ClusterEvent::StorageCapacity => true,
            ClusterEvent::CsiNode { is_new, .. } => *is_new,
            ClusterEvent::CsiDriver(name) => pod.inline_drivers.contains(name),
            _ => false,
        })
    }
}

/// Whether a volume is accessible from a node.
fn reaches(volume: &VolumeInfo, node: &NodeInfo) -> bool {
    volume.nodes.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(&node.name, &node.labels)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_info::{Bound, VolumeInfo};
    use coracle_api::NodeTerm;
    use coracle_api::core_v1::PersistentVolumeClaim;
    use coracle_meta::{LabelOperator, LabelRequirement};
    use std::sync::Arc;

    fn volume(name: &str, zone: &str) -> VolumeInfo {
        let zone =
            LabelRequirement { key: "zone".to_owned(), operator: LabelOperator::In, values: vec![zone.to_owned()] };
        let expressions = LabelSelector { requirements: vec![zone], nothing: false };
        let term = NodeTerm { expressions, ..NodeTerm::default() };
        VolumeInfo { name: name.to_owned(), nodes: Some(vec![term]), ..VolumeInfo::default() }
    }

    fn node(zone: &str) -> NodeInfo {
        NodeInfo { name: "n".into(), ..NodeInfo::default() }.with_label("zone", zone)
    }

    fn unbound(size: &str, candidates: &[VolumeInfo]) -> Unbound {
        let mut claim = PersistentVolumeClaim::default();
        claim.spec.resources.requests.insert("storage".to_owned(), size.parse().unwrap());
        Unbound {
            claim: Arc::new(claim),
            selected_node: None,
            candidates: candidates.to_vec(),
            topologies: None,
            room: None,
        }
    }

    #[test]
    fn a_bound_volume_has_to_be_there_and_to_be_reached() {
        let of = |volume| {
            let bound = vec![Bound { name: "v".to_owned(), volume }];
            PodVolumes { bound, ..PodVolumes::default() }
        };
        assert_eq!(verdict(&of(Some(volume("v", "a"))), &node("a")), FilterVerdict::Fits);
        assert_eq!(verdict(&of(Some(volume("v", "b"))), &node("a")), FilterVerdict::unresolvable(NODE_CONFLICT));
        assert_eq!(verdict(&of(None), &node("a")), FilterVerdict::unresolvable(VOLUME_GONE));
    }

    #[test]
    fn claims_that_wait_share_no_volume_and_the_smallest_chooses_first() {
        let all = [volume("one", "a"), volume("two", "a")];
        let volumes =
            PodVolumes { unbound: vec![unbound("2Gi", &all[1..]), unbound("1Gi", &all)], ..PodVolumes::default() };
        let placed = place(&volumes, &node("a")).unwrap();
        let names: Vec<_> = placed.into_iter().map(|(_, how)| how).collect();
        assert_eq!(names, [Placed::Volume("one".to_owned()), Placed::Volume("two".to_owned())]);
        let volumes = PodVolumes { unbound: vec![unbound("1Gi", &all[..1]), unbound("1Gi", &all[..1])], ..volumes };
        assert_eq!(verdict(&volumes, &node("a")), FilterVerdict::unresolvable(NO_VOLUME));
    }

    #[test]
    fn a_volume_is_made_where_the_class_allows_it_and_where_it_was_asked_for_already() {
        let mut one = unbound("1Gi", &[]);
        let with =
            |one: &Unbound| verdict(&PodVolumes { unbound: vec![one.clone()], ..PodVolumes::default() }, &node("a"));
        assert_eq!(with(&one), FilterVerdict::unresolvable(NO_VOLUME));
        one.topologies = Some(Vec::new());
        assert_eq!(with(&one), FilterVerdict::Fits);
        one.topologies = Some(vec![LabelSelector::parse("zone in (b)").unwrap()]);
        assert_eq!(with(&one), FilterVerdict::unresolvable(NO_VOLUME));
        one.topologies = Some(Vec::new());
        one.selected_node = Some("other".to_owned());
        assert_eq!(with(&one), FilterVerdict::unresolvable(NO_VOLUME));
    }

    #[test]
    fn a_volume_is_made_where_there_is_room() {
        let with = |room: Option<Vec<(i64, LabelSelector)>>| {
            let room = room.map(|all| {
                let room = |(largest, nodes)| StorageRoom { largest, nodes, ..StorageRoom::default() };
                all.into_iter().map(room).collect()
            });
            let unbound = Unbound { topologies: Some(Vec::new()), room, ..unbound("2Gi", &[]) };
            verdict(&PodVolumes { unbound: vec![unbound], ..PodVolumes::default() }, &node("a"))
        };
        let there = |zone: &str| LabelSelector::parse(&format!("zone={zone}")).unwrap();
        assert_eq!(with(None), FilterVerdict::Fits, "nobody counts");
        assert_eq!(with(Some(vec![(2 << 30, there("a"))])), FilterVerdict::Fits);
        for room in [vec![], vec![(1 << 30, there("a"))], vec![(2 << 30, there("b"))]] {
            assert_eq!(with(Some(room)), FilterVerdict::unresolvable(NO_ROOM));
        }
    }
}
