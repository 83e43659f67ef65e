use coracle_api::core_v1::Taint;

use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Rejects cordoned nodes, unless the pod tolerates that.
#[derive(Debug)]
struct NodeUnschedulable;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(NodeUnschedulable)
}

fn passes(pod: &PodInfo, node: &NodeInfo) -> bool {
    !node.unschedulable || pod.tolerates(&Taint::new("node.kubernetes.io/unschedulable", "NoSchedule"))
}

impl Filter for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        Some(Box::new(|node| {
            if passes(pod, node) {
                FilterVerdict::Fits
            } else {
                FilterVerdict::unresolvable("node(s) were unschedulable")
            }
        }))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::if_node_now_passes(event, |node| passes(pod, node))
    }
}
