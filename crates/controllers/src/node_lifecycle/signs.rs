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

/// The last sign of one node.
#[derive(Debug, Default)]
struct Sign {
    /// When its Lease was last seen to change.
    renewed: Option<Timestamp>,
    /// What the event log has of it.
    causes: Vec<EntryId>,
}

/// What was heard of nodes since the monitor looked last.
#[derive(Debug, Default)]
pub(super) struct Signs {
    by_node: Mutex<BTreeMap<String, Sign>>,
    /// Rings when a Node has come, changed or gone.
    changed: Notify,
}

impl Signs {
    /// Listens to these informers.
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

    /// The entries of the event log that say what was last heard of the node.
    pub(super) fn causes(&self, node: &str) -> Vec<EntryId> {
        self.by_node.lock().get(node).map(|sign| sign.causes.clone()).unwrap_or_default()
    }

    pub(super) fn forget(&self, node: &str) {
        self.by_node.lock().remove(node);
    }

    /// Waits until a node changes, or until `due`; says whether a node has changed.
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
