use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// The topology labels of volumes, the deprecated ones first.
pub(crate) const ZONE_LABELS: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

/// Enforces the zones and regions in the labels of the pod's volumes.
#[derive(Debug)]
struct VolumeZone;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(VolumeZone)
}

/// The node label that corresponds to a deprecated label.
fn newer(label: &str) -> &str {
    match label {
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        other => other,
    }
}

impl Filter for VolumeZone {
    fn name(&self) -> &'static str {
        "VolumeZone"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn refuse(&self, pod: &PodInfo, _: &Snapshot) -> Option<String> {
        let gone = pod.volumes.bound.iter().find(|bound| bound.volume.is_none())?;
        Some(format!("persistentvolume {:?} not found", gone.name))
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        let volumes = pod.volumes.bound.iter().filter_map(|bound| bound.volume.as_ref());
        let zones: Vec<_> = volumes.flat_map(|volume| &volume.zones).collect();
        (!zones.is_empty()).then(|| -> PreparedFilter<'a> {
            Box::new(move |node| {
                if !ZONE_LABELS.iter().any(|label| node.labels.contains_key(*label)) {
                    return FilterVerdict::Fits;
                }
                let is_in = |label: &str, values: &std::collections::BTreeSet<String>| {
                    let value = node.labels.get(label).or_else(|| node.labels.get(newer(label)));
                    value.is_some_and(|value| values.contains(value))
                };
                if zones.iter().all(|(label, values)| is_in(label, values)) {
                    FilterVerdict::Fits
                } else {
                    FilterVerdict::unresolvable("node(s) had no available volume zone")
                }
            })
        })
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(
            event,
            ClusterEvent::Node { .. }
                | ClusterEvent::Claim { .. }
                | ClusterEvent::Volume { .. }
                | ClusterEvent::StorageClass { .. }
        )
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::when(match event {
            ClusterEvent::Node { before, after } => before.as_ref().is_none_or(|before| before.labels != after.labels),
            ClusterEvent::Claim { key, .. } => pod.has_claim(key),
            ClusterEvent::Volume { zones_changed } => *zones_changed,
            ClusterEvent::StorageClass { is_new, waits } => *is_new && *waits,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_info::NodeInfo;
    use crate::pod_info::{Bound, PodVolumes, VolumeInfo};

    #[test]
    fn a_node_in_another_zone_is_left_alone_and_one_without_zones_is_not() {
        let zones = vec![(ZONE_LABELS[0].to_owned(), ["a".to_owned(), "b".to_owned()].into())];
        let volume = VolumeInfo { name: "v".to_owned(), zones, ..VolumeInfo::default() };
        let bound = vec![Bound { name: "v".to_owned(), volume: Some(volume) }];
        let pod = PodInfo { volumes: PodVolumes { bound, ..PodVolumes::default() }, ..PodInfo::default() };
        let (snapshot, filter) = (Snapshot::default(), make(&Arguments::default()));
        let check = filter.prepare(&pod, &snapshot).unwrap();
        let node = |label: &str, value: &str| NodeInfo::default().with_label(label, value);
        assert_eq!(check(&node(ZONE_LABELS[2], "b")), FilterVerdict::Fits);
        assert_eq!(check(&node("other", "x")), FilterVerdict::Fits);
        let conflict = FilterVerdict::unresolvable("node(s) had no available volume zone");
        assert_eq!(check(&node(ZONE_LABELS[2], "c")), conflict);
        assert_eq!(check(&node(ZONE_LABELS[3], "b")), conflict);
    }
}
