//! Switches in the annotations of a Node: power, kubelet and partition.

use coracle_api::core_v1::Node;
use serde::{Deserialize, Serialize};

/// A switch of a simulated node, which an annotation of its Node sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NodeSwitch {
    /// `coracle.dev/power: off` cuts the power: the containers on the machine are lost.
    Power,
    /// `coracle.dev/kubelet: stopped` stops the kubelet: its containers keep running.
    Kubelet,
    /// `coracle.dev/partition: "true"` partitions the node from the API: its kubelet keeps running.
    Partition,
}

/// An annotation of a Node has set a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedNode {
    /// The node.
    pub name: String,
    /// The switch.
    pub switch: NodeSwitch,
    /// Whether the node has to work normally, as far as this switch is concerned.
    pub is_usual: bool,
    /// The revision of the Node.
    pub revision: Option<i64>,
}

impl NodeSwitch {
    pub(crate) const ALL: [Self; 3] = [Self::Power, Self::Kubelet, Self::Partition];

    /// The annotation, its value for normal operation, and its other value.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Power => ("coracle.dev/power", "on", "off"),
            Self::Kubelet => ("coracle.dev/kubelet", "running", "stopped"),
            Self::Partition => ("coracle.dev/partition", "false", "true"),
        }
    }

    /// The value in a Node.
    pub(crate) fn said(self, node: &Node) -> Option<&str> {
        node.metadata.annotations.get(self.words().0).map(String::as_str)
    }

    /// Whether a value means normal operation.
    ///
    /// # Errors
    /// What is wrong, as a sentence, if it is not one of the two values.
    pub(crate) fn is_usual(self, said: Option<&str>) -> Result<bool, String> {
        let (annotation, usual, contrary) = self.words();
        match said {
            None => Ok(true),
            Some(word) if word == usual => Ok(true),
            Some(word) if word == contrary => Ok(false),
            Some(word) => {
                Err(format!("annotation {annotation}: want {usual:?} or {contrary:?}, not {word:?}; nothing changes"))
            }
        }
    }
}

/// Whether the switches differ between two states of a Node.
pub(crate) fn differ(before: &Node, after: &Node) -> bool {
    NodeSwitch::ALL.iter().any(|switch| switch.said(before) != switch.said(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_state_is_one_of_two_values_and_others_are_refused_by_name() {
        assert_eq!(NodeSwitch::Power.is_usual(None), Ok(true));
        assert_eq!(NodeSwitch::Power.is_usual(Some("off")), Ok(false));
        assert_eq!(NodeSwitch::Kubelet.is_usual(Some("running")), Ok(true));
        assert_eq!(NodeSwitch::Partition.is_usual(Some("true")), Ok(false));
        assert_eq!(
            NodeSwitch::Partition.is_usual(Some("yes")).unwrap_err(),
            r#"annotation coracle.dev/partition: want "false" or "true", not "yes"; nothing changes"#
        );
    }

    proptest::proptest! {
        #[test]
        fn any_other_word_changes_nothing(word in ".*") {
            for switch in NodeSwitch::ALL {
                let (_, usual, contrary) = switch.words();
                let read = switch.is_usual(Some(&word));
                proptest::prop_assert_eq!(read.is_err(), word != usual && word != contrary);
            }
        }
    }

    #[test]
    fn switches_differ_only_by_their_annotations() {
        let mut node = Node::default();
        let before = node.clone();
        node.metadata.annotations.insert("other".to_owned(), "x".to_owned());
        assert!(!differ(&before, &node));
        node.metadata.annotations.insert("coracle.dev/power".to_owned(), "off".to_owned());
        assert!(differ(&before, &node) && differ(&node, &before));
    }
}
