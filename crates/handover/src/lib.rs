//! Passes decoded objects from the API server to readers in the same process: each object is decoded once for all of
//! them.
//!
//! ```text
//! apiserver --bytes---------------------------> Body ------------> any client
//!     \-----Offer, as an extension --attach--> Body's offer -----> a client in the same process takes it, and not the bytes
//!                                   (a transport that wraps the body drops it, unless it wraps the offer, too)
//! ```
//! Start at [`Offer`]. [`Decoded`] keeps one `Arc` for an object at a revision. Not here: the producer (`apiserver`),
//! and the consumer (`client`).

mod attach;
mod body;
mod decoded;
mod offer;

pub use attach::{attach, offer, withdraw};
pub use body::{Body, BoxError};
pub use decoded::Decoded;
pub use offer::{Events, Handed, Offer};
