use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Version, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;

/// How many bytes of a body are read that the response did not need. In Kubernetes: `maxPostHandlerReadBytes` of Go's
/// `net/http`.
const MOST_BYTES: u64 = 256 << 10;
/// How long the client may take to send them. Unlike Kubernetes, which waits as long as the connection lives.
const LONGEST: Duration = Duration::from_secs(5);

/// The body of a request whose response may be ready before the body has arrived.
///
/// HTTP/1 has no way to refuse the rest of a body: a server that closes the connection while the client still sends
/// makes the client lose the response. So a short rest is read and discarded before the response is sent.
pub(crate) struct UnreadRequest {
    rest: Arc<Mutex<Option<Body>>>,
}

impl UnreadRequest {
    /// The request, and what keeps the part of its body that nothing reads; `None` if there is no such part.
    pub(crate) fn of(request: Request<Body>) -> (Request<Body>, Option<Self>) {
        let can_be_refused = request.version() >= Version::HTTP_2 || request.headers().contains_key(header::EXPECT);
        if can_be_refused || request.body().is_end_stream() {
            return (request, None);
        }
        let rest = Arc::default();
        let request = request.map(|body| Body::new(Lent { body: Some(body), rest: Arc::clone(&rest) }));
        (request, Some(Self { rest }))
    }

    /// Reads and discards the rest of the body if it is short.
    pub(crate) async fn discard(self) {
        let rest = self.rest.lock().take();
        let Some(mut body) = rest.filter(|body| body.size_hint().lower() <= MOST_BYTES) else { return };
        let read = async {
            let mut left = MOST_BYTES;
            while let Some(Ok(frame)) = body.frame().await {
                let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                match left.checked_sub(length) {
                    Some(less) => left = less,
                    None => return,
                }
            }
        };
        // A client that takes longer loses the connection.
        let _ = tokio::time::timeout(LONGEST, read).await;
    }
}

/// A body that returns to its owner when its reader drops it.
struct Lent {
    body: Option<Body>,
    rest: Arc<Mutex<Option<Body>>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.rest.lock() = self.body.take().filter(|body| !body.is_end_stream());
    }
}

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.body.as_mut().map_or(Poll::Ready(None), |body| Pin::new(body).poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
