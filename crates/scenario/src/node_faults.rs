use std::collections::BTreeMap;

use coracle_cluster::NodeSwitch;
use coracle_journal::EntryId;
use coracle_sim::faults::{Fault, FaultId, Injector};
use parking_lot::Mutex;

/// The faults that switches of simulated nodes stand for, as long as annotations or steps have set them.
#[derive(Default)]
pub(crate) struct NodeFaults {
    by_switch: Mutex<BTreeMap<(String, NodeSwitch), FaultId>>,
}

/// A fault of a node that has ended.
pub(crate) struct EndedNodeFault {
    pub(crate) id: FaultId,
    /// Whether it had switched the node, which works normally again.
    pub(crate) had_struck: bool,
}

impl NodeFaults {
    /// Begins the fault that a switch stands for; `None` if it has begun before, and did not end.
    pub(crate) fn begin(
        &self,
        injector: &Injector,
        node: &str,
        switch: NodeSwitch,
        cause: Option<EntryId>,
    ) -> Option<FaultId> {
        let mut by_switch = self.by_switch.lock();
        let key = (node.to_owned(), switch);
        let known = by_switch.get(&key).and_then(|id| injector.progress(*id));
        if known.is_some_and(|progress| !progress.has_ended) {
            return None;
        }
        let id = injector.add(Fault::of_node(node, switch));
        by_switch.insert(key, id);
        injector.start(id, cause);
        Some(id)
    }

    /// Ends the fault that a switch stands for; `None` if it has not begun.
    pub(crate) fn end(&self, injector: &Injector, node: &str, switch: NodeSwitch) -> Option<EndedNodeFault> {
        let id = self.by_switch.lock().remove(&(node.to_owned(), switch))?;
        let had_struck = injector.progress(id).is_some_and(|progress| progress.strikes > 0);
        injector.end(id);
        Some(EndedNodeFault { id, had_struck })
    }
}
