use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A one-time event that many tasks can await: a cache has synced, an informer must stop.
#[derive(Debug, Default)]
pub struct Signal {
    given: AtomicBool,
    changed: Notify,
}

impl Signal {
    /// Gives the signal, to present and future waiters.
    pub fn give(&self) {
        self.given.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Whether the signal was given.
    pub fn is_given(&self) -> bool {
        self.given.load(Ordering::Acquire)
    }

    /// Waits for the signal.
    pub async fn given(&self) {
        let mut changed = pin!(self.changed.notified());
        // The wait is registered here, so that a signal between the check and the wait is not lost.
        changed.as_mut().enable();
        if !self.is_given() {
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test(start_paused = true)]
    async fn current_and_later_waiters_get_the_signal() {
        let signal = Arc::new(Signal::default());
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let signal = signal.clone();
                tokio::spawn(async move { signal.given().await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(!signal.is_given());
        signal.give();
        for task in waiting {
            task.await.unwrap();
        }
        signal.given().await;
    }
}
