use coracle_meta::ObjectKey;

use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Rejects nodes where another pod uses the same disk exclusively, and enforces `ReadWriteOncePod`.
#[derive(Debug)]
struct VolumeRestrictions;

const DISK_CONFLICT: &str = "node(s) had no available disk";
const IN_USE: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(VolumeRestrictions)
}

fn share_a_disk(pod: &PodInfo, other: &PodInfo) -> bool {
    pod.disks.iter().any(|disk| other.disks.iter().any(|theirs| disk.conflicts(theirs)))
}

fn users_on(node: &NodeInfo, claim: &ObjectKey) -> i64 {
    node.pods.iter().filter(|pod| pod.has_claim(claim)).count() as i64
}

/// How many pods use a claim; `node` replaces its version in the snapshot.
fn users(snapshot: &Snapshot, claim: &ObjectKey, node: &NodeInfo) -> i64 {
    let known = snapshot.users_of_claim(claim);
    match snapshot.at(node.slot).filter(|_| node.is_supposed) {
        Some(as_known) => known - users_on(as_known, claim) + users_on(node, claim),
        None => known,
    }
}

impl Filter for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Pods
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        let exclusive: Vec<_> = pod
            .volumes
            .exclusive
            .iter()
            .map(|claim| ObjectKey::new(pod.key.namespace.as_str(), claim.as_str()))
            .collect();
        let is_used = exclusive.iter().any(|claim| snapshot.users_of_claim(claim) > 0);
        if pod.disks.is_empty() && !is_used {
            return None;
        }
        Some(Box::new(move |node| {
            if !pod.disks.is_empty() && node.pods.iter().any(|other| share_a_disk(pod, other)) {
                return FilterVerdict::rejected(DISK_CONFLICT);
            }
            if exclusive.iter().any(|claim| users(snapshot, claim, node) > 0) {
                return FilterVerdict::rejected(IN_USE);
            }
            FilterVerdict::Fits
        }))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(
            event,
            ClusterEvent::Node { before: None, .. }
                | ClusterEvent::PodGone(_)
                | ClusterEvent::Claim { is_new: true, .. }
        )
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::when(match event {
            ClusterEvent::Node { before, .. } => before.is_none(),
            ClusterEvent::PodGone(gone) => {
                let shares_a_claim = || gone.claims.iter().any(|claim| pod.claims.contains(claim));
                gone.key.namespace == pod.key.namespace && (share_a_disk(pod, gone) || shares_a_claim())
            }
            ClusterEvent::Claim { key, is_new } => *is_new && pod.has_claim(key),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::pod_info::{Disk, PodVolumes};

    fn verdicts(pod: &PodInfo, there: PodInfo) -> [FilterVerdict; 2] {
        let mut a = NodeInfo { name: "a".into(), ..NodeInfo::default() };
        a.add(Arc::new(there));
        let snapshot: Snapshot = [a, NodeInfo { name: "b".into(), ..NodeInfo::default() }].into_iter().collect();
        let filter = make(&Arguments::default());
        let check = filter.prepare(pod, &snapshot).unwrap();
        let mut without = snapshot.node("a").unwrap().supposed();
        without.remove(&ObjectKey::new("default", "there"));
        assert_eq!(check(&without), FilterVerdict::Fits, "its going makes room");
        [check(snapshot.node("a").unwrap()), check(snapshot.node("b").unwrap())]
    }

    #[test]
    fn a_claim_for_one_pod_is_in_use_everywhere() {
        let of = |name: &str| PodInfo {
            key: ObjectKey::new("default", name),
            claims: vec!["c".to_owned()],
            volumes: PodVolumes { exclusive: vec!["c".to_owned()], ..PodVolumes::default() },
            ..PodInfo::default()
        };
        assert_eq!(
            verdicts(&of("new"), of("there")),
            [FilterVerdict::rejected(IN_USE), FilterVerdict::rejected(IN_USE)]
        );
    }

    #[test]
    fn a_disk_is_shared_only_for_reading() {
        let of = |name: &str, read_only| PodInfo {
            key: ObjectKey::new("default", name),
            disks: vec![Disk { kind: "gce", name: "d".to_owned(), monitors: Vec::new(), read_only }],
            ..PodInfo::default()
        };
        let both = verdicts(&of("new", false), of("there", true));
        assert_eq!(both, [FilterVerdict::rejected(DISK_CONFLICT), FilterVerdict::Fits]);
        assert_eq!(verdicts(&of("new", true), of("there", true)), [FilterVerdict::Fits, FilterVerdict::Fits]);
    }
}
