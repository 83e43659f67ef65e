//! What annotations of a Node ask of the machine beneath it.

use coracle_api::core_v1::Node;
use serde::{Deserialize, Serialize};

/// A wish about a machine that an annotation of its Node can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Order {
    /// `coracle.dev/power: off` cuts its power: what ran on it is lost.
    Power,
    /// `coracle.dev/kubelet: stopped` stops its kubelet: its pods go on.
    Kubelet,
    /// `coracle.dev/partition: "true"` cuts it off: it goes on, and nothing goes between it and the API.
    Partition,
}

impl Order {
    pub(crate) const ALL: [Self; 3] = [Self::Power, Self::Kubelet, Self::Partition];

    /// The annotation, the word for things as they usually are, and the one for the contrary.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Power => ("coracle.dev/power", "on", "off"),
            Self::Kubelet => ("coracle.dev/kubelet", "running", "stopped"),
            Self::Partition => ("coracle.dev/partition", "false", "true"),
        }
    }

    /// What the Node says.
    pub(crate) fn said(self, node: &Node) -> Option<&str> {
        node.metadata.annotations.get(self.words().0).map(String::as_str)
    }

    /// Whether all is to be as usual.
    ///
    /// # Errors
    /// What is wrong, as a sentence, if it is none of the two words.
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

/// Whether what annotations ask of the machine differs between two states of a Node.
pub(crate) fn differ(before: &Node, after: &Node) -> bool {
    Order::ALL.iter().any(|order| order.said(before) != order.said(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_one_of_two_words_and_anything_else_is_refused_by_name() {
        assert_eq!(Order::Power.is_usual(None), Ok(true));
        assert_eq!(Order::Power.is_usual(Some("off")), Ok(false));
        assert_eq!(Order::Kubelet.is_usual(Some("running")), Ok(true));
        assert_eq!(Order::Partition.is_usual(Some("true")), Ok(false));
        assert_eq!(
            Order::Partition.is_usual(Some("yes")).unwrap_err(),
            r#"annotation coracle.dev/partition: want "false" or "true", not "yes"; nothing changes"#
        );
    }

    proptest::proptest! {
        #[test]
        fn any_other_word_changes_nothing(word in ".*") {
            for order in Order::ALL {
                let (_, usual, contrary) = order.words();
                let read = order.is_usual(Some(&word));
                proptest::prop_assert_eq!(read.is_err(), word != usual && word != contrary);
            }
        }
    }

    #[test]
    fn orders_differ_by_their_annotations_alone() {
        let mut node = Node::default();
        let before = node.clone();
        node.metadata.annotations.insert("other".to_owned(), "x".to_owned());
        assert!(!differ(&before, &node));
        node.metadata.annotations.insert("coracle.dev/power".to_owned(), "off".to_owned());
        assert!(differ(&before, &node) && differ(&node, &before));
    }
}
