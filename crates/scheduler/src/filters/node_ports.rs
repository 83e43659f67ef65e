use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prevents host port conflicts.
#[derive(Debug)]
struct NodePorts;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(NodePorts)
}

fn passes(pod: &PodInfo, node: &NodeInfo) -> bool {
    let taken = |port| node.pods.iter().flat_map(|other| &other.host_ports).any(|other| other.conflicts(port));
    !pod.host_ports.iter().any(taken)
}

impl Filter for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Pods
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        if pod.host_ports.is_empty() {
            return None;
        }
        Some(Box::new(|node| {
            if passes(pod, node) {
                FilterVerdict::Fits
            } else {
                FilterVerdict::rejected("node(s) didn't have free ports for the requested pod ports")
            }
        }))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. } | ClusterEvent::PodGone(_))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        match event {
            ClusterEvent::PodGone(gone) => Hint::when(
                gone.host_ports.iter().any(|port| pod.host_ports.iter().any(|wanted| wanted.conflicts(port))),
            ),
            event => Hint::if_node_now_passes(event, |node| passes(pod, node)),
        }
    }
}
