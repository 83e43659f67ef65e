use crate::framework::{Check, ClusterEvent, Filter, Hint, LooksAt, Verdict};
use crate::node_affinity::allows;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Holds a pod to its node selector and its required node affinity.
pub(super) struct NodeAffinity;

impl Filter for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<Check<'a>> {
        if pod.node_selector.is_empty() && pod.required_nodes.is_none() {
            return None;
        }
        Some(Box::new(|node| {
            if allows(pod, node) {
                Verdict::Fits
            } else {
                Verdict::unresolvable("node(s) didn't match Pod's node affinity/selector")
            }
        }))
    }

    fn only_nodes(&self, pod: &PodInfo) -> Option<Vec<String>> {
        let terms = pod.required_nodes.as_ref().filter(|terms| !terms.is_empty())?;
        terms.iter().map(|term| term.only_node().map(str::to_owned)).collect()
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::if_node_now_passes(event, |node| allows(pod, node))
    }
}
