//! The verbs and watches of the Kubernetes API, over any tower service.
//!
//! ```text
//! Api<Pod>::get(key) --Request (no I/O)--> Client --http::Request--> a tower service: the API server itself, or HTTPS
//! Watch<Pod>::next() <--lines of JSON-------- body <------------------/
//! ```
//! Start at [`Api`]: typed (`Api::<Pod>::of`), dynamic (`Api::dynamic`) or metadata only (`Api::metadata`).
//! [`Client`] holds the identity (user agent), the rate limit, and the [`Origin`] for the event log. In Kubernetes:
//! client-go `rest`, `kubernetes`, `dynamic` and `metadata`. With the feature `kubeconfig`,
//! [`Kubeconfig`](kubeconfig::Kubeconfig) connects to a server over HTTPS. Not here: caches (`informer`), and what a
//! verb means (`registry`).

mod any_api;
mod api;
mod client;
#[cfg(feature = "kubeconfig")]
mod connections;
mod deletion;
mod discovery;
mod error;
#[cfg(feature = "kubeconfig")]
mod https;
#[cfg(feature = "kubeconfig")]
pub mod kubeconfig;
mod list;
mod log;
mod origin;
mod params;
mod pods;
mod rate_limit;
mod raw_request;
mod request;
mod scale;
#[cfg(feature = "kubeconfig")]
mod service_account;
mod watch;

pub use any_api::AnyApi;
pub use api::Api;
pub use client::{Answered, Body, Client, ResponseBody};
pub use deletion::Deletion;
pub use discovery::ApiResource;
pub use error::{BoxError, Error};
#[cfg(feature = "kubeconfig")]
pub use https::Https;
pub use list::{List, ListMeta};
pub use log::LogStream;
pub use origin::{Gone, Origin};
pub use params::{
    DeleteParams, ListParams, LogParams, Patch, Preconditions, Propagation, VersionMatch, WatchParams, WriteParams,
};
pub use raw_request::RawRequest;
#[cfg(feature = "kubeconfig")]
pub use service_account::AsServiceAccount;
pub use watch::{AnyWatch, Watch};

/// The result of an API request.
pub type Result<T, E = Error> = std::result::Result<T, E>;
