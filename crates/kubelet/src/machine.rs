use std::collections::{BTreeMap, BTreeSet, VecDeque};

use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::addresses::{PodAddresses, node_address};
use crate::lifecycle::Runtime;

/// How many lines of a pod's log are kept.
const LINES: usize = 1000;

/// A simulated machine: the pods that run on it. It goes on while the agent that speaks for it is stopped and started.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Its address.
    pub(crate) address: String,
    state: Mutex<State>,
    /// Rings when a pod of it has said something, or ended.
    pub(crate) spoke: Notify,
}

#[derive(Debug)]
struct State {
    pods: BTreeMap<ObjectKey, Running>,
    addresses: PodAddresses,
}

/// A pod on the machine.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// Which one: an object of the same name may be another pod.
    pub(crate) uid: String,
    /// Where it is on its way.
    pub(crate) runtime: Runtime,
    /// What its containers said, the oldest first.
    pub(crate) log: VecDeque<Line>,
    /// How many lines were dropped before the first that is kept.
    pub(crate) dropped: usize,
}

/// A line of a container's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// When it was said.
    pub(crate) at: Timestamp,
    /// By which container.
    pub(crate) container: String,
    /// How often that had been started again by then.
    pub(crate) restarts: i32,
    /// What.
    pub(crate) text: String,
}

impl Machine {
    /// The machine of the node with this number.
    pub(crate) fn new(number: u32) -> Self {
        Self {
            address: node_address(number),
            state: Mutex::new(State { pods: BTreeMap::new(), addresses: PodAddresses::of_node(number) }),
            spoke: Notify::new(),
        }
    }

    /// What it knows of this pod, if it runs here.
    pub(crate) fn pod(&self, key: &ObjectKey) -> Option<Running> {
        self.state.lock().pods.get(key).cloned()
    }

    /// The pods that it knows.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.state.lock().pods.keys().cloned().collect()
    }

    /// The pod is now at this point, and has said these lines.
    pub(crate) fn set(&self, key: &ObjectKey, uid: &str, runtime: Runtime, said: Vec<Line>) {
        let mut state = self.state.lock();
        let running = state.pods.entry(key.clone()).or_insert_with(|| Running {
            uid: uid.to_owned(),
            runtime: runtime.clone(),
            log: VecDeque::new(),
            dropped: 0,
        });
        running.runtime = runtime;
        running.log.extend(said);
        while running.log.len() > LINES {
            running.log.pop_front();
            running.dropped += 1;
        }
        drop(state);
        self.spoke.notify_waiters();
    }

    /// The pod is no more.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        self.state.lock().pods.remove(key);
        self.spoke.notify_waiters();
    }

    /// An address for a pod that has none yet.
    pub(crate) fn new_address(&self) -> Option<String> {
        let mut state = self.state.lock();
        let taken: BTreeSet<String> = state.pods.values().filter_map(|running| running.runtime.ip.clone()).collect();
        state.addresses.next(&taken)
    }
}
