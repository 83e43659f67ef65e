use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A signal that the server shuts down. Clones share the signal, and it cannot be reset.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    begun: AtomicBool,
    notify: Notify,
}

impl Shutdown {
    /// Sends the signal: watches end cleanly, `/readyz` fails, running requests are finished.
    pub fn begin(&self) {
        self.inner.begun.store(true, Ordering::SeqCst);
        self.inner.notify.notify_waiters();
    }

    /// Whether the signal was sent.
    pub fn has_begun(&self) -> bool {
        self.inner.begun.load(Ordering::SeqCst)
    }

    /// Waits for the signal.
    pub async fn begun(&self) {
        loop {
            let notified = self.inner.notify.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.has_begun() {
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_tasks_are_woken_and_later_ones_do_not_wait() {
        let shutdown = Shutdown::default();
        let waiting = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.begun().await }
        });
        tokio::task::yield_now().await;
        shutdown.begin();
        waiting.await.unwrap();
        shutdown.begun().await;
    }
}
