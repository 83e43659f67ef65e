//! The driver's part on each node.
//!
//! In Kubernetes: the node service of the Container Storage Interface.

use std::collections::BTreeMap;
use std::time::Duration;

use coracle_api::core_v1::Node;
use coracle_api::storage_v1::{CSINodeDriver, VolumeNodeResources};
use coracle_kubelet_api::{CallEnd, CallResult, NodeCall, NodeService, VolumeContext};
use coracle_meta::Resource;

use crate::DRIVER;
use crate::behaviour::{Behaviour, CsiCall, CsiOutcome, failure};
use crate::topology::{HOSTNAME, ZONE};

/// How many volumes of the driver a node can attach by default.
const LIMIT: i32 = 25;
/// The annotation of a Node that sets another limit. The kubelet reads it when the node starts.
const LIMIT_ANNOTATION: &str = "coracle.dev/volume-limit";

/// The node service of the driver. Annotations decide how its calls end: see [`Behaviour`].
#[derive(Clone, Copy, Debug, Default)]
pub struct CsiNodeService;

impl NodeService for CsiNodeService {
    fn name(&self) -> &str {
        DRIVER
    }

    fn node_info(&self, node: &Node) -> CSINodeDriver {
        let annotated = node.metadata.annotations.get(LIMIT_ANNOTATION).and_then(|limit| limit.parse().ok());
        let limit = annotated.filter(|limit| *limit > 0).unwrap_or(LIMIT);
        let labels = [HOSTNAME, ZONE].into_iter().filter(|label| node.metadata.labels.contains_key(*label));
        CSINodeDriver {
            name: DRIVER.to_owned(),
            node_id: node.key().name,
            topology_keys: labels.map(str::to_owned).collect(),
            allocatable: Some(Box::new(VolumeNodeResources { count: Some(limit), ..VolumeNodeResources::default() })),
            ..CSINodeDriver::default()
        }
    }

    fn volume_context(&self, annotations: &BTreeMap<String, String>) -> VolumeContext {
        Behaviour::annotations(annotations)
    }

    fn call(&self, call: NodeCall, context: &VolumeContext) -> CallResult {
        let call = match call {
            NodeCall::NodeStageVolume => CsiCall::Stage,
            NodeCall::NodeUnstageVolume => CsiCall::Unstage,
            NodeCall::NodePublishVolume => CsiCall::Mount,
            NodeCall::NodeUnpublishVolume => CsiCall::Unmount,
            NodeCall::NodeExpandVolume => CsiCall::NodeResize,
        };
        let behaviour = match Behaviour::of(call, &[context]) {
            Ok(behaviour) => behaviour,
            Err(why) => return CallResult { takes: Duration::ZERO, end: CallEnd::Fails(why.to_string()) },
        };
        let end = match behaviour.outcome {
            CsiOutcome::Hangs => CallEnd::Hangs,
            CsiOutcome::Fails => CallEnd::Fails(failure(call)),
            CsiOutcome::Succeeds | CsiOutcome::Exhausted => CallEnd::Succeeds,
        };
        CallResult { takes: behaviour.takes, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_how_many_volumes_it_takes_and_where_it_is() {
        let mut node = Node::default();
        node.metadata.name = Some("n".to_owned());
        node.metadata.labels.insert(HOSTNAME.to_owned(), "n".to_owned());
        let info = CsiNodeService.node_info(&node);
        assert_eq!(
            (info.name.as_str(), info.node_id.as_str(), info.topology_keys),
            (DRIVER, "n", vec![HOSTNAME.to_owned()])
        );
        let count = |node: &Node| CsiNodeService.node_info(node).allocatable.and_then(|resources| resources.count);
        assert_eq!(count(&node), Some(LIMIT));
        for (annotated, limit) in [("3", 3), ("0", LIMIT), ("many", LIMIT)] {
            node.metadata.annotations.insert(LIMIT_ANNOTATION.to_owned(), annotated.to_owned());
            assert_eq!(count(&node), Some(limit), "{annotated}");
        }
    }

    #[test]
    fn annotations_decide_how_a_call_on_the_node_ends() {
        let call = |annotations: &[(&str, &str)]| {
            let annotations =
                annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            CsiNodeService.call(NodeCall::NodePublishVolume, &CsiNodeService.volume_context(&annotations))
        };
        assert_eq!(
            call(&[("coracle.dev/stage", "fail")]),
            CallResult { takes: Duration::ZERO, end: CallEnd::Succeeds }
        );
        let hangs = call(&[("coracle.dev/mount", "hang"), ("coracle.dev/mount-delay", "2s")]);
        assert_eq!(hangs, CallResult { takes: Duration::from_secs(2), end: CallEnd::Hangs });
        assert_eq!(call(&[("coracle.dev/mount", "fail")]).end, CallEnd::Fails(failure(CsiCall::Mount)));
        let wrong = "annotation coracle.dev/mount: \"soon\" is not ok, fail or hang";
        assert_eq!(call(&[("coracle.dev/mount", "soon")]).end, CallEnd::Fails(wrong.to_owned()));
    }
}
