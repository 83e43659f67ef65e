//! Informer handlers: which pods wait, and which events may help them.

use std::sync::{Arc, Weak};

use coracle_ambient::{HoldsWork, Horizon, Pending};
use coracle_api::core_v1::{Namespace, Node, Pod};
use coracle_informer::{InformerFactory, Notification};
use coracle_meta::Resource;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::framework::ClusterEvent;
use crate::state::SchedulerState;

/// The state that handlers and the loop share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<SchedulerState>,
    /// Notified when a pod may be ready to be scheduled.
    pub(crate) changed: Notify,
}

impl Shared {
    pub(crate) fn new(state: SchedulerState) -> Self {
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock()
    }

    /// The scheduling queue as a holder of work.
    pub(crate) fn holder(shared: &Arc<Self>) -> Weak<dyn HoldsWork> {
        let shared: Weak<Self> = Arc::downgrade(shared);
        shared
    }

    /// Passes an event to the waiting pods.
    pub(crate) fn happened(&self, event: &ClusterEvent) {
        self.lock().tell(event, Instant::now());
        self.changed.notify_one();
    }
}

impl HoldsWork for Shared {
    /// A pod that is being scheduled or will be without a further event. An unschedulable pod waits for an event.
    fn pending(&self, _: &Horizon) -> Vec<Pending> {
        let outstanding = self.lock().outstanding().map(|key| format!("scheduler: {key} waits to be scheduled"));
        outstanding.map(|what| Pending { what, due: None }).into_iter().collect()
    }
}

/// Registers the scheduler's handlers.
pub(crate) fn watch(informers: &InformerFactory, shared: &Arc<Shared>) {
    let (pods, nodes, namespaces) = (shared.clone(), shared.clone(), shared.clone());
    informers.informer::<Namespace>().add_handler("scheduler", move |notification, _| {
        let namespace = notification.object();
        let gone = matches!(notification, Notification::Deleted { .. });
        let labels = (!gone).then(|| namespace.metadata.labels.clone());
        namespaces.lock().namespace(&namespace.key().name, labels);
    });
    informers.informer::<Node>().add_handler("scheduler", move |notification, _| {
        let node = notification.object();
        match notification {
            Notification::Deleted { .. } => nodes.lock().node_gone(&node.key().name),
            Notification::Added { .. } | Notification::Updated { .. } => nodes.lock().node(node, Instant::now()),
        }
        nodes.changed.notify_one();
    });
    informers.informer::<Pod>().add_handler("scheduler", move |notification, causes| {
        let pod = notification.object();
        match notification {
            Notification::Deleted { .. } => pods.lock().pod_gone(&pod.key(), Instant::now()),
            Notification::Added { .. } | Notification::Updated { .. } => {
                let old = notification.old().map(AsRef::as_ref);
                pods.lock().pod(old, pod, causes, Instant::now());
            }
        }
        pods.changed.notify_one();
    });
}
