use std::collections::BTreeMap;

use coracle_meta::{LabelOperator, LabelRequirement, LabelSelector};

use crate::core_v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

/// A [`NodeSelectorTerm`] whose requirements are parsed: one alternative of a node selector.
///
/// In Kubernetes: `nodeSelectorTerm` of `component-helpers/scheduling/corev1/nodeaffinity`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeTerm {
    /// On the labels.
    pub expressions: LabelSelector,
    /// On the fields; only `metadata.name` exists.
    pub fields: LabelSelector,
}

impl NodeSelectorRequirement {
    /// The requirement, parsed.
    pub fn to_requirement(&self) -> LabelRequirement {
        LabelRequirement {
            key: self.key.clone(),
            operator: match self.operator.as_str() {
                "NotIn" => LabelOperator::NotIn,
                "Exists" => LabelOperator::Exists,
                "DoesNotExist" => LabelOperator::DoesNotExist,
                "Gt" => LabelOperator::GreaterThan,
                "Lt" => LabelOperator::LessThan,
                _ => LabelOperator::In,
            },
            values: self.values.clone(),
        }
    }
}

impl From<&NodeSelectorTerm> for NodeTerm {
    fn from(term: &NodeSelectorTerm) -> Self {
        let all = |requirements: &[NodeSelectorRequirement]| LabelSelector {
            requirements: requirements.iter().map(NodeSelectorRequirement::to_requirement).collect(),
            nothing: false,
        };
        Self { expressions: all(&term.match_expressions), fields: all(&term.match_fields) }
    }
}

impl NodeSelectorTerm {
    /// Whether it matches a node.
    pub fn matches(&self, node: &Node) -> bool {
        NodeTerm::from(self).matches(node.metadata.name.as_deref().unwrap_or_default(), &node.metadata.labels)
    }
}

impl NodeTerm {
    /// Whether all requirements match the node with this name and these labels; a term without requirements matches
    /// no node.
    pub fn matches(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        if self.expressions.is_everything() && self.fields.is_everything() {
            return false;
        }
        self.expressions.matches(labels) && self.fields.matches_by(|field| (field == "metadata.name").then_some(name))
    }

    /// The only node that can match, if a requirement on the name determines it.
    pub fn only_node(&self) -> Option<&str> {
        let is_name = |field: &&LabelRequirement| field.key == "metadata.name" && field.operator == LabelOperator::In;
        match self.fields.requirements.iter().find(is_name)?.values.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }
}

/// Whether a node selector and required node affinity allow the node with this name and these labels: all labels of
/// the selector, and one of the terms.
///
/// In Kubernetes: `nodeaffinity.RequiredNodeAffinity.Match`.
pub fn allows_node(
    selector: &BTreeMap<String, String>,
    required: Option<&[NodeTerm]>,
    name: &str,
    labels: &BTreeMap<String, String>,
) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        && required.is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
}

impl PodSpec {
    /// Whether the node selector and the required node affinity allow a node.
    ///
    /// In Kubernetes: `nodeaffinity.GetRequiredNodeAffinity(pod).Match`.
    pub fn allows_node(&self, node: &Node) -> bool {
        let affinity = self.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_deref());
        let required = affinity.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_deref());
        let terms: Option<Vec<NodeTerm>> =
            required.map(|selector| selector.node_selector_terms.iter().map(NodeTerm::from).collect());
        let name = node.metadata.name.as_deref().unwrap_or_default();
        allows_node(&self.node_selector, terms.as_deref(), name, &node.metadata.labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_v1::{Affinity, NodeAffinity, NodeSelector};

    fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeSelectorRequirement {
        NodeSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
            ..NodeSelectorRequirement::default()
        }
    }

    #[test]
    fn selector_and_one_whole_term_of_the_affinity_have_to_allow_a_node() {
        let mut node = Node::default();
        node.metadata.name = Some("n".to_owned());
        node.metadata.labels =
            [("disk".to_owned(), "ssd".to_owned()), ("cores".to_owned(), "8".to_owned())].into_iter().collect();
        let term = |expressions: &[NodeSelectorRequirement], fields: &[NodeSelectorRequirement]| NodeSelectorTerm {
            match_expressions: expressions.to_vec(),
            match_fields: fields.to_vec(),
            ..NodeSelectorTerm::default()
        };
        let many_cores = requirement("cores", "Gt", &["4"]);
        let slow = requirement("disk", "NotIn", &["ssd"]);
        let named = requirement("metadata.name", "In", &["n"]);
        let many_cores_of_n = term(std::slice::from_ref(&many_cores), &[named]);
        assert!(many_cores_of_n.matches(&node));
        assert_eq!(NodeTerm::from(&many_cores_of_n).only_node(), Some("n"));
        assert!(!term(&[many_cores.clone(), slow.clone()], &[]).matches(&node));
        assert!(!term(&[], &[]).matches(&node), "an empty term matches no node");

        let with_terms = |terms: Vec<NodeSelectorTerm>| {
            let selector = NodeSelector { node_selector_terms: terms, ..NodeSelector::default() };
            let nodes = NodeAffinity {
                required_during_scheduling_ignored_during_execution: Some(Box::new(selector)),
                ..NodeAffinity::default()
            };
            let affinity = Affinity { node_affinity: Some(Box::new(nodes)), ..Affinity::default() };
            PodSpec { affinity: Some(Box::new(affinity)), ..PodSpec::default() }
        };
        let mut spec = with_terms(vec![term(&[slow], &[]), term(&[many_cores], &[])]);
        assert!(spec.allows_node(&node));
        spec.node_selector.insert("disk".to_owned(), "hdd".to_owned());
        assert!(!spec.allows_node(&node));
        assert!(!with_terms(Vec::new()).allows_node(&node));
    }
}
