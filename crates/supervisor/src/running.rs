use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::instance::Instance;
use crate::stop_signal::StopSignal;
use crate::tasks::{TaskEnd, Tasks};

/// What a component runs: the future of one start, which gets the request to stop.
pub type ComponentWork = Box<dyn FnMut(StopSignal) -> BoxFuture<'static, ()> + Send>;

/// A component's task. Dropping it kills the component.
#[derive(Debug)]
pub struct Running {
    task: JoinHandle<()>,
    stop: StopSignal,
    instance: Instance,
}

impl Running {
    /// Starts a task, and restarts it after each survived panic; it gets the future that requests its stop.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
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
    pub fn supervised(
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
    pub fn of(tasks: &Tasks, name: &str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { task: tasks.spawn(name, task), stop: StopSignal::default(), instance: Instance::default() }
    }

    /// Which start of the component it is.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Requests the stop of the component, and waits for it.
    pub async fn stop(mut self) {
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
