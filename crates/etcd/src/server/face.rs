use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use coracle_store::Store;
use http::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::body::Body;
use tonic_health::pb::health_server::HealthServer;
use tower::{Service, ServiceExt};

use super::corked::Corked;
use super::{FaceOptions, Shared, http::text};
use crate::proto::etcdserverpb::auth_server::AuthServer;
use crate::proto::etcdserverpb::cluster_server::ClusterServer;
use crate::proto::etcdserverpb::kv_server::KvServer;
use crate::proto::etcdserverpb::lease_server::LeaseServer;
use crate::proto::etcdserverpb::maintenance_server::MaintenanceServer;
use crate::proto::etcdserverpb::watch_server::WatchServer;

/// A store as an etcd server: a tower service for HTTP requests, gRPC and plain.
#[derive(Clone)]
pub struct Face {
    shared: Shared,
}

impl Face {
    /// A server of `store`.
    pub fn new(store: Arc<dyn Store>, options: FaceOptions) -> Self {
        Self { shared: Shared { store, options: Arc::new(options), counts: Arc::default() } }
    }

    /// Serves one accepted connection, with TLS already removed, until either side closes it. Supports HTTP/2 and
    /// HTTP/1.1; the client's first bytes decide.
    ///
    /// # Errors
    /// The error that broke the connection; it needs no handling.
    pub async fn serve_connection<I>(&self, io: I) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        const WINDOW: u32 = 1 << 20;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // A client may open a stream for every watch, so their number is unlimited; their windows are limited.
        builder
            .http2()
            .max_concurrent_streams(None)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(4 * WINDOW);
        let service = TowerToHyperService::new(self.clone());
        Corked::run(io, |io| builder.serve_connection(TokioIo::new(io), service)).await
    }

    async fn answer<B>(self, request: Request<B>) -> Result<Response<Body>, Infallible>
    where
        B: http_body_util::BodyExt<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    {
        let shared = self.shared;
        shared.counts.count(request.uri().path());
        let limit = shared.options.max_message_bytes;
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        match service {
            "etcdserverpb.KV" => {
                KvServer::new(shared)
                    .max_decoding_message_size(limit)
                    .max_encoding_message_size(usize::MAX)
                    .oneshot(request)
                    .await
            }
            "etcdserverpb.Watch" => {
                WatchServer::new(shared)
                    .max_decoding_message_size(limit)
                    .max_encoding_message_size(usize::MAX)
                    .oneshot(request)
                    .await
            }
            "etcdserverpb.Lease" => LeaseServer::new(shared).oneshot(request).await,
            "etcdserverpb.Cluster" => ClusterServer::new(shared).oneshot(request).await,
            "etcdserverpb.Maintenance" => MaintenanceServer::new(shared).oneshot(request).await,
            "etcdserverpb.Auth" => AuthServer::new(shared).oneshot(request).await,
            "grpc.health.v1.Health" => HealthServer::new(shared).oneshot(request).await,
            _ => Ok(plain(&shared, &request.into_parts().0).await),
        }
    }
}

/// Answers requests to other paths: plain requests, and unknown gRPC services.
async fn plain(shared: &Shared, request: &http::request::Parts) -> Response<Body> {
    let path = request.uri.path();
    let kind = request.headers.get(http::header::CONTENT_TYPE).map(http::HeaderValue::as_bytes).unwrap_or_default();
    if kind.starts_with(b"application/grpc") {
        return tonic::Status::unimplemented(format!("unknown service {}", path.trim_start_matches('/'))).into_http();
    }
    match shared.plain(path).await {
        Some(response) => response,
        None => text("text/plain; charset=utf-8", StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
    }
}

impl<B> Service<Request<B>> for Face
where
    B: http_body_util::BodyExt<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}
