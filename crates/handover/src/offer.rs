use std::fmt;
use std::sync::Arc;

use coracle_meta::{AnyObject, ObjectType, WatchEvent};
use futures_util::future::BoxFuture;

/// The content of a response in addition to its bytes.
pub enum Offer {
    /// The object that the body holds.
    Object(Box<dyn Handed>),
    /// The events of the watch whose lines are in the body. A reader that takes them does not read the body.
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

/// An object of an offer.
pub trait Handed: Send + Sync {
    /// The revision of the object's last write; of a deleted object, of its deletion.
    fn revision(&self) -> i64;

    /// The object as a type; all readers of the same type share it.
    fn decode(&self, form: ObjectType) -> Result<Arc<dyn AnyObject>, serde_json::Error>;
}

/// The events of a watch.
///
/// They are the same, in the same order, as the body's lines.
pub trait Events: Send {
    /// Waits for the next event; `None` at the end. Cancel-safe.
    fn next(&mut self) -> BoxFuture<'_, Option<WatchEvent<Box<dyn Handed>>>>;

    /// Keeps the watch open as long as the server runs, whatever time limit was requested, because both ends are in
    /// the same process. Sends no bookmarks except the one that ends the initial events, because
    /// [`progress`](Self::progress) returns their information at any time.
    fn last(&mut self);

    /// The version up to which all events have been returned, the server's latest; `None` while more events are
    /// pending. Cancel-safe.
    fn progress(&mut self) -> BoxFuture<'_, Option<String>>;
}
