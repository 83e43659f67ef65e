use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::sleep;

/// A runtime on the thread of its caller, in virtual time. The clock stands still between calls.
///
/// Unlike [`SteppedClock`](crate::SteppedClock), it needs no thread of its own, so it works where there are no threads.
/// Its clients are in this process: all that they do happens in a call.
///
/// ```
/// use coracle_sim::SteppedRuntime;
/// use std::time::Duration;
/// use tokio::time::{Instant, sleep};
///
/// let runtime = SteppedRuntime::new().unwrap();
/// let start = runtime.run(async { Instant::now() });
/// runtime.advance(Duration::from_secs(3600));
/// assert_eq!(runtime.run(async move { start.elapsed() }), Duration::from_secs(3600));
/// ```
pub struct SteppedRuntime {
    runtime: Runtime,
    /// All tasks of the runtime are idle.
    idle: Arc<Notify>,
}

impl std::fmt::Debug for SteppedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SteppedRuntime")
    }
}

impl SteppedRuntime {
    /// A new runtime.
    ///
    /// # Errors
    /// If the system cannot provide the resources of a runtime.
    pub fn new() -> std::io::Result<Self> {
        let idle = Arc::<Notify>::default();
        let parking = Arc::clone(&idle);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .on_thread_park(move || parking.notify_waiters())
            .build()?;
        Ok(Self { runtime, idle })
    }

    /// Runs a future to its end. The clock advances to each timer that it waits for.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Advances the clock by a time: all timers up to then fire in their order. Returns when the tasks that they woke
    /// are idle.
    pub fn advance(&self, time: Duration) {
        self.run(async {
            sleep(time).await;
            self.idle().await;
        });
    }

    /// Waits until all tasks are idle. The clock does not advance for that. Await it in [`run`](Self::run).
    pub async fn idle(&self) {
        self.idle.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::{Instant, interval};

    use super::*;

    #[test]
    fn the_clock_stands_still_between_calls_and_timers_fire_in_their_order() {
        let runtime = SteppedRuntime::new().unwrap();
        let ticks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ticks);
        let start = runtime.run(async move {
            tokio::spawn(async move {
                let mut beat = interval(Duration::from_secs(10));
                loop {
                    beat.tick().await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
            Instant::now()
        });
        runtime.run(runtime.idle());
        assert_eq!(ticks.load(Ordering::Relaxed), 1, "the first tick is at once");
        for _ in 0..3 {
            runtime.advance(Duration::from_secs(10));
        }
        assert_eq!(ticks.load(Ordering::Relaxed), 4, "the tick at the target is included");
        runtime.run(runtime.idle());
        assert_eq!(runtime.run(async move { start.elapsed() }), Duration::from_secs(30));
    }
}
