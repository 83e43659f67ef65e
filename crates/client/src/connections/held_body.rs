use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A body that holds a value until it has ended or is dropped.
pub(super) struct HeldBody<B, H> {
    // Declared before the held value, so that it is dropped first: a stream has ended before its room counts as free.
    body: Option<B>,
    held: Option<H>,
}

impl<B, H> HeldBody<B, H> {
    pub(super) fn new(body: B, held: H) -> Self {
        Self { body: Some(body), held: Some(held) }
    }
}

impl<B: Body<Data = Bytes> + Unpin, H: Unpin> Body for HeldBody<B, H> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
            self.held = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use http_body_util::{BodyExt, Full};

    #[tokio::test]
    async fn a_held_value_is_dropped_at_the_end_of_the_body() {
        let held = Arc::new(());
        let mut body = HeldBody::new(Full::new(Bytes::from("a line")), held.clone());
        assert!(body.frame().await.unwrap().is_ok());
        assert_eq!(Arc::strong_count(&held), 2, "who reads may go on");
        assert!(body.frame().await.is_none());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
