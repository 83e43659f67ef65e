use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::ExpressionPool;
use tokio::sync::Semaphore;

/// The maximum number of working threads, in addition to the thread that serves requests.
const MOST_THREADS: usize = 4;
/// The maximum number of waiting jobs for each thread: what takes half a minute if each job takes the maximum time of
/// the rules of one object.
const WAITING_FOR_EACH: usize = 80;

/// Evaluates expressions on threads other than the one that serves requests, a few at a time, first in, first out.
///
/// The threads are tokio's: they start when there is work, and end after some idle time.
/// Unlike Kubernetes: a request is rejected with the advice to retry if too many are waiting.
pub(crate) struct ExpressionThreads {
    threads: Arc<Semaphore>,
    places: Semaphore,
}

impl ExpressionThreads {
    /// One thread for each core except the one that serves requests. There are none in virtual time, because the clock
    /// does not wait for threads, and none in scaled time, because a thread would delay the clock.
    pub(crate) fn of_this_runtime() -> Option<Self> {
        if crate::clock::is_paused() {
            return None;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Some(Self::with((cores - 1).clamp(1, MOST_THREADS), WAITING_FOR_EACH))
    }

    fn with(threads: usize, waiting_for_each: usize) -> Self {
        let places = Semaphore::new(threads * (1 + waiting_for_each));
        Self { threads: Arc::new(Semaphore::new(threads)), places }
    }
}

#[async_trait]
impl ExpressionPool for ExpressionThreads {
    async fn run(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), Status> {
        let _place = self.places.try_acquire().map_err(|_| too_many())?;
        let ended = || Status::internal("the server stops, and does no more costly work");
        let thread = Arc::clone(&self.threads).acquire_owned().await.map_err(|_| ended())?;
        #[expect(
            clippy::disallowed_methods,
            reason = "outside virtual time, so that requests do not wait for the work"
        )]
        let done = tokio::task::spawn_blocking(move || {
            work();
            // The request may have been dropped; the thread is still busy until the work is done.
            drop(thread);
        });
        // The caller gets the error of a job that panics.
        let _ = done.await;
        Ok(())
    }
}

fn too_many() -> Status {
    Status::too_many_requests("too much costly work is waiting, please try again later", 1)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;

    use futures_util::future::poll_immediate;

    use super::*;

    /// Work that says when it begins, and waits to be let go.
    fn held() -> (Box<dyn FnOnce() + Send>, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (begin, begun) = mpsc::channel();
        let (let_go, wait) = mpsc::channel();
        let work = Box::new(move || {
            let _ = begin.send(());
            let _ = wait.recv();
        });
        (work, begun, let_go)
    }

    #[tokio::test]
    async fn a_few_run_at_a_time_some_wait_and_more_are_rejected() {
        let threads = ExpressionThreads::with(1, 1);
        let (work, begun, let_go) = held();
        let mut first = pin!(threads.run(work));
        assert!(poll_immediate(&mut first).await.is_none());
        begun.recv().unwrap();
        let (work, begun, _) = held();
        let mut second = pin!(threads.run(work));
        assert!(poll_immediate(&mut second).await.is_none());
        assert!(begun.try_recv().is_err());
        let refused = threads.run(Box::new(|| panic!("there is no place"))).await.unwrap_err();
        assert_eq!((refused.code, refused.details.unwrap().retry_after_seconds), (429, 1));
        let_go.send(()).unwrap();
        first.await.unwrap();
        second.await.unwrap();
        begun.recv().unwrap();
    }

    #[tokio::test]
    async fn cancelled_work_is_not_started() {
        let threads = ExpressionThreads::with(1, 1);
        let (work, begun, let_go) = held();
        let mut first = pin!(threads.run(work));
        assert!(poll_immediate(&mut first).await.is_none());
        begun.recv().unwrap();
        let (begin, begun_after) = mpsc::channel();
        {
            let begin = begin.clone();
            let mut gone = pin!(threads.run(Box::new(move || begin.send("gone").unwrap())));
            assert!(poll_immediate(&mut gone).await.is_none());
        }
        let_go.send(()).unwrap();
        first.await.unwrap();
        threads.run(Box::new(move || begin.send("later").unwrap())).await.unwrap();
        assert_eq!(begun_after.iter().collect::<Vec<_>>(), ["later"]);
    }

    #[tokio::test(start_paused = true)]
    async fn in_virtual_time_there_is_no_thread() {
        assert!(ExpressionThreads::of_this_runtime().is_none());
    }
}
