use crate::arguments::{AddedAffinity, Arguments};
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::node_affinity::allows;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Enforces a pod's node selector and required node affinity, and the configuration's added affinity.
#[derive(Debug)]
struct NodeAffinity(AddedAffinity);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Filter> {
    Box::new(NodeAffinity(arguments.node_affinity.clone()))
}

impl NodeAffinity {
    /// Whether the configuration's added affinity allows a node.
    fn adds(&self, node: &NodeInfo) -> bool {
        self.0.required.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(&node.name, &node.labels)))
    }
}

impl Filter for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        if pod.node_selector.is_empty() && pod.required_nodes.is_none() && self.0.required.is_none() {
            return None;
        }
        Some(Box::new(|node| {
            if !self.adds(node) {
                FilterVerdict::unresolvable("node(s) didn't match scheduler-enforced node affinity")
            } else if allows(pod, node) {
                FilterVerdict::Fits
            } else {
                FilterVerdict::unresolvable("node(s) didn't match Pod's node affinity/selector")
            }
        }))
    }

    fn only_nodes(&self, pod: &PodInfo) -> Option<Vec<String>> {
        let terms = pod.required_nodes.as_ref().filter(|terms| !terms.is_empty())?;
        terms.iter().map(|term| term.only_node().map(str::to_owned)).collect()
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::if_node_now_passes(event, |node| self.adds(node) && allows(pod, node))
    }
}
