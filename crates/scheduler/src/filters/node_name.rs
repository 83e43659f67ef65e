use crate::arguments::Arguments;
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Enforces `spec.nodeName`.
#[derive(Debug)]
struct NodeName;

pub(crate) fn make(_: &Arguments) -> Box<dyn Filter> {
    Box::new(NodeName)
}

impl Filter for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Node
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        let wanted = pod.node_name.as_deref()?;
        Some(Box::new(move |node| {
            if *node.name == *wanted {
                FilterVerdict::Fits
            } else {
                FilterVerdict::unresolvable("node(s) didn't match the requested node name")
            }
        }))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        Hint::if_node_now_passes(event, |node| pod.node_name.as_ref().is_none_or(|wanted| **wanted == *node.name))
    }
}
