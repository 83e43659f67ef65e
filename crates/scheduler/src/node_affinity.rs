use coracle_meta::{LabelOperator, LabelSelector};

use crate::node_info::NodeInfo;
use crate::pod_info::{NodeSelectorTerm, PodInfo};

impl NodeSelectorTerm {
    /// Whether a node is chosen; a term that asks for nothing chooses nothing.
    pub fn matches(&self, node: &NodeInfo) -> bool {
        if self.expressions.is_empty() && self.fields.is_empty() {
            return false;
        }
        let expressions = LabelSelector { requirements: self.expressions.clone(), nothing: false };
        let fields = LabelSelector { requirements: self.fields.clone(), nothing: false };
        expressions.matches(&node.labels)
            && fields.matches_by(|field| (field == "metadata.name").then_some(node.name.as_str()))
    }

    /// The only node that can be meant, if a requirement on the name says so.
    pub fn only_node(&self) -> Option<&str> {
        let name =
            self.fields.iter().find(|field| field.key == "metadata.name" && field.operator == LabelOperator::In)?;
        match name.values.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }
}

/// Whether a pod's node selector and required node affinity allow a node.
pub(crate) fn allows(pod: &PodInfo, node: &NodeInfo) -> bool {
    let selected = pod.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    let required = || pod.required_nodes.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node)));
    selected && required()
}

#[cfg(test)]
mod tests {
    use coracle_meta::LabelRequirement;

    use super::*;

    fn requirement(key: &str, operator: LabelOperator, values: &[&str]) -> LabelRequirement {
        LabelRequirement { key: key.to_owned(), operator, values: values.iter().map(|&v| v.to_owned()).collect() }
    }

    #[test]
    fn one_term_has_to_hold_as_a_whole() {
        let node = NodeInfo { name: "n".to_owned(), ..NodeInfo::default() }.with_label("disk", "ssd");
        let ssd = requirement("disk", LabelOperator::In, &["ssd"]);
        let gpu = requirement("gpu", LabelOperator::Exists, &[]);
        let named = requirement("metadata.name", LabelOperator::In, &["n"]);
        let term = |expressions: &[&LabelRequirement], fields: &[&LabelRequirement]| NodeSelectorTerm {
            expressions: expressions.iter().map(|&r| r.clone()).collect(),
            fields: fields.iter().map(|&r| r.clone()).collect(),
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
