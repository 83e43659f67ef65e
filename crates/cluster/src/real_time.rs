use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

/// The machine's time, for a cluster whose own clock is paused: its calls to other processes, such as webhooks, run on a
/// runtime in the machine's time. The clock of the cluster stands still meanwhile.
#[derive(Clone)]
pub struct RealTime {
    runtime: Handle,
    hold: Arc<dyn Fn() -> Box<dyn Any + Send> + Send + Sync>,
}

impl fmt::Debug for RealTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RealTime")
    }
}

impl RealTime {
    /// Calls run on `runtime`. The clock of the cluster stands still as long as the value of `hold` exists.
    pub fn new<H: Any + Send>(runtime: Handle, hold: impl Fn() -> H + Send + Sync + 'static) -> Self {
        Self { runtime, hold: Arc::new(move || Box::new(hold())) }
    }

    /// Runs a call.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "without sockets there are no calls"))]
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        within: Duration,
        call: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<T, String> {
        let _held = (self.hold)();
        let late = || "context deadline exceeded".to_owned();
        let call = self.runtime.spawn(async move { tokio::time::timeout(within, call).await });
        match call.await {
            Ok(answer) => answer.map_err(|_| late())?,
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(all(test, feature = "serve"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts the holds that exist.
    struct Hold(Arc<AtomicUsize>);

    impl Drop for Hold {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_clock_is_held_during_a_call_whose_time_is_the_machines() {
        let network = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        let paused = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let holds = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&holds);
        let real_time = RealTime::new(network.handle().clone(), move || {
            counted.fetch_add(1, Ordering::SeqCst);
            Hold(Arc::clone(&counted))
        });
        let seen = Arc::clone(&holds);
        let hour = Duration::from_secs(3600);
        let during = paused.block_on(real_time.run(hour, async move { Ok(seen.load(Ordering::SeqCst)) }));
        assert_eq!((during, holds.load(Ordering::SeqCst)), (Ok(1), 0));
        let never = std::future::pending::<Result<(), String>>();
        let late = paused.block_on(real_time.run(Duration::from_millis(1), never));
        assert_eq!((late, holds.load(Ordering::SeqCst)), (Err("context deadline exceeded".to_owned()), 0));
    }
}
