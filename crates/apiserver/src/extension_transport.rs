use async_trait::async_trait;
use axum::body::Body;
use coracle_registry::{Extension, Registry};

/// The way to API servers beside this one. A connection that wants to become another is among the request's extensions,
/// and is joined to the other server's if that agrees.
#[async_trait]
pub trait ExtensionTransport: Send + Sync + 'static {
    /// Sends a request to whoever answers for a group and version. Its path and query are the same there.
    async fn call(
        &self,
        registry: &Registry,
        to: &Extension,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Unreachable>;
}

/// Why a request was not passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// Nobody knows where the server is.
    Unresolved(String),
    /// It did not answer.
    NoAnswer(String),
}

/// No way to any other server.
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
