use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::Status;
use coracle_registry::User;
use futures_util::future::BoxFuture;
use http::{Method, Response};

/// The answer while it is made.
type Answer = BoxFuture<'static, Result<Response<Body>, Status>>;

/// What is known of a request for a path that is not the API server's own.
#[derive(Clone, Debug)]
pub struct PathRequest {
    /// Who asks.
    pub user: Arc<User>,
    /// How.
    pub method: Method,
}

/// Answers a path that is not the API server's own.
///
/// The listener puts it into the extensions of a request. The API server calls it when it knows who asks, has found the
/// request allowed and has begun its events in the audit log, so that no such path has a way in of its own.
#[derive(Clone)]
pub struct PathService {
    answer: Arc<dyn Fn(PathRequest) -> Answer + Send + Sync>,
}

impl PathService {
    /// A service that answers so.
    pub fn new<A, B>(answer: impl Fn(PathRequest) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = Result<Response<B>, Status>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        Self {
            answer: Arc::new(move |request| {
                let answer = answer(request);
                Box::pin(async move { answer.await.map(|response| response.map(Body::new)) })
            }),
        }
    }

    pub(crate) async fn serve(&self, request: PathRequest) -> Result<Response<Body>, Status> {
        (self.answer)(request).await
    }
}
