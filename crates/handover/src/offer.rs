use std::fmt;
use std::sync::Arc;

use coracle_meta::{AnyObject, ObjectType, WatchEvent};
use futures_util::future::BoxFuture;

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
/// They are the same, in the same order, as the body's lines.
pub trait Events: Send {
    /// Waits for the next event; `None` at the end. Safe to cancel.
    fn next(&mut self) -> BoxFuture<'_, Option<WatchEvent<Box<dyn Handed>>>>;

    /// Lets the watch last as long as the server, whatever time was asked for, because neither end of it can be gone
    /// without the other; and sends no bookmarks but the one which ends the initial events, because
    /// [`progress`](Self::progress) says at any time what a bookmark would say.
    fn last(&mut self);

    /// The version up to which everything has been given, the server's latest; `None` while more is on its way. Safe to
    /// cancel.
    fn progress(&mut self) -> BoxFuture<'_, Option<String>>;
}
