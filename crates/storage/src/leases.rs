use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_store::{Error, LeaseId, Store};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The maximum number of objects per lease. In Kubernetes: `defaultLeaseMaxObjectCount`.
const OBJECTS_A_LEASE: u32 = 1000;

/// Leases by time to live, shared by objects that are written at about the same time.
/// In Kubernetes: `storage/etcd3/lease_manager.go`.
#[derive(Default)]
pub(crate) struct Leases {
    current: Mutex<BTreeMap<i64, Current>>,
}

#[derive(Clone, Copy)]
struct Current {
    id: LeaseId,
    until: Instant,
    objects: u32,
}

impl Leases {
    /// A lease that lasts for at least `ttl` seconds from now.
    pub(crate) async fn lease(&self, store: &Arc<dyn Store>, ttl: i64) -> Result<LeaseId, Error> {
        if let Some(id) = self.reuse(ttl) {
            return Ok(id);
        }
        let shared_seconds = (ttl / 20).clamp(1, 60);
        let id = store.lease_grant(0, ttl.saturating_add(shared_seconds)).await?;
        let until = Instant::now() + Duration::from_secs(shared_seconds.unsigned_abs());
        let mut current = self.current.lock();
        current.insert(ttl, Current { id, until, objects: 1 });
        Ok(id)
    }

    fn reuse(&self, ttl: i64) -> Option<LeaseId> {
        let mut all = self.current.lock();
        let current = all.get_mut(&ttl)?;
        let usable = Instant::now() < current.until && current.objects < OBJECTS_A_LEASE;
        current.objects += 1;
        usable.then_some(current.id)
    }
}
