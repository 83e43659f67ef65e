use parking_lot::Mutex;

use crate::Error;
use crate::component::{Running, StopSignal};
use crate::tasks::Tasks;

/// The tasks of one API server: the feeds of its watch caches, and its own controllers. Every transport to the server
/// shares them, so the server works as long as a client holds a transport.
#[derive(Debug)]
pub(crate) struct BackgroundTasks {
    tasks: Tasks,
    running: Mutex<Vec<Running>>,
}

impl BackgroundTasks {
    pub(crate) fn new(tasks: Tasks, running: impl IntoIterator<Item = Running>) -> Self {
        Self { tasks, running: Mutex::new(running.into_iter().collect()) }
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Starts a task.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        mut task: impl FnMut() -> F + Send + 'static,
    ) {
        self.running.lock().push(Running::start(&self.tasks, name, move |_| task()));
    }

    /// Starts a task that the caller ends.
    pub(crate) fn running<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        task: impl FnMut(StopSignal) -> F + Send + 'static,
    ) -> Running {
        Running::start(&self.tasks, name, task)
    }

    /// Waits for `work`, unless a task panics before it is done.
    pub(crate) async fn unless_panicked<R>(&self, work: impl Future<Output = R>) -> Result<R, Error> {
        self.tasks.unless_panicked(work).await
    }

    /// # Errors
    /// If a task has panicked.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.tasks.check()
    }
}
