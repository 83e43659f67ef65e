use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::tasks::Tasks;

/// A part of a control plane that can be stopped and started by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// All controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// All simulated nodes.
    Kubelet,
    /// The controllers of the simulated CSI driver.
    CsiDriver,
}

impl Component {
    /// The word for it, as in the event log.
    pub fn word(self) -> &'static str {
        match self {
            Self::ControllerManager => "controller-manager",
            Self::Scheduler => "scheduler",
            Self::Kubelet => "kubelet",
            Self::CsiDriver => "csi-driver",
        }
    }

    /// The component of that name.
    pub fn named(word: &str) -> Option<Self> {
        [Self::ControllerManager, Self::Scheduler, Self::Kubelet, Self::CsiDriver]
            .into_iter()
            .find(|component| component.word() == word)
    }
}

/// A component's task. Dropping it kills the component where it stands.
#[derive(Debug)]
pub(crate) struct Running {
    task: JoinHandle<()>,
    stop: Arc<Notify>,
}

impl Running {
    /// Starts a component; it is handed the future that asks it to stop.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(
        tasks: &Tasks,
        name: &str,
        run: impl FnOnce(StopSignal) -> F,
    ) -> Self {
        let stop = Arc::new(Notify::new());
        let signal = StopSignal(Arc::clone(&stop));
        Self { task: tasks.spawn(name, run(signal)), stop }
    }

    /// Starts a task that need not be asked to stop: it is dropped where it stands.
    pub(crate) fn of(tasks: &Tasks, name: &str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::start(tasks, name, |_| task)
    }

    /// Asks the component to stop, and waits until it has.
    pub(crate) async fn stop(mut self) {
        self.stop.notify_one();
        // A component that panicked has stopped too.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks a component to stop.
#[derive(Debug)]
pub(crate) struct StopSignal(Arc<Notify>);

impl StopSignal {
    /// Resolves when the component is asked to stop.
    pub(crate) async fn asked(self) {
        self.0.notified().await;
    }
}
