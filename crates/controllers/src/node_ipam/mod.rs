//! Allocates a pod CIDR to each node, of each family that the cluster has.
//!
//! Off by default, and off without a cluster CIDR. Allocated blocks are read from the nodes; recent allocations,
//! which the cache may not show yet, are remembered. In Kubernetes: `pkg/controller/nodeipam`, with its
//! `RangeAllocator`.

mod decide;

use std::collections::BTreeMap;

use coracle_api::core_v1::{Node, ObjectReference};
use coracle_client::Patch;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, reference_to, unless_gone,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{Cidr, ObjectKey, Resource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use self::decide::Range;
use crate::Config;

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    if !config.allocate_node_cidrs {
        return std::future::ready(()).boxed();
    }
    let nodes = process.informers.informer::<Node>();
    let ranges = config.cluster_cidrs.iter().map(|cidr| Range::new(*cidr, config.node_cidr_mask(*cidr)));
    let reconciler = NodeAddresses {
        nodes: nodes.lister(),
        ranges: Mutex::new(ranges.collect()),
        reserved: config.node_ipam_service_cidrs.clone(),
        given: Mutex::default(),
        events: EventRecorder::new(process, "cidrAllocator"),
    };
    let controller =
        Controller::new(process, "node-ipam", reconciler).client(config.client(process)).watches(&nodes, without);
    controller.run().boxed()
}

/// A node without pod CIDRs, and a deleted one.
fn without(notification: &Notification<Node>) -> Vec<ObjectKey> {
    let node = notification.object();
    let concerned = node.spec.pod_cidrs.is_empty() || matches!(notification, Notification::Deleted { .. });
    concerned.then(|| node.key()).into_iter().collect()
}

struct NodeAddresses {
    nodes: Lister<Node>,
    ranges: Mutex<Vec<Range>>,
    /// Service CIDRs, which are not allocated to nodes.
    reserved: Vec<Cidr>,
    /// Allocations that the cache may not show yet.
    given: Mutex<BTreeMap<ObjectKey, Vec<Cidr>>>,
    events: EventRecorder,
}

impl Reconciler for NodeAddresses {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let node = self.nodes.get(key);
        let Some(node) = node.filter(|node| node.spec.pod_cidrs.is_empty() && !node.metadata.is_terminating()) else {
            self.given.lock().remove(key);
            return pass.done(|| "it has its addresses, or is going: nothing to do");
        };
        let blocks = match self.take(key) {
            Ok(blocks) => blocks,
            Err(error) => {
                let message = format!("Node {} status is now: CIDRNotAvailable", key.name);
                // In Kubernetes, too, the reference has no version.
                let reference = ObjectReference {
                    api_version: String::new(),
                    resource_version: String::new(),
                    ..reference_to(node.as_ref())
                };
                self.events.in_pass(pass).event_on(reference, EventType::Normal, "CIDRNotAvailable", message);
                return Err(error);
            }
        };
        let texts: Vec<_> = blocks.iter().map(ToString::to_string).collect();
        pass.decided(|| format!("has no addresses: give it {}", texts.join(", ")));
        let patch = json!({"spec": {"podCIDR": texts.first(), "podCIDRs": texts}});
        unless_gone(pass.api::<Node>().patch(key, &Patch::Strategic(patch)).await)?;
        Ok(Action::Done)
    }
}

impl NodeAddresses {
    /// A free block of each range.
    fn take(&self, key: &ObjectKey) -> Result<Vec<Cidr>, ReconcileError> {
        let mut given = self.given.lock();
        let nodes = self.nodes.list();
        let shown = nodes.iter().flat_map(|node| &node.spec.pod_cidrs).filter_map(|cidr| Cidr::parse_sloppy(cidr).ok());
        let remembered = given.iter().filter(|(other, _)| *other != key).flat_map(|(_, blocks)| blocks.iter().copied());
        let taken: Vec<Cidr> = shown.chain(remembered).chain(self.reserved.iter().copied()).collect();
        let mut ranges = self.ranges.lock();
        let take = |(place, range): (usize, &mut Range)| {
            range.next(&taken).ok_or_else(|| {
                ReconcileError::Object(format!(
                    "failed to allocate cidr from cluster cidr at idx:{place}: CIDR allocation failed; there are no \
                     remaining CIDRs left to allocate in the accepted range"
                ))
            })
        };
        let blocks: Vec<_> = ranges.iter_mut().enumerate().map(take).collect::<Result<_, _>>()?;
        given.insert(key.clone(), blocks.clone());
        Ok(blocks)
    }
}
