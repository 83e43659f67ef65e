use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::{Clock, Timestamp};
use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::Node;
use coracle_informer::SharedInformer;
use coracle_journal::EntryId;
use coracle_meta::Resource;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The last heartbeat of one node.
#[derive(Debug, Default)]
struct Sign {
    /// When its Lease was last seen to change.
    renewed: Option<Timestamp>,
    /// Its entries in the event log.
    causes: Vec<EntryId>,
}

/// Changes of nodes and Leases since the monitor's last check.
#[derive(Debug, Default)]
pub(super) struct Signs {
    by_node: Mutex<BTreeMap<String, Sign>>,
    /// Notified when a Node was added, changed or deleted.
    changed: Notify,
}

impl Signs {
    /// Registers handlers with these informers.
    pub(super) fn listen(
        actor: &str,
        nodes: &SharedInformer<Node>,
        leases: &SharedInformer<Lease>,
        clock: Clock,
    ) -> Arc<Self> {
        let signs = Arc::new(Self::default());
        let of_nodes = signs.clone();
        nodes.add_handler(actor, move |notification, causes| {
            of_nodes.hear(notification.object().key().name, None, causes);
            of_nodes.changed.notify_one();
        });
        let of_leases = signs.clone();
        leases.add_handler(actor, move |notification, causes| {
            of_leases.hear(notification.object().key().name, Some(clock.now()), causes);
        });
        signs
    }

    fn hear(&self, node: String, renewed: Option<Timestamp>, causes: &[EntryId]) {
        let mut by_node = self.by_node.lock();
        let sign = by_node.entry(node).or_default();
        sign.renewed = renewed.or(sign.renewed);
        sign.causes = causes.to_vec();
    }

    /// When the node's Lease was last seen to change.
    pub(super) fn renewed(&self, node: &str) -> Option<Timestamp> {
        self.by_node.lock().get(node)?.renewed
    }

    /// The event log entries of the node's last heartbeat.
    pub(super) fn causes(&self, node: &str) -> Vec<EntryId> {
        self.by_node.lock().get(node).map(|sign| sign.causes.clone()).unwrap_or_default()
    }

    pub(super) fn forget(&self, node: &str) {
        self.by_node.lock().remove(node);
    }

    /// Waits until a node changes, or until `due`; returns whether a node has changed.
    pub(super) async fn node_changed_before(&self, due: Option<Instant>) -> bool {
        match due {
            None => {
                self.changed.notified().await;
                true
            }
            Some(due) => timeout_at(due, self.changed.notified()).await.is_ok(),
        }
    }
}
