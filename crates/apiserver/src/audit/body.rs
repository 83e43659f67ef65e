use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// The body of a stream, with a value that is dropped at its end.
pub(super) struct Ending<T> {
    body: Body,
    /// Dropped when the body has ended, or with the body.
    ends: Option<T>,
}

impl<T> Ending<T> {
    pub(super) fn new(body: Body, ends: T) -> Self {
        Self { body, ends: Some(ends) }
    }
}

impl<T: Unpin> http_body::Body for Ending<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.ends = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
