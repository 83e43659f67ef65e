use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use coracle_ambient::{SignedDuration, Timestamp};
use coracle_meta::Cidr;
use parking_lot::Mutex;

/// How long an abandoned allocation is kept, because its write may still reach the store.
/// In Kubernetes: `gracePeriod` of the repair of IP addresses.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// The ranges of Services.
pub(super) struct Allocator {
    pub(super) ranges: Vec<Cidr>,
    /// The first and the last node port.
    pub(super) node_ports: (i64, i64),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Allocated node ports that are not written yet.
    chosen: BTreeSet<i64>,
    abandoned: Vec<Abandoned>,
}

/// The allocations of a write that was cancelled before its result was known.
#[derive(Clone, PartialEq)]
pub(super) struct Abandoned {
    pub(super) since: Timestamp,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The addresses that the Service has, or has released, if it was written.
    pub(super) addresses: Vec<String>,
    pub(super) ports: Vec<i64>,
}

impl Allocator {
    pub(super) fn new(ranges: Vec<Cidr>, node_ports: RangeInclusive<u16>) -> Self {
        let (first, last) = node_ports.into_inner();
        Self { ranges, node_ports: (first.into(), last.into()), state: Mutex::default() }
    }

    /// Allocates a port until it is released; returns false if it is in use.
    pub(super) fn take_port(&self, port: i64) -> bool {
        self.state.lock().chosen.insert(port)
    }

    pub(super) fn give_back_ports(&self, ports: &[i64]) {
        self.state.lock().chosen.retain(|port| !ports.contains(port));
    }

    pub(super) fn abandon(&self, abandoned: Abandoned) {
        self.state.lock().abandoned.push(abandoned);
    }

    /// The abandoned allocations that are old enough: their writes are in the store or never will be.
    pub(super) fn abandoned(&self, now: Timestamp) -> Vec<Abandoned> {
        let is_due = |abandoned: &&Abandoned| now.duration_since(abandoned.since) >= GRACE;
        self.state.lock().abandoned.iter().filter(is_due).cloned().collect()
    }

    /// Removes a released abandoned allocation.
    pub(super) fn settle(&self, settled: &Abandoned) {
        let mut state = self.state.lock();
        if let Some(at) = state.abandoned.iter().position(|abandoned| abandoned == settled) {
            state.abandoned.remove(at);
            state.chosen.retain(|port| !settled.ports.contains(port));
        }
    }
}
