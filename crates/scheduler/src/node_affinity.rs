use std::collections::BTreeMap;

use coracle_meta::LabelOperator;

use crate::node_info::NodeInfo;
use crate::pod_info::{NodeSelectorTerm, PodInfo};

impl NodeSelectorTerm {
    /// Whether a node matches; an empty term matches nothing.
    pub fn matches(&self, node: &NodeInfo) -> bool {
        if self.expressions.is_everything() && self.fields.is_everything() {
            return false;
        }
        self.expressions.matches(&node.labels)
            && self.fields.matches_by(|field| (field == "metadata.name").then_some(&*node.name))
    }

    /// The only node that can match, if a requirement on the name determines it.
    pub fn only_node(&self) -> Option<&str> {
        let name = self
            .fields
            .requirements
            .iter()
            .find(|field| field.key == "metadata.name" && field.operator == LabelOperator::In)?;
        match name.values.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }
}

/// The node selector and required node affinity of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) selector: BTreeMap<String, String>,
    pub(crate) required: Option<Vec<NodeSelectorTerm>>,
}

impl Wanted {
    pub(crate) fn of(pod: &PodInfo) -> Self {
        Self { selector: pod.node_selector.clone(), required: pod.required_nodes.clone() }
    }

    pub(crate) fn allows(&self, node: &NodeInfo) -> bool {
        allow(&self.selector, self.required.as_deref(), node)
    }
}

/// Whether a pod's node selector and required node affinity allow a node.
pub(crate) fn allows(pod: &PodInfo, node: &NodeInfo) -> bool {
    allow(&pod.node_selector, pod.required_nodes.as_deref(), node)
}

fn allow(selector: &BTreeMap<String, String>, required: Option<&[NodeSelectorTerm]>, node: &NodeInfo) -> bool {
    let selected = selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    selected && required.is_none_or(|terms| terms.iter().any(|term| term.matches(node)))
}

#[cfg(test)]
mod tests {
    use coracle_meta::{LabelRequirement, LabelSelector};

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
        let term = |expressions: &[&LabelRequirement], fields: &[&LabelRequirement]| NodeSelectorTerm {
            expressions: all(expressions),
            fields: all(fields),
        };
        assert!(term(&[&ssd], &[&named]).matches(&node));
        assert!(!term(&[&ssd, &gpu], &[]).matches(&node));
        assert!(!term(&[], &[]).matches(&node), "an empty term chooses nothing");
        let pod = PodInfo { required_nodes: Some(vec![term(&[&gpu], &[]), term(&[&ssd], &[])]), ..PodInfo::default() };
        assert!(allows(&pod, &node));
        assert!(!allows(&PodInfo { required_nodes: Some(Vec::new()), ..PodInfo::default() }, &node));
        assert_eq!(term(&[], &[&named]).only_node(), Some("n"));
    }
}
