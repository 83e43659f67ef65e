//! Whether a cluster is ready: its nodes are, and its controllers have no work left.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many items of work a message names.
const NAMED: usize = 3;

/// Whether a cluster is ready, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Readiness {
    pub(crate) nodes: Vec<NodeReadiness>,
    /// The work that the components have left.
    pub(crate) work: Vec<String>,
}

/// Whether a node is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeReadiness {
    pub(crate) name: String,
    /// Why it is not ready.
    pub(crate) problem: Option<String>,
}

impl Readiness {
    pub(crate) fn is_ready(&self) -> bool {
        self.work.is_empty() && self.nodes.iter().all(|node| node.problem.is_none())
    }

    /// `1 of 2 ready; node-2: Kubelet stopped posting node status`.
    pub(crate) fn nodes_in_words(&self) -> String {
        if self.nodes.is_empty() {
            return "none".to_owned();
        }
        let problems: Vec<String> = self.problems().collect();
        let ready = format!("{} of {} ready", self.nodes.len() - problems.len(), self.nodes.len());
        [ready].into_iter().chain(problems).collect::<Vec<_>>().join("; ")
    }

    /// `none left`, or `queue job: default/pi is due; 3 more`.
    pub(crate) fn work_in_words(&self) -> String {
        let more = self.work.len().saturating_sub(NAMED);
        let named = self.work.iter().take(NAMED).cloned();
        let words: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
        if words.is_empty() { "none left".to_owned() } else { words.join("; ") }
    }

    /// What is not ready, one sentence for each node, and one for the work that is left.
    pub(crate) fn missing(&self) -> Vec<String> {
        let work = (!self.work.is_empty()).then(|| format!("work is left: {}", self.work_in_words()));
        self.problems().map(|problem| format!("node {problem}")).chain(work).collect()
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        self.nodes.iter().filter_map(|node| Some(format!("{}: {}", node.name, node.problem.as_ref()?)))
    }
}

impl NodeReadiness {
    /// Why a node with these conditions is not ready.
    pub(crate) fn problem(conditions: &[Value]) -> Option<String> {
        let Some(ready) = conditions.iter().find(|condition| condition["type"] == "Ready") else {
            return Some("it has no condition Ready".to_owned());
        };
        if ready["status"] == "True" {
            return None;
        }
        let text = |field: &str| ready[field].as_str().unwrap_or_default();
        let parts = [text("reason"), text("message")].into_iter().filter(|part| !part.is_empty());
        let why = parts.collect::<Vec<_>>().join(": ");
        Some(if why.is_empty() { format!("its condition Ready is {}", text("status")) } else { why })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, conditions: Value) -> NodeReadiness {
        let problem = NodeReadiness::problem(conditions.as_array().map_or(&[], Vec::as_slice));
        NodeReadiness { name: name.to_owned(), problem }
    }

    #[test]
    fn a_cluster_is_ready_if_all_nodes_are_and_no_work_is_left() {
        let ready = node("node-1", json!([{"type": "Ready", "status": "True"}]));
        let mut readiness = Readiness { nodes: vec![ready], work: Vec::new() };
        assert!(readiness.is_ready() && readiness.missing().is_empty() && Readiness::default().is_ready());
        assert_eq!(readiness.nodes_in_words(), "1 of 1 ready");
        readiness.work.push("queue job: default/pi is due".to_owned());
        assert!(!readiness.is_ready());
    }

    #[test]
    fn what_is_missing_is_named_node_by_node_and_long_lists_of_work_are_counted() {
        let unknown = json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status."}]);
        let bare = json!([{"type": "Ready", "status": "False"}]);
        let nodes = vec![node("node-1", json!([])), node("node-2", unknown), node("node-3", bare)];
        let work = (1..=5).map(|number| format!("queue job: default/{number} is due")).collect();
        let readiness = Readiness { nodes, work };
        assert_eq!(
            readiness.missing(),
            [
                "node node-1: it has no condition Ready",
                "node node-2: NodeStatusUnknown: Kubelet stopped posting node status.",
                "node node-3: its condition Ready is False",
                "work is left: queue job: default/1 is due; queue job: default/2 is due; queue job: default/3 is due; \
                 2 more",
            ]
        );
        assert!(readiness.nodes_in_words().starts_with("0 of 3 ready; node-1: it has"));
        assert_eq!(Readiness::default().nodes_in_words(), "none");
        assert_eq!(Readiness::default().work_in_words(), "none left");
    }
}
