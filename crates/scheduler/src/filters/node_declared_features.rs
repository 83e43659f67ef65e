use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Rejects nodes that do not declare a feature that the pod needs.
#[derive(Debug)]
struct NodeDeclaredFeatures;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(NodeDeclaredFeatures)
}

fn passes(pod: &PodInfo, node: &NodeInfo) -> bool {
    pod.needed_features.iter().all(|needed| node.declared_features.iter().any(|declared| declared == needed))
}

impl Filter for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatures"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        if pod.needed_features.is_empty() {
            return None;
        }
        Some(Box::new(|node| {
            if passes(pod, node) {
                FilterVerdict::Fits
            } else {
                FilterVerdict::unresolvable("node(s) didn't match Pod's required features")
            }
        }))
    }

    fn hint(&self, _: &PodInfo, event: &ClusterEvent) -> Hint {
        match event {
            ClusterEvent::Node { before: Some(before), after } => {
                Hint::when(before.declared_features != after.declared_features)
            }
            ClusterEvent::Node { before: None, .. } => Hint::Queue,
            _ => Hint::Skip,
        }
    }
}
