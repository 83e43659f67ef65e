//! What the informers tell the scheduler: which pods wait, and what may help them.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::StorageClass;
use coracle_informer::{InformerFactory, Notification};
use coracle_journal::EntryId;
use coracle_meta::{ObjectKey, Resource};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::Cache;
use crate::filters::hint;
use crate::framework::ClusterEvent;
use crate::queue::SchedulingQueue;
use crate::read::{node_info, pod_info};

/// What the handlers and the loop share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Rings when a pod may be ready to be scheduled.
    pub(crate) changed: Notify,
}

/// The queue and the cache; they change together.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) queue: SchedulingQueue,
    pub(crate) cache: Cache,
    /// The pods that wait, as they were last seen.
    pub(crate) waiting: BTreeMap<ObjectKey, Arc<Pod>>,
    /// The volumes that pods are about to get.
    pub(crate) taken: BTreeMap<ObjectKey, Vec<String>>,
    /// What led to each of them being looked at, for the event log.
    pub(crate) causes: BTreeMap<ObjectKey, Vec<EntryId>>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Tells the waiting pods what happened.
    fn happened(&self, event: &ClusterEvent) {
        self.lock().tell(event);
        self.changed.notify_one();
    }
}

impl State {
    /// Tells the waiting pods what happened.
    pub(crate) fn tell(&mut self, event: &ClusterEvent) {
        let waiting = &self.waiting;
        self.queue.on_event(event, Instant::now(), |key, plugin, event| {
            let info = waiting.get(key).map(|pod| pod_info(pod, None));
            info.map_or(crate::Hint::Skip, |info| hint(plugin, &info, event))
        });
    }
}

/// Adds the scheduler's handlers; `name` is the scheduler's own (`spec.schedulerName`).
pub(crate) fn watch(informers: &InformerFactory, shared: &Arc<Shared>, name: &str) {
    let (pods, nodes, namespaces) = (shared.clone(), shared.clone(), shared.clone());
    let (claims, volumes, classes) = (shared.clone(), shared.clone(), shared.clone());
    let name = name.to_owned();
    informers.informer::<Namespace>().add_handler("scheduler", move |notification, _| {
        let namespace = notification.object();
        let gone = matches!(notification, Notification::Deleted { .. });
        let labels = (!gone).then(|| namespace.metadata.labels.clone());
        namespaces.lock().cache.set_namespace(&namespace.key().name, labels);
    });
    informers.informer::<PersistentVolumeClaim>().add_handler("scheduler", move |notification, _| {
        if !matches!(notification, Notification::Deleted { .. }) {
            claims.happened(&ClusterEvent::Claim(notification.object().key()));
        }
    });
    informers.informer::<PersistentVolume>().add_handler("scheduler", move |notification, _| {
        if !matches!(notification, Notification::Deleted { .. }) {
            volumes.happened(&ClusterEvent::Volume);
        }
    });
    informers.informer::<StorageClass>().add_handler("scheduler", move |notification, _| {
        let helps = match notification {
            Notification::Added { .. } => true,
            Notification::Updated { old, new } => old.allowed_topologies != new.allowed_topologies,
            Notification::Deleted { .. } => false,
        };
        if helps {
            classes.happened(&ClusterEvent::StorageClass);
        }
    });
    informers.informer::<Node>().add_handler("scheduler", move |notification, _| {
        node_changed(&mut nodes.lock(), notification);
        nodes.changed.notify_one();
    });
    informers.informer::<Pod>().add_handler("scheduler", move |notification, causes| {
        pod_changed(&mut pods.lock(), notification, causes, &name);
        pods.changed.notify_one();
    });
}

fn node_changed(state: &mut State, notification: &Notification<Node>) {
    let node = notification.object();
    if matches!(notification, Notification::Deleted { .. }) {
        state.cache.remove_node(&node.key().name);
        return;
    }
    let (before, after) = state.cache.set_node(node_info(node));
    if before.as_ref() != Some(&after) {
        state.tell(&ClusterEvent::Node { before, after });
    }
}

fn pod_changed(state: &mut State, notification: &Notification<Pod>, causes: &[EntryId], name: &str) {
    let pod = notification.object();
    let key = pod.key();
    if matches!(notification, Notification::Deleted { .. }) || pod.is_finished() {
        state.queue.remove(&key);
        state.waiting.remove(&key);
        state.causes.remove(&key);
        if let Some(gone) = state.cache.remove(&key) {
            state.tell(&ClusterEvent::PodGone(gone));
        }
        return;
    }
    if let Some(node) = pod.node_name() {
        state.queue.remove(&key);
        state.waiting.remove(&key);
        state.causes.remove(&key);
        let info = Arc::new(pod_info(pod, None));
        state.cache.nominate(info.clone(), None);
        if state.cache.place(node, info.clone()) {
            state.tell(&ClusterEvent::PodAssigned(info));
        }
        return;
    }
    let ours = pod.spec.scheduler_name == name && !pod.is_terminating() && pod.spec.scheduling_gates.is_empty();
    if !ours || state.cache.is_assumed(&key) {
        if !ours {
            state.queue.remove(&key);
            state.waiting.remove(&key);
        }
        return;
    }
    let info = Arc::new(pod_info(pod, None));
    state.cache.nominate(info.clone(), info.nominated_node.clone());
    state.waiting.insert(key.clone(), pod.clone());
    state.causes.entry(key.clone()).or_default().extend(causes);
    state.queue.add(key.clone(), info.priority, Instant::now());
    // Its own status is what the scheduler writes; only a change of what it asks for is worth another try.
    let asks_otherwise =
        notification.old().is_some_and(|old| old.spec != pod.spec || old.metadata.labels != pod.metadata.labels);
    if asks_otherwise {
        state.queue.retry(&key, Instant::now());
    }
}
