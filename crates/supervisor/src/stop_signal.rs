use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The stop request of a component. Clones are the same request, which one of them receives.
#[derive(Clone, Debug, Default)]
pub struct StopSignal(Arc<StopRequest>);

#[derive(Debug, Default)]
struct StopRequest {
    is_asked: AtomicBool,
    asked: Notify,
}

impl StopSignal {
    /// Resolves when the stop is requested.
    pub async fn asked(self) {
        self.0.asked.notified().await;
    }

    pub(crate) fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Relaxed);
        self.0.asked.notify_one();
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Relaxed)
    }
}
