use std::collections::BTreeMap;

use coracle_api::{NodeTerm, allows_node};

use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;

/// The node selector and required node affinity of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequiredNodeAffinity {
    pub(crate) selector: BTreeMap<String, String>,
    pub(crate) required: Option<Vec<NodeTerm>>,
}

impl RequiredNodeAffinity {
    pub(crate) fn of(pod: &PodInfo) -> Self {
        Self { selector: pod.node_selector.clone(), required: pod.required_nodes.clone() }
    }

    pub(crate) fn allows(&self, node: &NodeInfo) -> bool {
        allows_node(&self.selector, self.required.as_deref(), &node.name, &node.labels)
    }
}

/// Whether a pod's node selector and required node affinity allow a node.
pub(crate) fn allows(pod: &PodInfo, node: &NodeInfo) -> bool {
    allows_node(&pod.node_selector, pod.required_nodes.as_deref(), &node.name, &node.labels)
}

#[cfg(test)]
mod tests {
    use coracle_meta::{LabelOperator, LabelRequirement, LabelSelector};

    use super::*;

    fn requirement(key: &str, operator: LabelOperator, values: &[&str]) -> LabelRequirement {
        LabelRequirement { key: key.to_owned(), operator, values: values.iter().map(|&v| v.to_owned()).collect() }
    }

    #[test]
    fn all_requirements_of_one_term_must_match() {
        let node = NodeInfo { name: "n".into(), ..NodeInfo::default() }.with_label("disk", "ssd");
        let ssd = requirement("disk", LabelOperator::In, &["ssd"]);
        let gpu = requirement("gpu", LabelOperator::Exists, &[]);
        let named = requirement("metadata.name", LabelOperator::In, &["n"]);
        let all = |requirements: &[&LabelRequirement]| LabelSelector {
            requirements: requirements.iter().map(|&one| one.clone()).collect(),
            nothing: false,
        };
        let term = |expressions: &[&LabelRequirement], fields: &[&LabelRequirement]| NodeTerm {
            expressions: all(expressions),
            fields: all(fields),
        };
        assert!(term(&[&ssd], &[&named]).matches(&node.name, &node.labels));
        assert!(!term(&[&ssd, &gpu], &[]).matches(&node.name, &node.labels));
        assert!(!term(&[], &[]).matches(&node.name, &node.labels), "an empty term chooses nothing");
        let pod = PodInfo { required_nodes: Some(vec![term(&[&gpu], &[]), term(&[&ssd], &[])]), ..PodInfo::default() };
        assert!(allows(&pod, &node));
        assert!(!allows(&PodInfo { required_nodes: Some(Vec::new()), ..PodInfo::default() }, &node));
        assert_eq!(term(&[], &[&named]).only_node(), Some("n"));
    }
}
