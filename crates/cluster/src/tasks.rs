use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::Error;

/// The tasks of one cluster, which stand and fall together: when one panics, all end, and whoever asks is told which it
/// was and what it said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    end: Arc<End>,
}

#[derive(Debug, Default)]
struct End {
    /// The name of the task that panicked first, and what it said.
    panic: OnceLock<(String, String)>,
    came: Notify,
}

impl Tasks {
    /// Starts a task that goes on until it ends, its handle is aborted or a task panics.
    pub(crate) fn spawn(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(self.among(name, task))
    }

    /// The same task as one of these, for a set of the caller's.
    pub(crate) fn among(
        &self,
        name: &str,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (tasks, name) = (self.clone(), name.to_owned());
        async move {
            let task = AssertUnwindSafe(task).catch_unwind();
            if let Ok(Err(panic)) = tasks.unless_panicked(task).await {
                // Of several that panic, the first has caused the others, or nobody knows.
                let _ = tasks.end.panic.set((name, message(&*panic)));
                tasks.end.came.notify_waiters();
            }
        }
    }

    /// Waits until a task panics.
    pub(crate) async fn panicked(&self) -> Error {
        loop {
            let came = self.end.came.notified();
            if let Err(error) = self.check() {
                return error;
            }
            came.await;
        }
    }

    /// Waits for `work`, unless a task panics before it is done.
    pub(crate) async fn unless_panicked<R>(&self, work: impl Future<Output = R>) -> Result<R, Error> {
        match select(pin!(work), pin!(self.panicked())).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((panic, _)) => Err(panic),
        }
    }

    /// # Errors
    /// If a task has panicked.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.end.panic.get() {
            None => Ok(()),
            Some((task, message)) => Err(Error::Panic { task: task.clone(), message: message.clone() }),
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_task_that_panics_ends_the_others_and_is_named() {
        let tasks = Tasks::default();
        let other = tasks.spawn("other", std::future::pending());
        assert!(tasks.check().is_ok());
        let made_up = tasks.spawn("made-up", async { panic!("no {}", "boat") });
        assert_eq!(tasks.panicked().await.to_string(), "the task made-up panicked: no boat");
        other.await.unwrap();
        made_up.await.unwrap();
        tasks.spawn("later", async { panic!("me too") }).await.unwrap();
        assert_eq!(tasks.check().unwrap_err().to_string(), "the task made-up panicked: no boat");
    }
}
