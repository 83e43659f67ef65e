use parking_lot::Mutex;

use crate::running::Running;
use crate::stop_signal::StopSignal;
use crate::task_panic::TaskPanic;
use crate::tasks::Tasks;

/// The tasks of one API server: the feeds of its watch caches, and its own controllers. Every transport to the server
/// shares them, so the server works as long as a client holds a transport.
#[derive(Debug)]
pub struct BackgroundTasks {
    tasks: Tasks,
    running: Mutex<Vec<Running>>,
}

impl BackgroundTasks {
    /// These tasks, which run already.
    pub fn new(tasks: Tasks, running: impl IntoIterator<Item = Running>) -> Self {
        Self { tasks, running: Mutex::new(running.into_iter().collect()) }
    }

    /// The group of the tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Starts a task.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        mut task: impl FnMut() -> F + Send + 'static,
    ) {
        self.running.lock().push(Running::start(&self.tasks, name, move |_| task()));
    }

    /// Starts a task that the caller ends.
    pub fn running<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        task: impl FnMut(StopSignal) -> F + Send + 'static,
    ) -> Running {
        Running::start(&self.tasks, name, task)
    }

    /// Waits for `work`, unless a task panics before it is done.
    ///
    /// # Errors
    /// If a task panics.
    pub async fn unless_panicked<R>(&self, work: impl Future<Output = R>) -> Result<R, TaskPanic> {
        self.tasks.unless_panicked(work).await
    }

    /// # Errors
    /// If a task has panicked.
    pub fn check(&self) -> Result<(), TaskPanic> {
        self.tasks.check()
    }
}
