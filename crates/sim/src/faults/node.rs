use serde_json::Value;

use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget};
use super::operation::ClusterOperation;

pub(super) const NODE: FaultKind = FaultKind {
    word: "node",
    argument: "`{stop: NODE}` or `{forget: NODE}`",
    forms: &[ArgumentForm::Field("stop", &ArgumentForm::Node), ArgumentForm::Field("forget", &ArgumentForm::Node)],
    about: "With `stop`, the kubelet of the node is killed, and its containers keep running. With `forget`, the node \
            loses its power: it forgets its containers, and starts them again. The node starts when the fault ends.",
    contract: "A node may fail at any time and for any time. The control plane cannot distinguish a node without a \
               kubelet from one without power.",
    target: FaultTarget::Cluster,
    effect: FaultEffect::Cluster(|argument, _| match named(argument) {
        Some(("stop", node)) => Ok(ClusterOperation::StopNode(node.to_owned())),
        Some(("forget", node)) => Ok(ClusterOperation::KillNode(node.to_owned())),
        _ => Err(format!("expected `{{stop: NODE}}` or `{{forget: NODE}}`, found {argument}")),
    }),
};

/// The only field of an object, with its text, which is not empty.
fn named(argument: &Value) -> Option<(&str, &str)> {
    let fields = argument.as_object().filter(|fields| fields.len() == 1)?;
    let (word, node) = fields.iter().next()?;
    Some((word, node.as_str().filter(|node| !node.is_empty())?))
}
