use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Instance;
use crate::tasks::{TaskEnd, Tasks};

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

    /// The component with a name, if it is one of these.
    pub fn named(word: &str) -> Option<Self> {
        [Self::ControllerManager, Self::Scheduler, Self::Kubelet, Self::CsiDriver]
            .into_iter()
            .find(|component| component.word() == word)
    }
}

/// Its name in the event log.
impl AsRef<str> for Component {
    fn as_ref(&self) -> &str {
        self.word()
    }
}

/// What a component runs: the future of one start, which gets the request to stop.
pub(crate) type ComponentWork = Box<dyn FnMut(StopSignal) -> BoxFuture<'static, ()> + Send>;

/// A component's task. Dropping it kills the component.
#[derive(Debug)]
pub(crate) struct Running {
    task: JoinHandle<()>,
    stop: StopSignal,
    instance: Instance,
}

impl Running {
    /// Starts a task, and restarts it after each survived panic; it gets the future that requests its stop.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(
        tasks: &Tasks,
        name: &str,
        mut run: impl FnMut(StopSignal) -> F + Send + 'static,
    ) -> Self {
        let stop = StopSignal::default();
        let asked = stop.clone();
        let begin = move |pause: Duration| after(pause, asked.clone(), run(asked.clone()), || {});
        Self { task: tokio::spawn(tasks.resting_among(name, begin)), stop, instance: Instance::default() }
    }

    /// Starts a component, and starts it again after each panic, and after each exit that was not requested. `ended` is
    /// called at these ends, and `restarted` after the pause that follows.
    pub(crate) fn supervised(
        tasks: &Tasks,
        instance: Instance,
        mut work: ComponentWork,
        ended: impl FnMut(TaskEnd) + Send + 'static,
        restarted: impl Fn() + Clone + Send + 'static,
    ) -> Self {
        let stop = StopSignal::default();
        let asked = stop.clone();
        let begin = move |pause: Duration| {
            let restarted = restarted.clone();
            let note = move || {
                if !pause.is_zero() {
                    restarted();
                }
            };
            after(pause, asked.clone(), work(asked.clone()), note)
        };
        let is_over = {
            let asked = stop.clone();
            move || asked.is_asked()
        };
        let task = instance.gate().guard(tasks.supervised(begin, is_over, ended));
        Self { task: tokio::spawn(task), stop, instance }
    }

    /// Starts a task without a stop request: it is only dropped.
    pub(crate) fn of(tasks: &Tasks, name: &str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { task: tasks.spawn(name, task), stop: StopSignal::default(), instance: Instance::default() }
    }

    /// Which start of the component it is.
    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Requests the stop of the component, and waits for it.
    pub(crate) async fn stop(mut self) {
        self.stop.ask();
        // A component that is paused does not see the request.
        self.instance.resume();
        // A panicked component has stopped, too.
        let _ = (&mut self.task).await;
    }
}

/// Runs `work` after a pause, unless the stop is requested during the pause.
async fn after(pause: Duration, stop: StopSignal, work: impl Future<Output = ()>, begins: impl FnOnce()) {
    let is_asked = !pause.is_zero() && timeout(pause, stop.asked()).await.is_ok();
    if !is_asked {
        begins();
        work.await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.instance.end();
        self.task.abort();
    }
}

/// The stop request of a component. Clones are the same request, which one of them receives.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopSignal(Arc<StopRequest>);

#[derive(Debug, Default)]
struct StopRequest {
    is_asked: AtomicBool,
    asked: Notify,
}

impl StopSignal {
    /// Resolves when the stop is requested.
    pub(crate) async fn asked(self) {
        self.0.asked.notified().await;
    }

    fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Relaxed);
        self.0.asked.notify_one();
    }

    fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Relaxed)
    }
}
