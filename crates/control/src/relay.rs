//! Requests from a runtime in the machine's time to a cluster on a runtime of its own.
//!
//! Timers belong to the runtime on which they begin, so the request and the body of its response are polled there.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use coracle_cluster::{Body, BoxError, Transport, boxed};
use http::{Request, Response};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::ClusterTime;

/// The number of frames that wait for a client.
const FRAMES: usize = 16;

type SentFrame = Result<Frame<Bytes>, BoxError>;

/// Sends a request to an API on the runtime of `time`. A stepped clock gives its client a moment to `react`.
pub(crate) async fn send(
    time: &ClusterTime,
    to: &Transport,
    request: Request<Body>,
    react: bool,
) -> Result<Response<Body>, BoxError> {
    if time.is_real() {
        return to.send(request).await;
    }
    let reaction = Reaction(react.then(|| time.clone()));
    reaction.begin();
    let answer = to.send(request);
    let relayed = time.clone();
    let answering = Aborted(time.spawn(async move {
        let response = answer.await?;
        reaction.begin();
        Ok::<_, BoxError>(response.map(|body| relay(&relayed, reaction, body)))
    }));
    answering.await
}

/// A body whose frames are polled by a task on the runtime of `time`.
fn relay(time: &ClusterTime, reaction: Reaction, mut body: Body) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let size_hint = body.size_hint();
    let (sender, frames) = mpsc::channel(FRAMES);
    let pump = time.spawn(async move {
        while let Some(frame) = body.frame().await {
            reaction.begin();
            if sender.send(frame).await.is_err() {
                return;
            }
        }
    });
    boxed(RelayedBody { frames, size_hint, pump: Aborted(pump) })
}

/// The moment in which a client in another process may react to what it has got; `None` for a client that controls the
/// clock.
struct Reaction(Option<ClusterTime>);

impl Reaction {
    fn begin(&self) {
        if let Some(time) = &self.0 {
            time.touch();
        }
    }
}

/// A task that ends with its reader.
struct Aborted<T>(JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for Aborted<Result<T, BoxError>> {
    type Output = Result<T, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(context)).unwrap_or_else(|error| Err(error.into())))
    }
}

struct RelayedBody {
    frames: mpsc::Receiver<SentFrame>,
    size_hint: http_body::SizeHint,
    #[expect(dead_code, reason = "its drop ends the task")]
    pump: Aborted<()>,
}

impl http_body::Body for RelayedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<SentFrame>> {
        self.frames.poll_recv(context)
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.size_hint
    }
}
