use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;

/// How far the clock of a machine is ahead of the true time. Clones are of the same machine.
#[derive(Clone, Debug, Default)]
pub struct Skew(Arc<AtomicI64>);

impl Skew {
    /// Sets the clock forward, or back if the duration is negative. Several changes add up. A duration of more than 292
    /// years changes nothing.
    pub fn shift(&self, duration: SignedDuration) {
        let nanos = i64::try_from(duration.as_nanos());
        self.0.fetch_add(nanos.unwrap_or_default(), Ordering::Relaxed);
    }

    /// How far the clock is ahead.
    pub(crate) fn ahead(&self) -> SignedDuration {
        SignedDuration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
