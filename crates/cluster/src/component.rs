use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Instance;
use crate::tasks::Tasks;

/// A component of a control plane that can be stopped and started separately.
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
    /// Its name in the event log.
    pub fn word(self) -> &'static str {
        match self {
            Self::ControllerManager => "controller-manager",
            Self::Scheduler => "scheduler",
            Self::Kubelet => "kubelet",
            Self::CsiDriver => "csi-driver",
        }
    }

    /// The component with a name.
    pub fn named(word: &str) -> Option<Self> {
        [Self::ControllerManager, Self::Scheduler, Self::Kubelet, Self::CsiDriver]
            .into_iter()
            .find(|component| component.word() == word)
    }
}

/// A component's task. Dropping it kills the component.
#[derive(Debug)]
pub(crate) struct Running {
    task: JoinHandle<()>,
    stop: Arc<Notify>,
    instance: Instance,
}

impl Running {
    /// Starts a component, and restarts it after each survived panic; it gets the future that requests its stop.
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
        Self { task: tokio::spawn(tasks.resting_among(name, begin)), stop, instance: Instance::default() }
    }

    /// Starts a task without a stop request: it is only dropped.
    pub(crate) fn of(tasks: &Tasks, name: &str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { task: tasks.spawn(name, task), stop: Arc::default(), instance: Instance::default() }
    }

    /// The same component as the instance that ends with it.
    pub(crate) fn with_instance(mut self, instance: Instance) -> Self {
        self.instance = instance;
        self
    }

    /// Requests the stop of the component, and waits for it.
    pub(crate) async fn stop(mut self) {
        self.stop.notify_one();
        // A panicked component has stopped, too.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.instance.end();
        self.task.abort();
    }
}

/// The stop request of a component.
#[derive(Debug)]
pub(crate) struct StopSignal(Arc<Notify>);

impl StopSignal {
    /// Resolves when the stop is requested.
    pub(crate) async fn asked(self) {
        self.0.notified().await;
    }
}
