use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Ends a search before its last plan, from any thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SearchStop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_asked: AtomicBool,
    asked: Notify,
}

impl SearchStop {
    /// Ends the search. Runs in real time end at once, and count as not tried.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::SeqCst);
        self.0.asked.notify_waiters();
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// Resolves when the search is to end.
    pub(crate) async fn asked(&self) {
        let mut asked = pin!(self.0.asked.notified());
        // A stop between the look at the flag and the wait is not missed.
        asked.as_mut().enable();
        if !self.is_asked() {
            asked.await;
        }
    }
}
