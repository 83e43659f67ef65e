use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use coracle_registry::User;
use coracle_supervisor::BackgroundTasks;
use futures_util::future::Either;
use http::{Request, Response};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use crate::Error;

pub use coracle_handover::BoxError;

/// A body between a client and the API server.
pub use coracle_handover::Body;

/// The API server as a tower service: no socket, no port. Any client over a tower service can use it.
///
/// Each clone is a separate connection; the user is fixed when the transport is created.
#[derive(Clone)]
pub struct Transport {
    service: BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>,
    /// The tasks that must run; no request is served after one of them has panicked.
    tasks: Option<Arc<BackgroundTasks>>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Transport")
    }
}

impl Transport {
    /// A transport to any HTTP service.
    pub fn to<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self {
            service: BoxCloneSyncService::new(service.map_response(coracle_handover::attach).map_err(Into::into)),
            tasks: None,
        }
    }

    /// Sends one request with a boxed body.
    pub fn send(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, BoxError>> + Send + use<> {
        match self.check() {
            Ok(()) => Either::Left(self.service.clone().oneshot(request)),
            Err(panic) => Either::Right(ready(Err(panic.into()))),
        }
    }

    /// The same transport as `user`.
    #[must_use]
    pub fn asking_as(self, user: Arc<User>) -> Self {
        let identify = move |mut request: Request<Body>| {
            request.extensions_mut().insert(User::clone(&user));
            request
        };
        Self { service: BoxCloneSyncService::new(self.service.map_request(identify)), tasks: self.tasks }
    }

    /// The same transport, which also keeps these tasks running. After one of them has panicked, each request fails
    /// with an error that reports it.
    #[must_use]
    pub(crate) fn kept_by(self, tasks: Arc<BackgroundTasks>) -> Self {
        Self { tasks: Some(tasks), ..self }
    }

    fn check(&self) -> Result<(), Error> {
        self.tasks.as_ref().map_or(Ok(()), |tasks| Ok(tasks.check()?))
    }

    /// The same transport with a tower layer: a latency, a fault.
    #[must_use]
    pub fn through<L>(self, layer: &L) -> Self
    where
        L: tower::Layer<Self>,
        L::Service: Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError>,
        <L::Service as Service<Request<Body>>>::Future: Send + 'static,
    {
        Self::to(layer.layer(self))
    }
}

/// Boxes a body.
pub fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    Body::new(body)
}

impl<B> Service<Request<B>> for Transport
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = <BoxCloneSyncService<Request<Body>, Response<Body>, BoxError> as Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if let Err(panic) = self.check() {
            return Box::pin(ready(Err(panic.into())));
        }
        self.service.call(request.map(boxed))
    }
}
