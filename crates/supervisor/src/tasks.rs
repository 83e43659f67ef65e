use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coracle_ambient::Panics;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::task_panic::TaskPanic;

/// The delay before a restart after a panic: first and maximum; it doubles each time. In Kubernetes:
/// `wait.BackoffUntil`.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After this time without a panic, the delay is reset.
const IS_WELL_AFTER: Duration = Duration::from_secs(600);

/// The tasks of one cluster. Clones are the same tasks.
///
/// By default, a panic of one task ends all tasks, and every caller gets the name and the message of that task. If
/// panics are survived, a panicked task is reported and restarted after a delay, and the others continue. The panic of
/// a component ends only the component, in any case.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    end: Arc<End>,
    panics: Panics,
}

#[derive(Debug, Default)]
struct End {
    /// The panic of the first task that panicked.
    panic: OnceLock<TaskPanic>,
    came: Notify,
}

/// How a component ended, although its stop was not requested.
pub enum TaskEnd {
    /// By a panic, with its payload.
    Panicked(Box<dyn Any + Send>),
    /// By itself.
    Exited,
}

impl Tasks {
    /// Tasks with this handling of panics.
    pub fn new(panics: Panics) -> Self {
        Self { end: Arc::default(), panics }
    }

    /// Starts a task that runs until it ends, its handle is aborted or a task panics. It cannot be restarted: if panics
    /// are survived, its panic is reported and ends only this task.
    pub fn spawn(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let mut task = Some(task);
        let begin = move || task.take().map_or(Either::Right(std::future::ready(())), Either::Left);
        tokio::spawn(self.among(name, begin))
    }

    /// A task of this group for a set of the caller: the future of `begin`, which is started again after each survived
    /// panic.
    pub fn among<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        mut begin: impl FnMut() -> F + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        self.resting_among(name, move |pause| {
            let work = begin();
            async move {
                if !pause.is_zero() {
                    sleep(pause).await;
                }
                work.await;
            }
        })
    }

    /// The same, but the future of `begin` itself waits for the delay.
    pub fn resting_among<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        mut begin: impl FnMut(Duration) -> F + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (tasks, name) = (self.clone(), name.to_owned());
        async move {
            let mut pause = Duration::ZERO;
            loop {
                let began = Instant::now();
                let task = AssertUnwindSafe(async { begin(pause).await }).catch_unwind();
                let Ok(Err(panic)) = tasks.unless_panicked(task).await else { return };
                if !tasks.panics.are_survived() {
                    // The first of several panics may have caused the others.
                    let message = Panics::message(&*panic);
                    let _ = tasks.end.panic.set(TaskPanic { task: name, message });
                    tasks.end.came.notify_waiters();
                    return;
                }
                tasks.panics.caught(&format!("the task {name}"), panic);
                pause = next_pause(pause, began);
            }
        }
    }

    /// The task of a component: the future of `begin`, which is started again after each panic and each exit until
    /// `is_over`. It ends with the other tasks, and does not end them.
    pub fn supervised<F: Future<Output = ()> + Send + 'static>(
        &self,
        mut begin: impl FnMut(Duration) -> F + Send + 'static,
        is_over: impl Fn() -> bool + Send + 'static,
        mut ended: impl FnMut(TaskEnd) + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let tasks = self.clone();
        async move {
            let mut pause = Duration::ZERO;
            loop {
                let began = Instant::now();
                let task = AssertUnwindSafe(async { begin(pause).await }).catch_unwind();
                match tasks.unless_panicked(task).await {
                    Err(_) => return,
                    Ok(Ok(())) if is_over() => return,
                    Ok(Ok(())) => ended(TaskEnd::Exited),
                    Ok(Err(panic)) => ended(TaskEnd::Panicked(panic)),
                }
                if is_over() {
                    return;
                }
                pause = next_pause(pause, began);
            }
        }
    }

    /// How panics are handled.
    pub fn panics(&self) -> &Panics {
        &self.panics
    }

    /// Waits until a task panics.
    pub async fn panicked(&self) -> TaskPanic {
        loop {
            let came = self.end.came.notified();
            if let Err(error) = self.check() {
                return error;
            }
            came.await;
        }
    }

    /// Waits for `work`, unless a task panics before it is done.
    ///
    /// # Errors
    /// If a task panics.
    pub async fn unless_panicked<R>(&self, work: impl Future<Output = R>) -> Result<R, TaskPanic> {
        match select(pin!(work), pin!(self.panicked())).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((panic, _)) => Err(panic),
        }
    }

    /// # Errors
    /// If a task has panicked.
    pub fn check(&self) -> Result<(), TaskPanic> {
        self.end.panic.get().cloned().map_or(Ok(()), Err)
    }
}

/// The delay before the next start of a task that began at an instant, after this delay.
fn next_pause(pause: Duration, began: Instant) -> Duration {
    let was_well = began.elapsed() >= IS_WELL_AFTER.saturating_add(pause);
    if was_well { FIRST_PAUSE } else { pause.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE) }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_whose_panics_are_survived_is_started_again_after_longer_and_longer_pauses() {
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, began) = (Arc::clone(&reports), Instant::now());
        let panics = Panics::survived(move |report| {
            kept.lock().push(format!("{} s: {report}", began.elapsed().as_secs()));
        });
        let tasks = Tasks::new(panics);
        let other = tasks.spawn("other", std::future::pending());
        let mut times = 0;
        tokio::spawn(tasks.among("made-up", move || {
            times += 1;
            async move {
                sleep(if times == 3 { IS_WELL_AFTER } else { Duration::ZERO }).await;
                assert!(times == 5, "no boat at {times}");
            }
        }))
        .await
        .unwrap();
        let said = |at: u64, times: u32| format!("{at} s: the task made-up panicked: no boat at {times}");
        assert_eq!(*reports.lock(), [said(0, 1), said(1, 2), said(603, 3), said(604, 4)]);
        assert_eq!(began.elapsed().as_secs(), 606);
        tasks.spawn("once", async { panic!("no sail") }).await.unwrap();
        assert_eq!(reports.lock().last().unwrap(), "606 s: the task once panicked: no sail");
        assert!(tasks.check().is_ok() && !other.is_finished());
    }

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
