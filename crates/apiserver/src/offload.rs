//! Computes heavy requests in the expression pool, so that other requests are served in the meantime.
//!
//! ```text
//! poll here -> Weight reports a heavy request -> each further poll is a job of `ExpressionPool` -> response
//! ```
//! In Kubernetes: each request has a goroutine, which the Go runtime preempts.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use coracle_meta::Status;
use coracle_registry::ExpressionPool;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The size in bytes from which a body or an object is heavy: decoding and validation may take milliseconds.
const HEAVY: usize = 128 * 1024;

/// Whether a request is heavy. Clones belong to the same request.
#[derive(Clone, Debug)]
pub(crate) struct Weight {
    /// `None` without a pool: everything is computed on the thread of the request.
    is_heavy: Option<Arc<AtomicBool>>,
}

impl Weight {
    pub(crate) fn new(place: Option<&dyn ExpressionPool>) -> Self {
        Self { is_heavy: place.map(|_| Arc::default()) }
    }

    /// Adds the bytes that the request processes. If they are many, the rest of the request is computed in the pool.
    pub(crate) async fn add(&self, bytes: usize) {
        if let Some(is_heavy) = self.is_heavy.as_ref().filter(|_| bytes > HEAVY) {
            is_heavy.store(true, Ordering::Relaxed);
            // Ends the current poll.
            tokio::task::yield_now().await;
        }
    }

    fn is_heavy(&self) -> bool {
        self.is_heavy.as_ref().is_some_and(|is_heavy| is_heavy.load(Ordering::Relaxed))
    }
}

/// Computes the response of a request, first here and, once it is heavy, in `place`. A panic in `place` is continued
/// here.
///
/// # Errors
/// The error of the response; 429 if too much work is waiting in `place` before the heavy part starts.
pub(crate) async fn run<T: Send + 'static>(
    place: Option<&dyn ExpressionPool>,
    weight: &Weight,
    mut answer: Answer<T>,
) -> Result<T, Status> {
    let Some(place) = place else { return answer.await };
    let light = std::future::poll_fn(|context| match answer.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if weight.is_heavy() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match light.await {
        Some(result) => result,
        None => Job::new(answer).run(place).await,
    }
}

/// The future of a response. It is boxed where it is made, because it is large, and each future around it would hold and
/// move it twice.
pub(crate) type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>;

/// A heavy request.
struct Job<T> {
    polled: Arc<Mutex<Polled<T>>>,
    woken: Arc<Woken>,
}

struct Polled<T> {
    answer: Answer<T>,
    /// The result of the last poll.
    outcome: Option<std::thread::Result<Poll<Result<T, Status>>>>,
}

impl<T> Polled<T> {
    fn poll(&mut self, waker: &Waker) {
        let answer = self.answer.as_mut();
        self.outcome = Some(catch_unwind(AssertUnwindSafe(|| answer.poll(&mut Context::from_waker(waker)))));
    }
}

#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

impl<T: Send + 'static> Job<T> {
    fn new(answer: Answer<T>) -> Self {
        Self { polled: Arc::new(Mutex::new(Polled { answer, outcome: None })), woken: Arc::default() }
    }

    async fn run(self, place: &dyn ExpressionPool) -> Result<T, Status> {
        let waker = Waker::from(Arc::clone(&self.woken));
        // Timers and tasks belong to the runtime that serves requests.
        let runtime = tokio::runtime::Handle::current();
        let mut has_begun = false;
        loop {
            let (polled, waker_there, runtime) = (Arc::clone(&self.polled), waker.clone(), runtime.clone());
            let work = move || {
                let _entered = runtime.enter();
                polled.lock().poll(&waker_there);
            };
            match place.run(Box::new(work)).await {
                Ok(()) => {}
                Err(refusal) if !has_begun => return Err(refusal),
                // The request may have written to the store, so it cannot be refused at this point.
                Err(_) => self.polled.lock().poll(&waker),
            }
            has_begun = true;
            let outcome = self.polled.lock().outcome.take();
            match outcome {
                Some(Ok(Poll::Ready(result))) => return result,
                Some(Ok(Poll::Pending)) => self.woken.0.notified().await,
                Some(Err(panic)) => resume_unwind(panic),
                None => return Err(Status::internal("the server stops, and does not finish the request")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use async_trait::async_trait;
    use futures_util::FutureExt;

    use super::*;

    /// Does some pieces of work, and refuses the others.
    struct Thread {
        room: usize,
        done: AtomicUsize,
    }

    impl Thread {
        fn with_room(room: usize) -> Self {
            Self { room, done: AtomicUsize::new(0) }
        }
    }

    #[async_trait]
    impl ExpressionPool for Thread {
        async fn run(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), Status> {
            if self.done.fetch_add(1, Ordering::Relaxed) >= self.room {
                return Err(Status::too_many_requests("no room", 1));
            }
            #[expect(clippy::disallowed_methods, reason = "the test waits for the thread, so that its clock stands")]
            std::thread::spawn(work).join().unwrap();
            Ok(())
        }
    }

    /// Where an answer of so many bytes was computed that waits once for something else: names of threads.
    async fn computed(thread: &Thread, bytes: usize) -> Result<[bool; 3], Status> {
        let asked = std::thread::current().id();
        let weight = Weight::new(Some(thread));
        let answer = {
            let weight = weight.clone();
            let is_here = move || std::thread::current().id() == asked;
            async move {
                let before = is_here();
                weight.add(bytes).await;
                let heavy = is_here();
                tokio::task::yield_now().await;
                Ok([before, heavy, is_here()])
            }
        };
        run(Some(thread), &weight, Box::pin(answer)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_heavy_request_moves_to_the_pool_once_detected() {
        let thread = Thread::with_room(9);
        assert_eq!(computed(&thread, HEAVY).await.unwrap(), [true, true, true]);
        assert_eq!(computed(&thread, HEAVY + 1).await.unwrap(), [true, false, false]);
        assert_eq!(thread.done.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn without_room_work_is_refused_before_its_start_and_finished_here_afterwards() {
        assert_eq!(computed(&Thread::with_room(0), HEAVY + 1).await.unwrap_err().code, 429);
        assert_eq!(computed(&Thread::with_room(1), HEAVY + 1).await.unwrap(), [true, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_in_the_pool_is_continued_in_the_request() {
        let thread = Thread::with_room(9);
        let weight = Weight::new(Some(&thread));
        let answer = {
            let weight = weight.clone();
            async move {
                weight.add(HEAVY + 1).await;
                if weight.is_heavy() {
                    panic!("a fault");
                }
                Ok(())
            }
        };
        let panic = AssertUnwindSafe(run(Some(&thread), &weight, Box::pin(answer))).catch_unwind().await.unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a fault"));
    }
}
