use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A signal that is given once, to all that wait for it. Clones are the same signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndSignal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    has_ended: AtomicBool,
    ended: Notify,
}

impl EndSignal {
    pub(crate) fn end(&self) {
        self.0.has_ended.store(true, Ordering::Release);
        self.0.ended.notify_waiters();
    }

    /// Waits for the signal, which may have been given already.
    pub(crate) async fn ended(self) {
        let mut ended = pin!(self.0.ended.notified());
        // From here on, a signal is not missed.
        ended.as_mut().enable();
        if !self.0.has_ended.load(Ordering::Acquire) {
            ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_signal_reaches_those_that_wait_and_those_that_come_later() {
        let signal = EndSignal::default();
        let mut waiting = pin!(signal.clone().ended());
        assert!(waiting.as_mut().now_or_never().is_none());
        signal.end();
        assert!(waiting.now_or_never().is_some());
        assert!(signal.ended().now_or_never().is_some());
    }
}
