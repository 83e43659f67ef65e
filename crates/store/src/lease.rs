use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_ambient::TimeShift;
use tokio::time::Instant;

use crate::LeaseId;

/// When leases expire. Not part of the history: after a restart every lease has its full time again, as in etcd.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    by_lease: BTreeMap<LeaseId, Instant>,
    in_order: BTreeSet<(Instant, LeaseId)>,
}

impl Deadlines {
    /// Restarts the full time of a lease.
    pub(crate) fn renew(&mut self, id: LeaseId, ttl_seconds: i64) {
        self.forget(id);
        let ttl = Duration::from_secs(u64::try_from(ttl_seconds).unwrap_or(0));
        let at = Instant::now().later(ttl);
        self.by_lease.insert(id, at);
        self.in_order.insert((at, id));
    }

    pub(crate) fn forget(&mut self, id: LeaseId) {
        if let Some(at) = self.by_lease.remove(&id) {
            self.in_order.remove(&(at, id));
        }
    }

    pub(crate) fn knows(&self, id: LeaseId) -> bool {
        self.by_lease.contains_key(&id)
    }

    /// The next lease to expire.
    pub(crate) fn next(&self) -> Option<(Instant, LeaseId)> {
        self.in_order.first().copied()
    }

    pub(crate) fn remaining_seconds(&self, id: LeaseId) -> Option<i64> {
        let at = self.by_lease.get(&id)?;
        let left = at.saturating_duration_since(Instant::now());
        i64::try_from(left.as_secs()).ok()
    }
}
