use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use parking_lot::Mutex;

use crate::{Body, BoxError, Offer};

/// An offer on its way through layers, in the extensions of a response.
#[derive(Clone)]
struct Slot(Arc<Mutex<Option<Offer>>>);

/// Adds an offer to a response. The recipient may ignore it.
pub fn offer<B>(answer: &mut Response<B>, offer: Offer) {
    answer.extensions_mut().insert(Slot(Arc::new(Mutex::new(Some(offer)))));
}

/// Removes the offer from a response: its recipient reads the bytes.
pub fn withdraw<B>(answer: &mut Response<B>) {
    answer.extensions_mut().remove::<Slot>();
}

/// Moves the offer of a response into its body, so that a layer that wraps only the body drops the offer.
pub fn attach<B>(mut answer: Response<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let offer = answer.extensions_mut().remove::<Slot>().and_then(|slot| slot.0.lock().take());
    answer.map(|body| match offer {
        Some(offer) => Body::new(body).offering(offer),
        None => Body::new(body),
    })
}
