//! What an answer of the API offers to a reader in the same process: the objects, each decoded once for all who read it.
//!
//! ```text
//! apiserver --bytes---------------------------> Body ------------> any client
//!     \-----Offer, as an extension --attach--> Body's offer -----> a client in the same process takes it, and not the bytes
//!                                   (a transport that wraps the body drops it: a latency, a fault, a socket)
//! ```
//! Start at [`Offer`]. [`Decoded`] is what keeps one `Arc` for an object at a revision.
//! Not here: what is offered (`apiserver`), and who takes it (`client`).

mod attach;
mod body;
mod decoded;
mod offer;

pub use attach::{attach, offer, withdraw};
pub use body::{Body, BoxError};
pub use decoded::Decoded;
pub use offer::{Events, Handed, Offer};
