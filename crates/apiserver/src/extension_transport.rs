use async_trait::async_trait;
use axum::body::Body;
use coracle_registry::{Extension, Registry};

/// The transport to extension API servers. A client's connection to upgrade is in the request's extensions, and is
/// joined to the extension API server's connection if that accepts the upgrade.
#[async_trait]
pub trait ExtensionTransport: Send + Sync + 'static {
    /// Sends a request to the extension API server of a group and version, with the same path and query.
    async fn call(
        &self,
        registry: &Registry,
        to: &Extension,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Unreachable>;
}

/// Why a request could not be forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// The address of the server is unknown.
    Unresolved(String),
    /// The server did not respond.
    NoAnswer(String),
}

/// A transport without extension API servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtensions;

#[async_trait]
impl ExtensionTransport for NoExtensions {
    async fn call(
        &self,
        _registry: &Registry,
        to: &Extension,
        _request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Unreachable> {
        Err(Unreachable::Unresolved(format!("this server has no way to service {}", to.service.name)))
    }
}
