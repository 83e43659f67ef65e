//! HTTP: paths, negotiation, framing, discovery, OpenAPI.
//!
//! ```text
//! http::Request -> RequestInfo -> access (authentication, authorization) -> Endpoint (kind and verb)
//!                                                             -> verbs -> Registry -> Rendering -> http::Response
//!                                                             \-> non_resource: discovery, openapi, health, metrics
//!                                                -> extension: proxied to an extension API server
//! ```
//! `front` reads requests, `answer` writes responses, `non_resource` serves the other paths with `documents`.
//! Start at [`router`] and its `serve`. In Kubernetes: `k8s.io/apiserver/pkg/{endpoints,server}`.
//! Not here: sockets and TLS (`secure-serving`, `egress`), the verbs (`registry`), authorization (`auth`). No code depends on a specific
//! kind.

mod answer;
mod audit;
mod documents;
mod extension;
mod extension_transport;
mod front;
mod limits;
mod node_transport;
mod non_resource;
mod offload;
mod query;
mod record;
mod router;
mod server;
mod shutdown;
mod verbs;

pub use answer::respond::status_value;
pub use audit::{Audit, AuditLog, AuditLogError, AuditPolicy, AuditSink};
pub use axum::body::Body;
pub use coracle_yaml::to_yaml;
pub use extension_transport::{ExtensionTransport, NoExtensions, Unreachable};
pub use front::anonymous::Anonymous;
pub use front::authenticate::PeerCertificates;
pub use front::identification::Identification;
pub use front::path_service::{PathRequest, PathService};
pub use front::peer_address::PeerAddress;
pub use front::request_headers::{FrontProxy, RequestHeaders};
pub use front::request_info::requested_resource;
pub use limits::Limits;
pub use node_transport::{NoNodes, NodeFailure, NodeTransport};
pub use router::router;
pub use server::{ApiServerConfig, Document};
pub use shutdown::Shutdown;
pub use verbs::remote_command::remote_command;
