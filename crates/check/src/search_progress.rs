use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How far a search is, readable from any thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SearchProgress(Arc<AtomicUsize>);

impl SearchProgress {
    /// The number of runs that have ended.
    pub fn runs(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
