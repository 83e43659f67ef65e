use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use coracle_cluster::{Body, BoxError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Response;

use super::state::WireState;

type Answer = Result<Response<Body>, BoxError>;

/// A request that was sent. Dropping it does not stop it: the wire carries it out, and drops the answer.
pub(super) struct InFlight {
    /// `None` after the answer.
    request: Option<BoxFuture<'static, Answer>>,
    state: Arc<WireState>,
}

impl InFlight {
    pub(super) fn new(request: impl Future<Output = Answer> + Send + 'static, state: Arc<WireState>) -> Self {
        Self { request: Some(request.boxed()), state }
    }
}

impl Future for InFlight {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let request = self.request.as_mut().expect("it is not polled after its answer");
        let answer = ready!(request.poll_unpin(context));
        self.request = None;
        Poll::Ready(answer)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.state.land(request.map(drop));
        }
    }
}
