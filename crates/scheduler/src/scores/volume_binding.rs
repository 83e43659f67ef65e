use std::collections::BTreeMap;

use crate::arguments::Arguments;
use crate::filters::{Placed, has_room, place};
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::{PodInfo, PodVolumes, Unbound};
use crate::snapshot::Snapshot;

/// Prefers nodes where the storage that the pod's claims get is used least.
#[derive(Debug)]
struct VolumeBinding;

pub(crate) fn make(_: &Arguments) -> Box<dyn Score> {
    Box::new(VolumeBinding)
}

/// What the claims of one storage class request, and what they get it from, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Storage {
    requested: i64,
    capacity: i64,
}

impl Storage {
    /// Falls from the highest score with the share that is used.
    fn score(self) -> i64 {
        if self.capacity == 0 || self.requested > self.capacity {
            return 0;
        }
        let used = i128::from(self.requested) * i128::from(MAX_SCORE) / i128::from(self.capacity);
        MAX_SCORE - i64::try_from(used).unwrap_or(MAX_SCORE)
    }
}

impl Score for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        if pod.volumes.unbound.is_empty() {
            return None;
        }
        Some(nodes.iter().map(|node| on_node(&pod.volumes, node)).collect())
    }
}

/// The rounded average over the storage classes. Existing volumes that are chosen count alone; without one, the
/// capacity counts that drivers report.
fn on_node(volumes: &PodVolumes, node: &NodeInfo) -> i64 {
    let Ok(placed) = place(volumes, node) else { return 0 };
    let mut existing: BTreeMap<&str, Storage> = BTreeMap::new();
    let mut provisioned: BTreeMap<&str, Storage> = BTreeMap::new();
    for (unbound, how) in &placed {
        let (class, requested) = (unbound.claim.storage_class(), requested(unbound));
        match how {
            Placed::Volume(name) => {
                let volume = unbound.candidates.iter().find(|volume| volume.name == *name);
                let storage = existing.entry(class).or_default();
                storage.requested += requested;
                storage.capacity += volume.map_or(0, |volume| volume.capacity);
            }
            Placed::Provisioned => {
                let Some(room) = unbound.room.iter().flatten().find(|room| has_room(room, requested, node)) else {
                    continue;
                };
                let storage = provisioned.entry(class).or_default();
                storage.requested += requested;
                storage.capacity = room.capacity;
            }
        }
    }
    let classes = if existing.is_empty() { provisioned } else { existing };
    let sum: i64 = classes.values().map(|storage| storage.score()).sum();
    match classes.len() {
        0 => 0,
        count => (sum as f64 / count as f64).round() as i64,
    }
}

fn requested(unbound: &Unbound) -> i64 {
    unbound.claim.requested_storage().value()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coracle_api::core_v1::PersistentVolumeClaim;
    use coracle_meta::LabelSelector;

    use super::*;
    use crate::pod_info::{StorageRoom, VolumeInfo};

    fn unbound(class: &str, size: i64) -> Unbound {
        let mut claim = PersistentVolumeClaim::default();
        claim.spec.storage_class_name = Some(class.to_owned());
        claim.spec.resources.requests.insert("storage".to_owned(), size.to_string().parse().unwrap());
        Unbound {
            claim: Arc::new(claim),
            selected_node: None,
            candidates: Vec::new(),
            topologies: Some(Vec::new()),
            room: None,
        }
    }

    fn room(capacity: i64) -> Option<Vec<StorageRoom>> {
        Some(vec![StorageRoom { largest: capacity, capacity, nodes: LabelSelector::default() }])
    }

    fn score(unbound: Vec<Unbound>) -> i64 {
        on_node(&PodVolumes { unbound, ..PodVolumes::default() }, &NodeInfo::default())
    }

    #[test]
    fn a_node_with_more_free_capacity_is_preferred() {
        assert_eq!(score(vec![Unbound { room: room(100), ..unbound("fast", 25) }]), 75);
        assert_eq!(score(vec![Unbound { room: room(1000), ..unbound("fast", 25) }]), 98);
        assert_eq!(score(vec![unbound("fast", 25)]), 0, "no capacity is reported");
    }

    #[test]
    fn claims_of_a_class_share_its_capacity_and_classes_are_averaged() {
        let fast = Unbound { room: room(100), ..unbound("fast", 25) };
        assert_eq!(score(vec![fast.clone(), fast.clone()]), 50);
        assert_eq!(score(vec![fast, Unbound { room: room(100), ..unbound("slow", 100) }]), 38, "75 and 0");
    }

    #[test]
    fn an_existing_volume_counts_alone() {
        let volume = VolumeInfo { name: "v".to_owned(), capacity: 50, ..VolumeInfo::default() };
        let bound = Unbound { candidates: vec![volume], ..unbound("fast", 40) };
        assert_eq!(score(vec![bound, Unbound { room: room(100), ..unbound("slow", 1) }]), 20);
    }
}
