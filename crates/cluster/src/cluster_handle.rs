use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use coracle_ambient::SignedDuration;
use coracle_journal::{EntryId, Recorder};
use coracle_kubelet::NodeSwitch;
use coracle_storage_backend::{OpenStore, StoreControl};
use futures_util::future::select;

use crate::api_server::ApiServer;
use crate::parts::Parts;

/// Starts, stops and kills the parts of a running cluster, or of an API server alone, by name. Clones are handles of the
/// same cluster, and none of them keeps it running: after its end they do nothing.
///
/// The names of components are those of [`Requester`](crate::Requester): `controller-manager`, each controller such as
/// `controller-manager/replicaset`, `scheduler`, `kubelet`, each simulated node such as `kubelet/node-1`, `csi-driver`,
/// and what [`Cluster::add_component`](crate::Cluster::add_component) has added. `cause` is the entry of
/// the event log that led to a call.
#[derive(Clone)]
pub struct ClusterHandle {
    /// None of an API server alone.
    parts: Weak<Parts>,
    store: Weak<StoreControl>,
}

impl std::fmt::Debug for ClusterHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClusterHandle")
    }
}

impl ClusterHandle {
    pub(crate) fn of(parts: &Arc<Parts>) -> Self {
        Self { parts: Arc::downgrade(parts), store: Arc::downgrade(&parts.store) }
    }

    /// The handle of an API server alone, which has only a store. It works as long as the API server exists.
    pub fn of_api_server(api_server: &ApiServer, store: &OpenStore, recorder: &Recorder) -> Self {
        Self { parts: Weak::new(), store: Arc::downgrade(api_server.store_control(store, recorder)) }
    }

    fn parts(&self, act: impl FnOnce(&Parts) -> bool) -> bool {
        self.parts.upgrade().is_some_and(|parts| act(&parts))
    }

    fn store(&self, act: impl FnOnce(&StoreControl) -> bool) -> bool {
        self.store.upgrade().is_some_and(|store| act(&store))
    }

    /// Starts a component; false if it runs, or if there is no such component.
    pub fn start_component(&self, name: &str, cause: Option<EntryId>) -> bool {
        self.parts(|parts| parts.start(name, cause))
    }

    /// Kills a component like `kill -9`; false if it does not run.
    pub fn kill_component(&self, name: &str, cause: Option<EntryId>) -> bool {
        self.parts(|parts| parts.kill(name, cause))
    }

    /// Starts a second instance of a component, which acts at the same time; false if there is one, if there is no such
    /// component, or if it is the kubelet, because two kubelets would manage the containers of one machine.
    pub fn double_component(&self, name: &str, cause: Option<EntryId>) -> bool {
        self.parts(|parts| parts.double(name, cause))
    }

    /// Stops a component, as by SIGSTOP: it sends nothing, receives nothing, and none of its timers fires until it is
    /// [resumed](Self::resume_component). Then it continues with what it knew, and timers that are due fire at once.
    /// Requests that it has sent are carried out. False if it does not run, if it is paused, or if it is a controller or
    /// a node without [informers of its own](crate::Builder::own_informers).
    ///
    /// Tasks that a component of the caller has spawned itself are not stopped, except those of a
    /// [`Controller`](coracle_controller_runtime::Controller); their requests wait, and so do the answers and the events
    /// of open watches.
    pub fn pause_component(&self, name: &str) -> bool {
        self.parts(|parts| parts.pause(name))
    }

    /// Continues a component that was paused; false if it was not.
    pub fn resume_component(&self, name: &str) -> bool {
        self.parts(|parts| parts.resume(name))
    }

    /// Sets the wall clock of a component forward, or back if the duration is negative, as on a machine whose clock is
    /// wrong. Timers are not affected. Several changes add up, and they stay when the component restarts. `kubelet` is the
    /// clock of all simulated nodes, and `kubelet/NODE` that of a node with
    /// [informers of its own](crate::Builder::own_informers). False if it has not run yet, or has no clock of its own: a
    /// controller has that of the controller-manager, and a component of the caller has one if it uses
    /// [`Cluster::ambient_of`](crate::Cluster::ambient_of).
    pub fn shift_clock(&self, name: &str, duration: SignedDuration) -> bool {
        self.parts(|parts| parts.shift_clock(name, duration))
    }

    /// Whether a controller or a node has [informers of its own](crate::Builder::own_informers).
    pub fn has_own_informers(&self, name: &str) -> bool {
        self.parts(|parts| parts.processes.own_informers.includes(name))
    }

    /// The names of all components: those of the cluster, controllers, simulated nodes, and those of the caller.
    pub fn component_names(&self) -> Vec<String> {
        self.parts.upgrade().map(|parts| parts.names()).unwrap_or_default()
    }

    /// Waits until there is a component of this name; forever after the end of the cluster.
    pub async fn until_component(&self, name: &str) {
        loop {
            let Some((added, nodes)) = self.parts.upgrade().map(|parts| parts.changes()) else {
                return pending().await;
            };
            let (mut added, mut nodes) = (pin!(added.notified()), pin!(nodes.notified()));
            added.as_mut().enable();
            nodes.as_mut().enable();
            if self.component_names().iter().any(|known| known == name) {
                return;
            }
            select(added, nodes).await;
        }
    }

    /// Kills the second instance of a component; false if it has one instance only.
    pub fn kill_double(&self, name: &str, cause: Option<EntryId>) -> bool {
        self.parts(|parts| parts.end_double(name, cause))
    }

    /// Sets one switch of a simulated node; returns whether that is a change. False if there is no such node.
    pub fn switch_node(&self, name: &str, switch: NodeSwitch, is_usual: bool, cause: Option<EntryId>) -> bool {
        self.parts(|parts| parts.processes.kubelet.switch_node(name, switch, is_usual, cause))
    }

    /// Whether the store is in the memory of this process, so that it can be killed, slowed and filled.
    pub fn has_store_in_memory(&self) -> bool {
        self.store(StoreControl::is_in_memory)
    }

    /// Kills the store like `kill -9`; false if it does not run, or is not in the memory of this process.
    pub fn kill_store(&self, cause: Option<EntryId>) -> bool {
        self.store(|store| store.kill(cause) == Some(true))
    }

    /// Starts a killed store with all acknowledged writes; false if it runs, or is not in the memory of this process.
    pub fn start_store(&self, cause: Option<EntryId>) -> bool {
        self.store(|store| matches!(store.start(cause), Some(Ok(true))))
    }

    /// Each request to the store takes this much longer; watches are not affected. False if the store is not in the
    /// memory of this process.
    pub fn slow_store(&self, latency: Duration) -> bool {
        self.store(|store| store.slow(latency))
    }

    /// Whether the store has no space for more: it refuses writes except deletions, as etcd does with the alarm NOSPACE.
    /// False if the store is not in the memory of this process.
    pub fn fill_store(&self, is_full: bool) -> bool {
        self.store(|store| store.fill(is_full))
    }

    /// Compacts the store up to a revision, and lets the API server fill its watch caches again, as after a restart of
    /// both: all watches end, and a watch that continues after an older revision gets 410 Expired. False after the end
    /// of the cluster.
    pub fn compact_store(&self, revision: i64) -> bool {
        self.store(|store| {
            store.compact(revision);
            true
        })
    }
}
