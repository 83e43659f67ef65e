use std::collections::BTreeSet;

use coracle_ambient::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::cidr::Cidr;

/// How long what a write has left behind stays taken: it may be on its way into the store.
/// In Kubernetes: `gracePeriod` of the repair of IP addresses.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// The ranges that services draw from.
pub(super) struct Allocator {
    pub(super) ranges: Vec<Cidr>,
    /// The first and the last.
    pub(super) node_ports: (i64, i64),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Node ports that were chosen and are not yet written.
    chosen: BTreeSet<i64>,
    abandoned: Vec<Abandoned>,
}

/// What a write had taken that was cut off before it could tell whether it happened.
#[derive(Clone, PartialEq)]
pub(super) struct Abandoned {
    pub(super) since: Timestamp,
    pub(super) namespace: String,
    pub(super) name: String,
    /// What the service has now, or has given up, if it was written.
    pub(super) addresses: Vec<String>,
    pub(super) ports: Vec<i64>,
}

impl Allocator {
    pub(super) fn new(ranges: Vec<Cidr>, (first, last): (u16, u16)) -> Self {
        Self { ranges, node_ports: (first.into(), last.into()), state: Mutex::default() }
    }

    /// Takes a port until it is given back; false if it is taken.
    pub(super) fn take_port(&self, port: i64) -> bool {
        self.state.lock().chosen.insert(port)
    }

    pub(super) fn give_back_ports(&self, ports: &[i64]) {
        self.state.lock().chosen.retain(|port| !ports.contains(port));
    }

    pub(super) fn abandon(&self, abandoned: Abandoned) {
        self.state.lock().abandoned.push(abandoned);
    }

    /// What was abandoned long enough ago that the store has it or never will.
    pub(super) fn abandoned(&self, now: Timestamp) -> Vec<Abandoned> {
        let is_due = |abandoned: &&Abandoned| now.duration_since(abandoned.since) >= GRACE;
        self.state.lock().abandoned.iter().filter(is_due).cloned().collect()
    }

    /// Something abandoned has been given back.
    pub(super) fn settle(&self, settled: &Abandoned) {
        let mut state = self.state.lock();
        if let Some(at) = state.abandoned.iter().position(|abandoned| abandoned == settled) {
            state.abandoned.remove(at);
            state.chosen.retain(|port| !settled.ports.contains(port));
        }
    }
}
