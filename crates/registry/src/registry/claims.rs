//! Claims of values in the store before their write into an object, for several API servers on one store.

use std::sync::atomic::Ordering;

use coracle_ambient::{SignedDuration, Timestamp};
use coracle_meta::{Status, format_micro_time, parse_time};

pub use coracle_storage::Claim;

use super::Registry;

/// How long a claim is valid if its API server does not release it, because it may have been killed.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);

impl Registry {
    /// Declares that other API servers may write to the same store.
    pub fn share_store(&self) {
        self.inner.is_store_shared.store(true, Ordering::Relaxed);
    }

    /// Whether other API servers may write to the same store.
    pub fn is_store_shared(&self) -> bool {
        self.inner.is_store_shared.load(Ordering::Relaxed)
    }

    /// Claims a name, such as `ranges/servicenodeports/30080`; `None` if another API server has claimed it. A claim
    /// covers the time between the check that a value is free and the write of the object that uses it.
    ///
    /// # Errors
    /// If the store does not respond.
    pub async fn claim(&self, name: &str, now: Timestamp) -> Result<Option<Claim>, Status> {
        let root = self.store_root().map_or("/registry", |root| root);
        let is_void = |claimed: &str| parse_time(claimed).is_none_or(|since| now.duration_since(since) >= HOLDS);
        self.inner.storage.claim(&format!("{root}/{name}"), &format_micro_time(now), is_void).await
    }

    /// Releases a claim. If the store does not respond, the claim expires.
    pub async fn unclaim(&self, claim: &Claim) {
        // The only effect is that another API server cannot claim it for a minute.
        let _ = self.inner.storage.unclaim(claim).await;
    }
}
