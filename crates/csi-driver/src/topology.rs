//! The topology of volumes: which nodes can reach a volume.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::core_v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, TopologySelectorTerm, VolumeNodeAffinity,
};
use coracle_api::storage_v1::{CSINode, CSINodeDriver, StorageClass};

use crate::DRIVER;

/// The label of a node's zone.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
/// The label of a node's hostname.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
/// The parameter of a class that sets the scope of its volumes.
const PARAMETER: &str = "topology";
/// The prefix of parameters for the sidecars of a driver.
const RESERVED: &str = "csi.storage.k8s.io/";

/// Which nodes can reach the volumes of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopologyScope {
    /// All nodes.
    Everywhere,
    /// The nodes of one zone; all nodes if nodes have no zone label.
    Zone,
    /// One node.
    Node,
}

impl TopologyScope {
    /// Reads the parameters of a class.
    ///
    /// # Errors
    /// A gRPC error, if there is a parameter that the driver does not know.
    pub(super) fn of(class: &StorageClass) -> Result<Self, String> {
        let wrong = |why: String| Err(format!("rpc error: code = InvalidArgument desc = {why}"));
        if let Some(name) = class.parameters.keys().find(|name| *name != PARAMETER && !name.starts_with(RESERVED)) {
            return wrong(format!("parameter {name:?} is not known; {PARAMETER:?} is"));
        }
        match class.parameters.get(PARAMETER).map(String::as_str) {
            None | Some("zone") => Ok(Self::Zone),
            Some("hostname") => Ok(Self::Node),
            Some("none") => Ok(Self::Everywhere),
            Some(other) => wrong(format!("parameter {PARAMETER:?}: {other:?} is not zone, hostname or none")),
        }
    }

    fn label(self) -> Option<&'static str> {
        match self {
            Self::Everywhere => None,
            Self::Zone => Some(ZONE),
            Self::Node => Some(HOSTNAME),
        }
    }
}

/// The driver's entry in a CSINode, if it has one.
pub(super) fn on_node(node: &CSINode) -> Option<&CSINodeDriver> {
    node.spec.drivers.iter().find(|driver| driver.name == DRIVER)
}

/// The topology in which a volume is created: label and value; none if all nodes can reach it.
///
/// `selected` is the node whose pod waits for the volume. Without one, the name of the claim chooses among all values,
/// so that the claims of a StatefulSet are spread.
///
/// # Errors
/// If the driver is not registered on the node, or on no node.
pub(super) fn place(
    scope: TopologyScope,
    class: &StorageClass,
    claim: &str,
    selected: Option<&str>,
    nodes: &[(Arc<Node>, Option<Arc<CSINode>>)],
) -> Result<Option<(String, String)>, String> {
    let is_there = |csi: &Option<Arc<CSINode>>| csi.as_deref().and_then(on_node).is_some();
    if let Some(name) = selected {
        let found = nodes.iter().find(|(node, _)| node.metadata.name.as_deref() == Some(name));
        let Some((node, _)) = found.filter(|(_, csi)| is_there(csi)) else {
            return Err(format!(
                "error generating accessibility requirements: no topology key found on CSINode {name}"
            ));
        };
        return Ok(segment(scope, &node.metadata.labels));
    }
    let places: BTreeSet<(String, String)> = (nodes.iter().filter(|(_, csi)| is_there(csi)))
        .filter_map(|(node, _)| segment(scope, &node.metadata.labels))
        .filter(|(label, value)| is_allowed(&class.allowed_topologies, label, value))
        .collect();
    if places.is_empty() && scope.label().is_some_and(|label| label == HOSTNAME || !class.allowed_topologies.is_empty())
    {
        return Err("error generating accessibility requirements: no available topology found".to_owned());
    }
    let at = ordinal(claim).checked_rem(places.len()).unwrap_or_default();
    Ok(places.into_iter().nth(at))
}

fn segment(scope: TopologyScope, labels: &BTreeMap<String, String>) -> Option<(String, String)> {
    let label = scope.label()?;
    Some((label.to_owned(), labels.get(label)?.clone()))
}

fn is_allowed(terms: &[TopologySelectorTerm], label: &str, value: &str) -> bool {
    let allows = |term: &TopologySelectorTerm| {
        term.match_label_expressions
            .iter()
            .all(|one| one.key != label || one.values.iter().any(|allowed| allowed == value))
    };
    terms.is_empty() || terms.iter().any(allows)
}

/// The number at the end of a name, as in the names of a StatefulSet's claims. In Kubernetes:
/// `GetHashAndIndexFromName`.
fn ordinal(name: &str) -> usize {
    name.rsplit('-').next().and_then(|last| last.parse().ok()).unwrap_or_default()
}

/// The affinity of a volume to the nodes that can reach it.
pub(super) fn affinity(label: String, value: String) -> VolumeNodeAffinity {
    let requirement = NodeSelectorRequirement {
        key: label,
        operator: "In".to_owned(),
        values: vec![value],
        ..NodeSelectorRequirement::default()
    };
    let term = NodeSelectorTerm { match_expressions: vec![requirement], ..NodeSelectorTerm::default() };
    let required = NodeSelector { node_selector_terms: vec![term], ..NodeSelector::default() };
    VolumeNodeAffinity { required: Some(Box::new(required)), ..VolumeNodeAffinity::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, zone: &str) -> (Arc<Node>, Option<Arc<CSINode>>) {
        let mut node = Node::default();
        node.metadata.name = Some(name.to_owned());
        node.metadata.labels = [(ZONE.to_owned(), zone.to_owned()), (HOSTNAME.to_owned(), name.to_owned())].into();
        let mut csi = CSINode::default();
        csi.spec.drivers = vec![CSINodeDriver { name: DRIVER.to_owned(), ..CSINodeDriver::default() }];
        (Arc::new(node), Some(Arc::new(csi)))
    }

    fn value(scope: TopologyScope, claim: &str, selected: Option<&str>) -> Result<Option<String>, String> {
        let nodes = [node("n", "a"), node("m", "b"), node("o", "b")];
        let placed = place(scope, &StorageClass::default(), claim, selected, &nodes)?;
        Ok(placed.map(|(_, value)| value))
    }

    #[test]
    fn a_volume_is_created_in_the_topology_of_its_pod() {
        assert_eq!(value(TopologyScope::Zone, "data", Some("o")), Ok(Some("b".to_owned())));
        assert_eq!(value(TopologyScope::Node, "data", Some("o")), Ok(Some("o".to_owned())));
        assert_eq!(value(TopologyScope::Everywhere, "data", Some("o")), Ok(None));
        assert!(value(TopologyScope::Zone, "data", Some("gone")).unwrap_err().ends_with("on CSINode gone"));
    }

    #[test]
    fn immediate_claims_of_a_stateful_set_are_spread() {
        let zones: Vec<_> =
            (0..3).map(|number| value(TopologyScope::Zone, &format!("data-db-{number}"), None)).collect();
        assert_eq!(zones, [Ok(Some("a".to_owned())), Ok(Some("b".to_owned())), Ok(Some("a".to_owned()))]);
    }

    #[test]
    fn a_class_with_unknown_parameters_is_refused() {
        let parameters = [("topology".to_owned(), "hostname".to_owned())].into();
        let mut class = StorageClass { parameters, ..StorageClass::default() };
        assert_eq!(TopologyScope::of(&class), Ok(TopologyScope::Node));
        class.parameters.insert("csi.storage.k8s.io/fstype".to_owned(), "xfs".to_owned());
        assert_eq!(TopologyScope::of(&class), Ok(TopologyScope::Node));
        class.parameters.insert("iops".to_owned(), "3000".to_owned());
        assert!(
            TopologyScope::of(&class)
                .unwrap_err()
                .starts_with("rpc error: code = InvalidArgument desc = parameter \"iops\"")
        );
    }
}
