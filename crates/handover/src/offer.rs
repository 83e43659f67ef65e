use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use coracle_meta::{AnyObject, ObjectType, WatchEvent};
use futures_util::future::BoxFuture;
use http::Response;
use parking_lot::Mutex;

use crate::{Body, BoxError};

/// What an answer offers beside its bytes.
pub enum Offer {
    /// The object that the body holds.
    Object(Box<dyn Handed>),
    /// The events of the watch whose lines the body would be. Whoever takes them leaves the body alone.
    Events(Box<dyn Events>),
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object(_) => "Offer::Object",
            Self::Events(_) => "Offer::Events",
        })
    }
}

/// An object that is handed over.
pub trait Handed: Send + Sync {
    /// The object as a type; whoever reads it as the same gets the same.
    fn decode(&self, form: ObjectType) -> Result<Arc<dyn AnyObject>, serde_json::Error>;
}

/// The events of a watch.
///
/// They are the same, in the same order, as the body's lines, but that there are no bookmarks but the one which ends
/// the initial events, because [`position`](Self::position) says at any time what a bookmark would say; and that the
/// watch does not end after a time, because neither end of it can be gone without the other.
pub trait Events: Send {
    /// Waits for the next event; `None` at the end. Safe to cancel.
    fn next(&mut self) -> BoxFuture<'_, Option<WatchEvent<Box<dyn Handed>>>>;

    /// The version up to which everything has been given; `None` while more is on its way.
    fn position(&self) -> Option<String>;
}

/// An offer on its way through layers that know answers by their extensions.
#[derive(Clone)]
struct Slot(Arc<Mutex<Option<Offer>>>);

/// Puts an offer beside the bytes of an answer. Nobody has to take it.
pub fn offer<B>(answer: &mut Response<B>, offer: Offer) {
    answer.extensions_mut().insert(Slot(Arc::new(Mutex::new(Some(offer)))));
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
