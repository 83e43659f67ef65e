use crate::framework::{Check, ClusterEvent, Filter, Hint, Verdict};
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::PodInfo;

/// Keeps a pod off nodes with taints that it does not tolerate.
pub(super) struct TaintToleration;

pub(super) fn passes(pod: &PodInfo, node: &NodeInfo) -> bool {
    node.taints.iter().all(|taint| !taint.keeps_off() || pod.tolerates(taint))
}

impl Filter for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn prepare<'a>(&self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<Check<'a>> {
        Some(Box::new(|node| {
            if passes(pod, node) { Verdict::Fits } else { Verdict::unresolvable("node(s) had untolerated taint(s)") }
        }))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::if_node_now_passes(event, |node| passes(pod, node))
    }
}
