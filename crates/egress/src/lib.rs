//! Calls of the API server to other programs: webhooks, extension API servers, nodes.
//!
//! ```text
//! registry::Call --post_request (pure)--> HttpsCalls: TLS, reused connections --read_answer--> Answer
//! ```
//! Start at [`HttpsCalls`], which needs the feature `sockets`. Errors have the messages of Go's HTTP client.
//! In Kubernetes: `k8s.io/apiserver/pkg/server/egressselector`, `webhook.ClientManager`.
//! Not here: which service a call is for and where it is (`cluster`), which calls are made (`registry`).

mod call_answer;
mod call_request;
#[cfg(feature = "sockets")]
mod failure;
#[cfg(feature = "sockets")]
mod https_calls;
mod proxy_client;
#[cfg(feature = "sockets")]
mod trust;

pub use call_answer::read_answer;
pub use call_request::post_request;
#[cfg(feature = "sockets")]
pub use https_calls::HttpsCalls;
pub use proxy_client::ProxyClient;
