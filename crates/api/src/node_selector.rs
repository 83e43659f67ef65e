use coracle_meta::{LabelOperator, LabelRequirement, LabelSelector};

use crate::core_v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

impl NodeSelectorRequirement {
    /// The requirement, ready to match.
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

impl NodeSelectorTerm {
    /// Whether a node is selected; an empty term selects nothing.
    pub fn matches(&self, node: &Node) -> bool {
        if self.match_expressions.is_empty() && self.match_fields.is_empty() {
            return false;
        }
        let all_of = |requirements: &[NodeSelectorRequirement]| LabelSelector {
            requirements: requirements.iter().map(NodeSelectorRequirement::to_requirement).collect(),
            nothing: false,
        };
        let name = node.metadata.name.as_deref().unwrap_or_default();
        all_of(&self.match_expressions).matches(&node.metadata.labels)
            && all_of(&self.match_fields).matches_by(|field| (field == "metadata.name").then_some(name))
    }
}

impl PodSpec {
    /// Whether the node selector and the required node affinity allow a node.
    ///
    /// In Kubernetes: `nodeaffinity.GetRequiredNodeAffinity(pod).Match`.
    pub fn allows_node(&self, node: &Node) -> bool {
        let affinity = self.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_deref());
        let required = affinity.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_deref());
        self.node_selector.iter().all(|(key, value)| node.metadata.labels.get(key) == Some(value))
            && required.is_none_or(|selector| selector.node_selector_terms.iter().any(|term| term.matches(node)))
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
        assert!(term(std::slice::from_ref(&many_cores), &[named]).matches(&node));
        assert!(!term(&[many_cores.clone(), slow.clone()], &[]).matches(&node));
        assert!(!term(&[], &[]).matches(&node));

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
