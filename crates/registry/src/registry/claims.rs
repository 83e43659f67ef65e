//! What a server claims in the store before it writes it into an object, where other servers write to the same store.

use std::sync::atomic::Ordering;

use coracle_ambient::{SignedDuration, Timestamp};
use coracle_meta::{Status, format_micro_time, parse_time};

pub use coracle_storage::Claim;

use super::Registry;

/// How long a claim holds whose server does not give it back: it may have been killed.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);

impl Registry {
    /// Says that other servers may write to the same store.
    pub fn share_store(&self) {
        self.inner.is_store_shared.store(true, Ordering::Relaxed);
    }

    /// Whether other servers may write to the same store.
    pub fn is_store_shared(&self) -> bool {
        self.inner.is_store_shared.load(Ordering::Relaxed)
    }

    /// Claims what a name stands for, such as `ranges/servicenodeports/30080`; `None` if another server has claimed it. A claim covers
    /// the time between the check that a value is free and the write of the object that takes it.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn claim(&self, name: &str, now: Timestamp) -> Result<Option<Claim>, Status> {
        let root = self.store_root().map_or("/registry", |root| root);
        let is_void = |claimed: &str| parse_time(claimed).is_none_or(|since| now.duration_since(since) >= HOLDS);
        self.inner.storage.claim(&format!("{root}/{name}"), &format_micro_time(now), is_void).await
    }

    /// Gives a claim back. If the store does not answer, the claim expires.
    pub async fn unclaim(&self, claim: &Claim) {
        // The only loss is that another server cannot claim it for a minute.
        let _ = self.inner.storage.unclaim(claim).await;
    }
}
