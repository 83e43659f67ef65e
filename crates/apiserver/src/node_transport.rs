use async_trait::async_trait;
use axum::body::Body;
use coracle_meta::Status;

/// The way to the nodes' own API (logs): a function call in one process, HTTPS to the node when split.
#[async_trait]
pub trait NodeTransport: Send + Sync + 'static {
    /// Sends a request to a node. The path and query of the request are the node's.
    async fn call(&self, node: &str, request: http::Request<Body>) -> Result<http::Response<Body>, Status>;
}

/// No way to any node: every call fails, and says why.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNodes;

#[async_trait]
impl NodeTransport for NoNodes {
    async fn call(&self, node: &str, _request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
        Err(Status::internal(format!("this server has no way to the API of node {node:?}")))
    }
}
