use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker, ready};

use coracle_handover::{Body, BoxError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Response;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

type Answer = Result<Response<Body>, BoxError>;

/// The requests of one instance of a component that have no answer yet. When the instance is paused, the cluster carries
/// them out: what a process has sent does not stop with it.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<Requests>>);

#[derive(Default)]
struct Requests {
    all: Vec<Weak<Mutex<Sent>>>,
    /// The tasks that carry out requests of a paused instance.
    tasks: JoinSet<()>,
}

/// A request.
struct Sent {
    /// `None` after its answer.
    request: Option<BoxFuture<'static, Answer>>,
    /// The answer that its sender has not read.
    answer: Option<Answer>,
    /// The sender, or the task that carries it out.
    waiting: Vec<Waker>,
}

impl InFlight {
    /// Sends a request; the reader gets its answer.
    pub fn send(&self, request: BoxFuture<'static, Answer>) -> Reader {
        let sent = Arc::new(Mutex::new(Sent { request: Some(request), answer: None, waiting: Vec::new() }));
        let all = &mut self.0.lock().all;
        // Amortized: the list is scanned once for each time that it doubles.
        if all.len() == all.capacity() {
            all.retain(|known| known.strong_count() > 0);
        }
        all.push(Arc::downgrade(&sent));
        Reader(sent)
    }

    /// Carries out all requests in tasks of their own. Without a runtime, nothing is carried out.
    pub fn carry_on(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut requests = self.0.lock();
        while requests.tasks.try_join_next().is_some() {}
        for sent in std::mem::take(&mut requests.all) {
            requests.tasks.spawn_on(carried_out(sent.clone()), &runtime);
            requests.all.push(sent);
        }
    }
}

/// Waits until a request has its answer, or its sender is gone.
async fn carried_out(sent: Weak<Mutex<Sent>>) {
    std::future::poll_fn(|context| {
        let Some(sent) = sent.upgrade() else { return Poll::Ready(()) };
        let mut sent = sent.lock();
        sent.poll(context)
    })
    .await;
}

impl Sent {
    /// Ready when the answer is there, or was read.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(request) = &mut self.request {
            let Poll::Ready(answer) = request.poll_unpin(context) else {
                if !self.waiting.iter().any(|known| known.will_wake(context.waker())) {
                    self.waiting.push(context.waker().clone());
                }
                return Poll::Pending;
            };
            (self.request, self.answer) = (None, Some(answer));
            self.waiting.drain(..).for_each(Waker::wake);
        }
        Poll::Ready(())
    }
}

/// The answer of a request, for its sender.
pub struct Reader(Arc<Mutex<Sent>>);

impl Future for Reader {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let mut sent = self.0.lock();
        ready!(sent.poll(context));
        Poll::Ready(sent.answer.take().unwrap_or_else(|| Err("the answer was read before".into())))
    }
}
