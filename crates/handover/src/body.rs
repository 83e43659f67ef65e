use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use crate::Offer;

/// Any error of a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body of bytes, optionally with an [`Offer`].
pub struct Body {
    bytes: UnsyncBoxBody<Bytes, BoxError>,
    offer: Option<Offer>,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("offer", &self.offer).finish_non_exhaustive()
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::new(http_body_util::Empty::new())
    }
}

impl Body {
    /// Wraps any body. A `Body` stays as it is, including its offer; any other body has none.
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut body = Some(body);
        match (&mut body as &mut dyn Any).downcast_mut::<Option<Self>>().and_then(Option::take) {
            Some(same) => same,
            None => {
                let body = body.expect("it was not taken");
                Self { bytes: body.map_err(Into::into).boxed_unsync(), offer: None }
            }
        }
    }

    /// The same body with an offer.
    #[must_use]
    pub fn offering(self, offer: Offer) -> Self {
        Self { offer: Some(offer), ..self }
    }

    /// Takes the offer.
    pub fn take_offer(&mut self) -> Option<Offer> {
        self.offer.take()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // A reader of the bytes does not want the offer.
        self.offer = None;
        Pin::new(&mut self.bytes).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Handed;
    use coracle_meta::{AnyObject, ObjectType};
    use http_body_util::Full;

    struct Nothing;

    impl Handed for Nothing {
        fn revision(&self) -> i64 {
            1
        }

        fn decode(&self, form: ObjectType) -> Result<Arc<dyn AnyObject>, serde_json::Error> {
            form.read(b"{}", None)
        }
    }

    fn offered() -> Body {
        Body::new(Full::new(Bytes::from_static(b"{}"))).offering(Offer::Object(Box::new(Nothing)))
    }

    #[test]
    fn forwarding_a_body_keeps_its_offer_and_wrapping_it_drops_the_offer() {
        assert!(Body::new(offered()).take_offer().is_some());
        assert!(Body::new(offered().map_frame(|frame| frame)).take_offer().is_none());
    }
}
