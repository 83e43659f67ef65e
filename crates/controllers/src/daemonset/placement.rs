//! Which nodes should run a daemon pod, and where an existing one may stay.

use coracle_api::apps_v1::DaemonSet;
use coracle_api::core_v1::{Node, PodSpec};

use super::template::tolerating;

/// Whether a node should run a pod of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// A pod.
    Run,
    /// No new pod, but one that is there may stay.
    Stay,
    /// No pod.
    Leave,
}

/// The scheduling requirements of a set's pods, computed once for all nodes.
///
/// In Kubernetes: `NodeShouldRunDaemonPod`.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    spec: PodSpec,
}

impl Placing {
    pub(super) fn of(set: &DaemonSet) -> Self {
        Self { spec: tolerating(set.spec.template.spec.clone()) }
    }

    pub(super) fn on(&self, node: &Node) -> Placement {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let is_named = self.spec.node_name.is_empty() || self.spec.node_name == name;
        let tolerates_all = |effects: &[&str]| {
            let mut taints = node.spec.taints.iter().filter(|taint| effects.contains(&taint.effect.as_str()));
            taints.all(|taint| self.spec.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
        };
        if !is_named || !self.spec.allows_node(node) {
            Placement::Leave
        } else if tolerates_all(&["NoSchedule", "NoExecute"]) {
            Placement::Run
        } else if tolerates_all(&["NoExecute"]) {
            Placement::Stay
        } else {
            Placement::Leave
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::Taint;

    fn node(taints: &[(&str, &str)]) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some("n".to_owned());
        let taint = |&(key, effect): &(&str, &str)| Taint {
            key: key.to_owned(),
            effect: effect.to_owned(),
            ..Taint::default()
        };
        node.spec.taints = taints.iter().map(taint).collect();
        node
    }

    #[test]
    fn a_daemon_pod_bears_a_cordon_and_a_dead_node_but_comes_to_no_silent_one() {
        let placing = Placing::of(&DaemonSet::default());
        let on = |taints: &[(&str, &str)]| placing.on(&node(taints));
        assert_eq!(on(&[]), Placement::Run);
        assert_eq!(on(&[("node.kubernetes.io/unschedulable", "NoSchedule")]), Placement::Run);
        assert_eq!(on(&[("node.kubernetes.io/unreachable", "NoExecute")]), Placement::Run);
        assert_eq!(on(&[("node.kubernetes.io/unreachable", "NoSchedule")]), Placement::Stay);
        assert_eq!(on(&[("mine", "NoExecute")]), Placement::Leave);
        assert_eq!(on(&[("mine", "PreferNoSchedule")]), Placement::Run);
    }

    #[test]
    fn a_selector_and_a_node_name_keep_a_pod_from_other_nodes() {
        let mut set = DaemonSet::default();
        set.spec.template.spec.node_name = "other".to_owned();
        assert_eq!(Placing::of(&set).on(&node(&[])), Placement::Leave);
        set.spec.template.spec.node_name = "n".to_owned();
        assert_eq!(Placing::of(&set).on(&node(&[])), Placement::Run);
        set.spec.template.spec.node_selector.insert("disk".to_owned(), "ssd".to_owned());
        assert_eq!(Placing::of(&set).on(&node(&[])), Placement::Leave);
    }
}
