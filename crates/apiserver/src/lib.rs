//! HTTP: paths, negotiation, framing, discovery, OpenAPI.
//!
//! ```text
//! http::Request -> RequestInfo -> access (who, may they) -> Endpoint (which kind, which verb)
//!                                                             -> verbs -> Registry -> Rendering -> http::Response
//!                                                             \-> paths: discovery, openapi, health, metrics
//! ```
//! Start at [`router`] and `server::serve`. In Kubernetes: `k8s.io/apiserver/pkg/{endpoints,server}`.
//! Not here: sockets and TLS (`cluster`), what a verb does (`registry`), who may do it (`auth`). Knows no kind by name.

mod server;

mod access;
mod deadline;
mod endpoint;
mod in_flight;
mod negotiate;
mod query;
mod request_info;
mod shutdown;

mod body;
mod options;
mod verbs;

mod frame;
mod protobuf;
mod protobuf_list;
mod render;
mod renderings;
mod respond;
mod stream;
mod yaml;
mod yaml_text;

mod discovery;
mod health;
mod metrics;
mod node_transport;
mod openapi;
mod openapi_protobuf;
mod paths;

pub use axum::body::Body;
pub use node_transport::{NoNodes, NodeTransport};
pub use server::{ApiServer, Document, Limits, PeerCertificates, router};
pub use shutdown::Shutdown;
