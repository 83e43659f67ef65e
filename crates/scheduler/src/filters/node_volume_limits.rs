use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Enforces the limits of attached volumes that a node reports for each driver.
#[derive(Debug)]
struct NodeVolumeLimits;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(NodeVolumeLimits)
}

impl Filter for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Pods
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        let attachable = snapshot.attachable();
        if pod.claims.is_empty() || !attachable.limits_something() {
            return None;
        }
        let wanted = attachable.of_claims(&pod.key.namespace, &pod.claims);
        (!wanted.is_empty()).then(|| -> PreparedFilter<'a> {
            Box::new(move |node| {
                if attachable.is_too_much(&wanted, node) {
                    FilterVerdict::rejected("node(s) exceed max volume count")
                } else {
                    FilterVerdict::Fits
                }
            })
        })
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(
            event,
            ClusterEvent::CsiNode { .. }
                | ClusterEvent::PodGone(_)
                | ClusterEvent::Claim { is_new: true, .. }
                | ClusterEvent::AttachmentGone
        )
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::when(match event {
            ClusterEvent::CsiNode { is_new, takes_more } => *is_new || *takes_more,
            ClusterEvent::PodGone(gone) => !gone.claims.is_empty(),
            ClusterEvent::Claim { key, is_new } => *is_new && pod.has_claim(key),
            ClusterEvent::AttachmentGone => !pod.claims.is_empty(),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use coracle_meta::ObjectKey;

    use super::*;
    use crate::node_info::NodeInfo;

    fn pod(name: &str, claims: &[&str]) -> PodInfo {
        let claims = claims.iter().map(|&claim| claim.to_owned()).collect();
        PodInfo { key: ObjectKey::new("default", name), claims, ..PodInfo::default() }
    }

    #[test]
    fn volumes_of_a_driver_count_once_wherever_they_are_seen() {
        let mut node = NodeInfo { name: "n".into(), ..NodeInfo::default() };
        node.add(Arc::new(pod("there", &["a"])));
        let mut snapshot: Snapshot = [node].into_iter().collect();
        let attachable = snapshot.attachable_mut();
        attachable.set_limits("n", Some(BTreeMap::from([("csi".to_owned(), 2)])));
        attachable.set_class("fast", Some("csi".to_owned()));
        for (claim, volume) in [("a", "pv-a"), ("b", "pv-b"), ("c", "")] {
            attachable.set_claim(ObjectKey::new("default", claim), Some((volume.to_owned(), "fast".to_owned())));
        }
        for volume in ["pv-a", "pv-b"] {
            attachable.set_volume(volume, Some(Some(("csi".to_owned(), volume.to_owned()))));
        }
        attachable.set_attachment("x", Some(("n".to_owned(), ("csi".to_owned(), "pv-a".to_owned()))));
        let fits = |snapshot: &Snapshot, claims: &[&str]| {
            let pod = pod("new", claims);
            let filter = make(&Arguments::default());
            let check = filter.prepare(&pod, snapshot).unwrap();
            check(snapshot.node("n").unwrap()) == FilterVerdict::Fits
        };
        assert!(fits(&snapshot, &["a", "b"]), "one of the two is there already");
        assert!(!fits(&snapshot, &["b", "c"]), "one that is still to be made counts");
        snapshot.attachable_mut().set_attachment("y", Some(("n".to_owned(), ("csi".to_owned(), "pv-b".to_owned()))));
        assert!(!fits(&snapshot, &["c"]));
        snapshot.attachable_mut().set_attachment("y", None);
        assert!(fits(&snapshot, &["c"]));
    }
}
