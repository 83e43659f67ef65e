use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_ambient::{Ambient, Random};
use coracle_handover::Offer;
use coracle_journal::Recorder;
use coracle_meta::{AnyObject, ObjectType, Status};
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderValue, Response};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tower::{Service, ServiceExt};

use crate::rate_limit::RateLimit;
use crate::raw_request::RawRequest;
use crate::request::Request;
use crate::{BoxError, Error, Origin, Result};

/// The body of a request.
pub type Body = Full<Bytes>;

/// The body of a response; from a server in the same process it includes the offer.
pub type ResponseBody = coracle_handover::Body;

/// The maximum number of retries that a server requests. In Kubernetes: `rest.Request`, `maxRetries`.
const MAX_RETRIES: u32 = 10;

/// An API client: a transport and an identity; cheap to clone.
///
/// The transport is any tower service: the API server's router in the same process, or HTTPS.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::runtime::Client;
///
/// let client = Client::new(cluster.service(), cluster.ambient())
///     .with_user_agent("program/1.0")
///     .with_rate_limit(20.0, 30); // a second, and at once
/// let version: serde_json::Value = client.get_path("/version").await.unwrap();
/// assert_eq!(version["major"], "1");
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    user_agent: HeaderValue,
    /// The impersonated user, if any.
    user: Option<HeaderValue>,
    limit: Option<Arc<RateLimit>>,
    /// A separate stream for audit ids, so that recording does not change other random numbers.
    audit_ids: Random,
    recorder: Recorder,
    origin: Option<Origin>,
    observer: Option<Arc<Observer>>,
    reaches: Option<Arc<Reaches>>,
}

/// Called for each request, answered or not.
type Observer = dyn Fn(&Answered) + Send + Sync;

/// Whether requests reach the server.
type Reaches = dyn Fn() -> bool + Send + Sync;

/// A finished request, for observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP method.
    pub method: http::Method,
    /// The HTTP status code; `None` without a response.
    pub code: Option<u16>,
    /// The time until the response started.
    pub took: Duration,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("user_agent", &self.user_agent).field("origin", &self.origin).finish()
    }
}

impl Client {
    /// A client over any tower service that takes API requests.
    pub fn new<S, B>(service: S, ambient: &Ambient) -> Self
    where
        S: Service<http::Request<Body>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self {
            transport: Arc::new(Shared(Mutex::new(service))),
            user_agent: HeaderValue::from_static("coracle"),
            user: None,
            limit: None,
            audit_ids: ambient.random.split("audit"),
            recorder: Recorder::off(),
            origin: None,
            observer: None,
            reaches: None,
        }
    }

    /// The same client; `observer` is called for each request, including retries, and for watches when they start.
    #[must_use]
    pub fn observed_by(mut self, observer: impl Fn(&Answered) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The same client, whose requests fail as if there were no connection while `reaches` returns false.
    #[must_use]
    pub fn reaching_while(mut self, reaches: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.reaches = Some(Arc::new(reaches));
        self
    }

    /// The same client with another user agent: `kube-scheduler/v1`. The part before the slash is the field
    /// manager of its writes. A name that is not valid in a header becomes `unknown`.
    #[must_use]
    pub fn with_user_agent(mut self, user_agent: &str) -> Self {
        self.user_agent = HeaderValue::from_str(user_agent).unwrap_or_else(|_| HeaderValue::from_static("unknown"));
        self
    }

    /// The same client, impersonating a user, which the server must permit. A name that is not valid in a header
    /// becomes the name of a user that does not exist. In Kubernetes: `rest.ImpersonationConfig`.
    #[must_use]
    pub fn impersonating(&self, user: &str) -> Self {
        let user = HeaderValue::from_str(user).unwrap_or_else(|_| HeaderValue::from_static("unknown"));
        Self { user: Some(user), ..self.clone() }
    }

    /// The same client, limited to `per_second` requests per second with a burst of `burst`; clones share the limit.
    #[must_use]
    pub fn with_rate_limit(mut self, per_second: f32, burst: u32) -> Self {
        self.limit = Some(Arc::new(RateLimit::new(per_second, burst)));
        self
    }

    /// The same client; writes with an [`Origin`] are recorded in the event log.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = recorder;
        self
    }

    /// The same client, on behalf of `origin`.
    #[must_use]
    pub fn on_behalf_of(&self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self.clone() }
    }

    /// The event log for this client's writes.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The origin of this client's writes.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Reads any path of the server: `/version`, `/apis/apps/v1`, `/openapi/v2`.
    pub async fn get_path<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.call(&read(path, "application/json")).await
    }

    /// Sends a request that the verbs of [`Api`](crate::Api) do not cover, and returns a successful response with its
    /// headers.
    ///
    /// # Errors
    /// [`Error::Api`] if the server refuses it, and the other errors of a request.
    pub async fn send_raw(&self, request: RawRequest) -> Result<Response<ResponseBody>> {
        self.send(&request.into_request()).await
    }

    /// Sends a request and decodes the response.
    pub(crate) async fn call<T: DeserializeOwned>(&self, request: &Request) -> Result<T> {
        let bytes = self.fetch(request).await?;
        coracle_meta::json::from_slice(&bytes).map_err(|source| malformed(request, source))
    }

    /// Sends a request whose response is one object.
    pub(crate) async fn call_object(&self, request: &Request, form: ObjectType) -> Result<Arc<dyn AnyObject>> {
        let mut body = self.open(request).await?;
        let read = match body.take_offer() {
            Some(Offer::Object(object)) => object.decode(form),
            _ => form.read(&whole(request, body).await?, None),
        };
        read.map_err(|source| malformed(request, source))
    }

    /// Sends a request and returns the complete response body.
    pub(crate) async fn fetch(&self, request: &Request) -> Result<Bytes> {
        let body = self.open(request).await?;
        whole(request, body).await
    }

    /// Sends a request, and returns the body of a successful response.
    pub(crate) async fn open(&self, request: &Request) -> Result<ResponseBody> {
        self.send(request).await.map(Response::into_body)
    }

    /// Sends a request, and returns a successful response.
    pub(crate) fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response<ResponseBody>>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            let audit_id = self.record_cause(request);
            let mut retries = 0;
            loop {
                if let Some(limit) = &self.limit {
                    limit.wait().await;
                }
                if self.reaches.as_ref().is_some_and(|reaches| !reaches()) {
                    return Err(transport_error(request, "no route to host".into()));
                }
                let message = self.message(request, audit_id.as_deref())?;
                let began = Instant::now();
                let answer = self.transport.call(message).await;
                if let Some(observer) = &self.observer {
                    let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
                    observer(&Answered { method: request.method.clone(), code, took: began.elapsed() });
                }
                let answer = answer.map_err(|source| transport_error(request, source))?;
                if answer.status().is_success() {
                    return Ok(answer);
                }
                match retry_after(&answer) {
                    Some(delay) if retries < MAX_RETRIES => {
                        retries += 1;
                        tokio::time::sleep(delay).await;
                    }
                    _ => return Err(refusal(request, answer).await),
                }
            }
        })
    }

    fn message(&self, request: &Request, audit_id: Option<&str>) -> Result<http::Request<Body>> {
        let mut message = http::Request::builder()
            .method(&request.method)
            .uri(&request.uri)
            .header(ACCEPT, request.accept)
            .header(USER_AGENT, &self.user_agent);
        if let Some(user) = &self.user {
            message = message.header("impersonate-user", user);
        }
        if !request.content_type.is_empty() {
            message = message.header(CONTENT_TYPE, request.content_type);
        }
        if let Some(audit_id) = audit_id {
            message = message.header("audit-id", audit_id);
        }
        message.body(Full::new(request.body.clone())).map_err(|error| Error::Request { why: error.to_string() })
    }

    /// The audit id under which the server finds the cause of a request: the write, or the sync that reads.
    fn record_cause(&self, request: &Request) -> Option<String> {
        let origin = self.origin.as_ref()?;
        if request.written.is_some() {
            origin.sent();
        }
        if !self.recorder.is_on() {
            return None;
        }
        let [program, user] = [Some(&self.user_agent), self.user.as_ref()]
            .map(|value| value.and_then(|value| value.to_str().ok()).unwrap_or_default());
        let path = request.uri.split('?').next().unwrap_or_default();
        let audit_id = self.audit_ids.keyed(&[program, user, request.method.as_str(), path]).uuid();
        match &request.written {
            Some(written) => origin.record(&self.recorder, written, &audit_id),
            None => origin.asks(&self.recorder, &audit_id),
        }
        Some(audit_id)
    }
}

/// Reads a response body to its end.
pub(crate) async fn whole(request: &Request, body: ResponseBody) -> Result<Bytes> {
    Ok(body.collect().await.map_err(|source| transport_error(request, source))?.to_bytes())
}

/// A request that reads a path.
pub(crate) fn read(path: &str, accept: &'static str) -> Request {
    Request {
        method: http::Method::GET,
        uri: path.to_owned(),
        accept,
        content_type: "",
        body: Bytes::new(),
        written: None,
    }
}

/// A response that cannot be decoded.
pub(crate) fn malformed(request: &Request, source: serde_json::Error) -> Error {
    Error::Malformed { verb: request.method.to_string(), path: request.uri.clone(), source }
}

fn transport_error(request: &Request, source: BoxError) -> Error {
    Error::Transport { verb: request.method.to_string(), path: request.uri.clone(), source }
}

/// The `Retry-After` of a server that is overloaded or not ready. In Kubernetes: `rest.checkWait`.
fn retry_after<B>(answer: &Response<B>) -> Option<Duration> {
    let overloaded = answer.status().as_u16() == 429 || answer.status().is_server_error();
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    overloaded.then(|| Duration::from_secs(seconds))
}

/// The error of an unsuccessful response.
async fn refusal(request: &Request, answer: Response<ResponseBody>) -> Error {
    let code = answer.status().as_u16();
    let bytes = match answer.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(source) => return transport_error(request, source),
    };
    match coracle_meta::json::from_slice::<Status>(&bytes) {
        Ok(status) if status.status == "Failure" => Error::from(status),
        _ => Error::from(Status::failure(code, "", String::from_utf8_lossy(&bytes).trim())),
    }
}

/// A tower service without its types.
trait Transport: Send + Sync {
    fn call(&self, request: http::Request<Body>) -> Answer;
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, BoxError>> + Send>>;

struct Shared<S>(Mutex<S>);

impl<S, B> Transport for Shared<S>
where
    S: Service<http::Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn call(&self, request: http::Request<Body>) -> Answer {
        let service = self.0.lock().clone();
        Box::pin(async move {
            let response = service.oneshot(request).await.map_err(Into::into)?;
            Ok(response.map(ResponseBody::new))
        })
    }
}
