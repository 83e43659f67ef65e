use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

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
    /// Starts a component, and again after each panic that is survived; it is handed the future that asks it to stop.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(
        tasks: &Tasks,
        name: &str,
        mut run: impl FnMut(StopSignal) -> F + Send + 'static,
    ) -> Self {
        let stop = Arc::new(Notify::new());
        let asked = Arc::clone(&stop);
        let begin = move |pause: Duration| {
            let (work, asked) = (run(StopSignal(Arc::clone(&asked))), Arc::clone(&asked));
            async move {
                let is_asked = !pause.is_zero() && timeout(pause, asked.notified()).await.is_ok();
                if !is_asked {
                    work.await;
                }
            }
        };
        Self { task: tokio::spawn(tasks.resting_among(name, begin)), stop }
    }

    /// Starts a task that need not be asked to stop: it is dropped where it stands.
    pub(crate) fn of(tasks: &Tasks, name: &str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { task: tasks.spawn(name, task), stop: Arc::default() }
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
