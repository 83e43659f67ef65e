//! The verbs and watches of the Kubernetes API, over any tower service.
//!
//! ```text
//! Api<Pod>::get(key) --Request (no I/O)--> Client --http::Request--> a tower service: the API server itself, or HTTPS
//! Watch<Pod>::next() <--lines of JSON-------- body <------------------/
//! ```
//! Start at [`Api`]: typed (`Api::<Pod>::of`), dynamic (`Api::dynamic`) or metadata only (`Api::metadata`).
//! [`Client`] carries who speaks (user agent), how fast (rate limit), and on whose behalf ([`Origin`], for the event log).
//! In Kubernetes: client-go `rest`, `kubernetes`, `dynamic` and `metadata`.
//! Not here: caches (`informer`), and what a verb means (`registry`).

mod api;
mod client;
mod error;
mod list;
mod log;
mod origin;
mod params;
mod rate_limit;
mod request;
mod watch;

pub use api::{Api, Deletion};
pub use client::{Body, BoxError, Client, ResponseBody};
pub use error::Error;
pub use list::{List, ListMeta};
pub use log::{LogParams, LogStream};
pub use origin::Origin;
pub use params::{DeleteParams, ListParams, Patch, Preconditions, Propagation, VersionMatch, WatchParams, WriteParams};
pub use watch::Watch;

/// What a call gives, or why it failed.
pub type Result<T, E = Error> = std::result::Result<T, E>;
