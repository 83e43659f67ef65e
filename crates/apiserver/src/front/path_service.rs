use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::Status;
use coracle_registry::{Attributes, User};
use futures_util::future::BoxFuture;
use http::{Method, Response};

/// A future of a response.
type Answer = BoxFuture<'static, Result<Response<Body>, Status>>;

/// A request for a path that is not the API server's own.
#[derive(Clone, Debug)]
pub struct PathRequest {
    /// The user.
    pub user: Arc<User>,
    /// The HTTP method.
    pub method: Method,
    /// The path, decoded.
    pub path: String,
    /// The parameters behind the path, decoded.
    pub query: Vec<(String, String)>,
    /// The body, of at most the length that the server accepts for an object.
    pub body: Bytes,
}

/// Serves a path that is not the API server's own.
///
/// The listener puts it into the extensions of a request. The API server calls it after authentication, authorization
/// and the first audit event, so that these apply to every such path.
#[derive(Clone)]
pub struct PathService {
    answer: Arc<dyn Fn(PathRequest) -> Answer + Send + Sync>,
    /// What a request is authorized as, if not as its path.
    authorized_as: Option<Arc<AuthorizedAs>>,
}

/// The attributes of a request of a user for a method and a path.
type AuthorizedAs = dyn Fn(&Arc<User>, &Method, &str) -> Attributes + Send + Sync;

impl PathService {
    /// A service that responds with `answer`.
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
            authorized_as: None,
        }
    }

    /// The same service, whose requests are authorized as these attributes say, such as a verb of a resource, and not as
    /// a verb of a path.
    #[must_use]
    pub fn authorized_as(
        self,
        attributes: impl Fn(&Arc<User>, &Method, &str) -> Attributes + Send + Sync + 'static,
    ) -> Self {
        Self { authorized_as: Some(Arc::new(attributes)), ..self }
    }

    /// The attributes of a request that are authorized; `None` for those of its path.
    pub(crate) fn attributes(&self, user: &Arc<User>, method: &Method, path: &str) -> Option<Attributes> {
        self.authorized_as.as_ref().map(|attributes| attributes(user, method, path))
    }

    pub(crate) async fn serve(&self, request: PathRequest) -> Result<Response<Body>, Status> {
        (self.answer)(request).await
    }
}
