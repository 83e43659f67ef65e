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
