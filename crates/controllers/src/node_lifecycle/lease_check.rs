use coracle_api::coordination_v1::Lease;
use coracle_client::{Api, Client, Error};
use coracle_informer::AnyInformer;
use coracle_meta::{ObjectKey, parse_resource_version};
use parking_lot::Mutex;

/// Reads the Lease of a node from the server before the node is declared unreachable, in releases that do so.
///
/// A cache that is late shows old Leases, and all nodes would seem silent. So once a Lease on the server differs from
/// the one in the cache, no node is judged before the cache has reached the server's revision.
///
/// In Kubernetes: the feature gate `NodeControllerLeaseCircuitBreaker`.
#[derive(Debug)]
pub(super) struct LeaseCheck {
    cache: AnyInformer,
    /// The revision that the cache must reach.
    needs: Mutex<Option<i64>>,
}

impl LeaseCheck {
    pub(super) fn new(cache: AnyInformer) -> Self {
        Self { cache, needs: Mutex::default() }
    }

    /// Whether the cache is known to be late.
    pub(super) fn is_late(&self) -> bool {
        let mut needs = self.needs.lock();
        *needs = needs.filter(|needs| self.cache.revision() < *needs);
        needs.is_some()
    }

    /// Whether the server's Lease is the one of the cache. No Lease on the server counts as the same.
    pub(super) async fn is_current(
        &self,
        client: &Client,
        key: &ObjectKey,
        cached: Option<&Lease>,
    ) -> Result<bool, Error> {
        let Some(live) = Api::<Lease>::of(client).find(key).await? else { return Ok(true) };
        let version = live.metadata.resource_version.as_deref();
        if version == cached.and_then(|lease| lease.metadata.resource_version.as_deref()) {
            return Ok(true);
        }
        *self.needs.lock() = version.and_then(parse_resource_version);
        Ok(false)
    }
}
