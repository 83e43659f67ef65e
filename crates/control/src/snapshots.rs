use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_cluster::{KeptStore, SavedNodes};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::Error;

/// The name of the state in which the cluster started.
pub const START: &str = "start";

/// The state of a cluster in memory: its store without history, and its nodes.
#[derive(Clone)]
pub struct ClusterSnapshot {
    pub(crate) kept: KeptStore,
    pub(crate) nodes: SavedNodes,
    /// The revision of the store.
    pub revision: i64,
    /// The time of the cluster.
    pub at: Timestamp,
}

impl ClusterSnapshot {
    pub(crate) fn to_json(&self, name: &str) -> Value {
        json!({"name": name, "revision": self.revision, "at": self.at.to_string()})
    }
}

/// Snapshots by their names.
#[derive(Default)]
pub(crate) struct Snapshots(Mutex<BTreeMap<String, ClusterSnapshot>>);

impl Snapshots {
    pub(crate) fn set(&self, name: &str, snapshot: ClusterSnapshot) {
        self.0.lock().insert(name.to_owned(), snapshot);
    }

    pub(crate) fn get(&self, name: &str) -> Result<ClusterSnapshot, Error> {
        let snapshots = self.0.lock();
        snapshots.get(name).cloned().ok_or_else(|| Error::not_found("snapshot", name, &snapshots))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<ClusterSnapshot, Error> {
        let mut snapshots = self.0.lock();
        snapshots.remove(name).ok_or_else(|| Error::not_found("snapshot", name, &snapshots))
    }

    pub(crate) fn list(&self) -> Value {
        let snapshots = self.0.lock();
        let all: Vec<Value> = snapshots.iter().map(|(name, snapshot)| snapshot.to_json(name)).collect();
        json!({"snapshots": all})
    }
}
