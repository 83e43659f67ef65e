use std::fmt;
use std::time::Duration;

use coracle_sim::{Pace, RunningClock, SteppedClock};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::Error;

/// How long a client in another process may react before a stepped clock advances further, in the machine's time.
const REACTS_WITHIN: Duration = Duration::from_millis(10);

/// The time of a cluster, and the runtime of its tasks.
#[derive(Clone, Debug)]
pub enum ClusterTime {
    /// The machine's, on this runtime.
    Real(Handle),
    /// Stands still until it is advanced.
    Stepped(SteppedClock),
    /// This many times as fast as the machine's.
    Scaled(SteppedClock, f64),
}

impl fmt::Display for ClusterTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(_) => f.write_str("real"),
            Self::Stepped(_) => f.write_str("stepped"),
            Self::Scaled(_, factor) => write!(f, "scaled={factor}"),
        }
    }
}

impl ClusterTime {
    /// A clock that stands still.
    ///
    /// # Errors
    /// If the system provides no thread.
    pub fn stepped() -> Result<Self, Error> {
        Ok(Self::Stepped(SteppedClock::start("cluster", Pace::Stepped)?))
    }

    /// A clock that is this many times as fast as the machine's.
    ///
    /// # Errors
    /// If the system provides no thread.
    pub fn scaled(factor: f64) -> Result<Self, Error> {
        Ok(Self::Scaled(SteppedClock::start("cluster", Pace::Scaled(factor))?, factor))
    }

    /// Another clock of the same kind, for another cluster.
    pub(crate) fn another(&self) -> Result<Self, Error> {
        match self {
            Self::Real(runtime) => Ok(Self::Real(runtime.clone())),
            Self::Stepped(_) => Self::stepped(),
            Self::Scaled(_, factor) => Self::scaled(*factor),
        }
    }

    fn runtime(&self) -> &Handle {
        match self {
            Self::Real(runtime) => runtime,
            Self::Stepped(clock) | Self::Scaled(clock, _) => clock.runtime(),
        }
    }

    /// Whether the cluster runs on the runtime of the sockets.
    pub fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// The clock, if it must be advanced.
    pub fn stepped_clock(&self) -> Option<&SteppedClock> {
        match self {
            Self::Stepped(clock) => Some(clock),
            Self::Real(_) | Self::Scaled(..) => None,
        }
    }

    /// Starts a future on the runtime of the cluster.
    pub(crate) fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime().spawn(future)
    }

    /// Runs a future on the runtime of the cluster, to its end even if the caller does not wait for it.
    ///
    /// # Errors
    /// If the runtime has ended, or the future panics.
    pub async fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Result<T, Error> {
        self.spawn(future).await.map_err(|_| Error::Ended)
    }

    /// Lets a stepped clock advance while the guard exists.
    pub(crate) fn running(&self) -> Option<RunningClock> {
        self.stepped_clock().map(SteppedClock::run)
    }

    /// A client in another process may react to what it has got.
    pub(crate) fn touch(&self) {
        if let Some(clock) = self.stepped_clock() {
            clock.touch(REACTS_WITHIN);
        }
    }

    /// Waits until clients in other processes have had their time to react, and all tasks of the cluster are idle. Call
    /// it on a runtime in the machine's time.
    pub(crate) async fn quiet(&self) -> Result<(), Error> {
        let Some(clock) = self.stepped_clock() else { return Ok(()) };
        loop {
            self.idle().await?;
            let wait = clock.quiet_in();
            if wait.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Waits until all tasks of a cluster with a stepped clock are idle.
    pub(crate) async fn idle(&self) -> Result<(), Error> {
        match self.stepped_clock().cloned() {
            Some(clock) => self.run(async move { clock.idle().await }).await,
            None => Ok(()),
        }
    }

    /// Ends the runtime of the cluster, unless others use it.
    pub(crate) fn end(&self) {
        match self {
            Self::Real(_) => {}
            Self::Stepped(clock) | Self::Scaled(clock, _) => clock.end(),
        }
    }
}
