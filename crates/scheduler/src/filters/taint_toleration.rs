use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use crate::taints::tolerated;

/// Rejects nodes with taints that the pod does not tolerate.
#[derive(Debug)]
struct TaintToleration;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(TaintToleration)
}

fn passes(pod: &PodInfo, node: &NodeInfo) -> bool {
    tolerated(&node.taints, &pod.tolerations)
}

impl Filter for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        Some(Box::new(|node| {
            if passes(pod, node) {
                FilterVerdict::Fits
            } else {
                FilterVerdict::unresolvable("node(s) had untolerated taint(s)")
            }
        }))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::if_node_now_passes(event, |node| passes(pod, node))
    }
}
