use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use parking_lot::Mutex;

use crate::{Body, BoxError, Offer};

/// An offer on its way through layers that know answers by their extensions.
#[derive(Clone)]
struct Slot(Arc<Mutex<Option<Offer>>>);

/// Puts an offer beside the bytes of an answer. Nobody has to take it.
pub fn offer<B>(answer: &mut Response<B>, offer: Offer) {
    answer.extensions_mut().insert(Slot(Arc::new(Mutex::new(Some(offer)))));
}

/// Takes back what was put beside the bytes of an answer: whoever reads it reads those.
pub fn withdraw<B>(answer: &mut Response<B>) {
    answer.extensions_mut().remove::<Slot>();
}

/// Ties what an answer offers to its body, so that who wraps the body drops the offer.
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
