use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use tonic::Code;
use tonic::body::Body;
use tonic::transport::{Channel, Error};
use tower::{Service, ServiceExt};

/// The members of an etcd cluster. One of them is used: the next in turn, once that one is unreachable or has no
/// leader.
///
/// A request is sent once; the caller decides about retries. A load balancer would prefer an unreachable member,
/// because it fails fastest.
#[derive(Clone)]
pub(super) struct Members {
    inner: Arc<Inner>,
}

struct Inner {
    channels: Vec<Channel>,
    /// The number of changes of the member.
    turns: AtomicUsize,
}

impl Members {
    /// Requires at least one connection.
    pub(super) fn new(channels: Vec<Channel>) -> Self {
        Self { inner: Arc::new(Inner { channels, turns: AtomicUsize::default() }) }
    }

    /// Switches to the next member, unless another request has done so since `turn`.
    fn leave(&self, turn: usize) {
        let _ = self.inner.turns.compare_exchange(turn, turn.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Service<Request<Body>> for Members {
    type Response = Response<Body>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Error>>;

    /// A connection is opened when a request is sent.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let turn = self.inner.turns.load(Ordering::Relaxed);
        let channel = self.inner.channels[turn % self.inner.channels.len()].clone();
        let members = self.clone();
        async move {
            let answer = channel.oneshot(request).await;
            if answer.as_ref().map_or(true, is_unavailable) {
                members.leave(turn);
            }
            answer
        }
        .boxed()
    }
}

/// Whether a reachable member reports that it is unavailable: it has lost its leader, or it is stopping.
fn is_unavailable(answer: &Response<Body>) -> bool {
    let code = answer.headers().get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()));
    code == Some(Code::Unavailable)
}
