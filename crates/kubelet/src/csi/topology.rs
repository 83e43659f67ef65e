//! From where a volume can be reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::core_v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, TopologySelectorTerm, VolumeNodeAffinity,
};
use coracle_api::storage_v1::{CSINode, CSINodeDriver, StorageClass};

use super::DRIVER;

/// The label of a node's zone.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
/// The label of a node's own name.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
/// The parameter of a class that says how far its volumes reach.
const PARAMETER: &str = "topology";
/// How the parameters begin that are meant for what stands beside a driver.
const RESERVED: &str = "csi.storage.k8s.io/";

/// How far the volumes of a class reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To all nodes.
    Everywhere,
    /// To the nodes of one zone; to all if nodes say nothing of zones.
    Zone,
    /// To one node.
    Node,
}

impl Reach {
    /// What the parameters of a class ask for.
    ///
    /// # Errors
    /// In the form of gRPC, if there is a parameter that the driver does not know.
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

/// What a node's object says of the driver's part on it; none if there is none.
pub(super) fn on_node(node: &CSINode) -> Option<&CSINodeDriver> {
    node.spec.drivers.iter().find(|driver| driver.name == DRIVER)
}

/// Where a volume is made: the label that says so and its value; none if it can be reached from everywhere.
///
/// `selected` is the node whose pod waits for it. Without one, the name of the claim decides among all places, so that the
/// claims of a StatefulSet are spread.
///
/// # Errors
/// If the driver is not on the node, or nowhere.
pub(super) fn place(
    reach: Reach,
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
        return Ok(segment(reach, &node.metadata.labels));
    }
    let places: BTreeSet<(String, String)> = (nodes.iter().filter(|(_, csi)| is_there(csi)))
        .filter_map(|(node, _)| segment(reach, &node.metadata.labels))
        .filter(|place| is_allowed(&class.allowed_topologies, place))
        .collect();
    if places.is_empty() && reach.label().is_some_and(|label| label == HOSTNAME || !class.allowed_topologies.is_empty())
    {
        return Err("error generating accessibility requirements: no available topology found".to_owned());
    }
    let at = ordinal(claim).checked_rem(places.len()).unwrap_or_default();
    Ok(places.into_iter().nth(at))
}

fn segment(reach: Reach, labels: &BTreeMap<String, String>) -> Option<(String, String)> {
    let label = reach.label()?;
    Some((label.to_owned(), labels.get(label)?.clone()))
}

fn is_allowed(terms: &[TopologySelectorTerm], (label, value): &(String, String)) -> bool {
    let allows = |term: &TopologySelectorTerm| {
        term.match_label_expressions.iter().all(|one| one.key != *label || one.values.contains(value))
    };
    terms.is_empty() || terms.iter().any(allows)
}

/// The number at the end of a name, as claims of StatefulSets have it. In Kubernetes: `GetHashAndIndexFromName`.
fn ordinal(name: &str) -> usize {
    name.rsplit('-').next().and_then(|last| last.parse().ok()).unwrap_or_default()
}

/// The nodes from which a volume of this place can be reached.
pub(super) fn affinity((label, value): (String, String)) -> VolumeNodeAffinity {
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

    fn value(reach: Reach, claim: &str, selected: Option<&str>) -> Result<Option<String>, String> {
        let nodes = [node("n", "a"), node("m", "b"), node("o", "b")];
        let placed = place(reach, &StorageClass::default(), claim, selected, &nodes)?;
        Ok(placed.map(|(_, value)| value))
    }

    #[test]
    fn a_volume_is_made_where_its_pod_is_to_be() {
        assert_eq!(value(Reach::Zone, "data", Some("o")), Ok(Some("b".to_owned())));
        assert_eq!(value(Reach::Node, "data", Some("o")), Ok(Some("o".to_owned())));
        assert_eq!(value(Reach::Everywhere, "data", Some("o")), Ok(None));
        assert!(value(Reach::Zone, "data", Some("gone")).unwrap_err().ends_with("on CSINode gone"));
    }

    #[test]
    fn claims_of_a_set_that_wait_for_nobody_are_spread() {
        let zones: Vec<_> = (0..3).map(|number| value(Reach::Zone, &format!("data-db-{number}"), None)).collect();
        assert_eq!(zones, [Ok(Some("a".to_owned())), Ok(Some("b".to_owned())), Ok(Some("a".to_owned()))]);
    }

    #[test]
    fn a_class_with_parameters_that_nobody_knows_is_refused() {
        let parameters = [("topology".to_owned(), "hostname".to_owned())].into();
        let mut class = StorageClass { parameters, ..StorageClass::default() };
        assert_eq!(Reach::of(&class), Ok(Reach::Node));
        class.parameters.insert("csi.storage.k8s.io/fstype".to_owned(), "xfs".to_owned());
        assert_eq!(Reach::of(&class), Ok(Reach::Node));
        class.parameters.insert("iops".to_owned(), "3000".to_owned());
        assert!(
            Reach::of(&class).unwrap_err().starts_with("rpc error: code = InvalidArgument desc = parameter \"iops\"")
        );
    }
}
