use crate::core_v1::{Node, NodeCondition, Taint};

impl Node {
    /// The condition of a type.
    pub fn condition(&self, type_: &str) -> Option<&NodeCondition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Whether the node's condition `Ready` is true.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|condition| condition.status == "True")
    }

    /// The taint of a key and an effect.
    pub fn taint(&self, key: &str, effect: &str) -> Option<&Taint> {
        self.spec.taints.iter().find(|taint| taint.key == key && taint.effect == effect)
    }
}
