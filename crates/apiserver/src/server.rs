use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use coracle_journal::{Detail, EntryId, Stage};
use coracle_meta::Status;
use coracle_registry::{Authenticator, Flow, Flows, Registry, User};
use coracle_schema::openapi::Descriptions;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

use crate::answer::negotiate::Format;
use crate::answer::renderings::Renderings;
use crate::answer::respond;
use crate::documents::discovery::Discovery;
use crate::documents::metrics::Metrics;
use crate::documents::openapi::OpenApi;
use crate::front::access;
use crate::front::deadline;
use crate::front::in_flight::InFlight;
use crate::front::query::{Plus, Query, percent_decode};
use crate::front::request_info::{RequestInfo, ResourceRequest};
use crate::node_transport::NodeTransport;
use crate::shutdown::Shutdown;
use crate::verbs;

/// Who the server is in the event log.
pub(crate) const ACTOR: &str = "apiserver";

/// What an API server is made of.
pub struct ApiServer {
    /// What the verbs mean.
    pub registry: Registry,
    /// Who says who is asking.
    pub authenticator: Arc<dyn Authenticator>,
    /// The way to the nodes' own API.
    pub nodes: Arc<dyn NodeTransport>,
    /// Documents at fixed paths, such as the keys of service account tokens.
    pub documents: Vec<Document>,
    /// The words of the OpenAPI documents.
    pub descriptions: Arc<dyn Descriptions + Send + Sync>,
    /// How much is served at once.
    pub limits: Limits,
    /// Sorts requests into flows, which answers name.
    pub flows: Arc<dyn Flows>,
    /// Ends the watches, and makes `/readyz` say that the server goes.
    pub shutdown: Shutdown,
}

/// A document at a fixed path, for those who may get the path.
#[derive(Clone, Debug)]
pub struct Document {
    /// The path.
    pub path: String,
    /// The `Content-Type`.
    pub media_type: String,
    /// The content.
    pub body: Vec<u8>,
}

/// How much is served at once. In Kubernetes: `--max-requests-inflight` and its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that only read, watches and other streams aside.
    pub reads: usize,
    /// Requests that write.
    pub writes: usize,
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Seconds that a request may take, streams aside.
    pub request_seconds: u64,
    /// The least seconds after which a watch that names no time is ended; the most is twice that.
    pub watch_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { reads: 400, writes: 200, body_bytes: 3 * 1024 * 1024, request_seconds: 60, watch_seconds: 1800 }
    }
}

/// The client's certificates in DER, its own first, verified against the client authority. The TLS listener puts it into
/// the extensions of each request.
#[derive(Clone, Debug)]
pub struct PeerCertificates(pub Vec<Vec<u8>>);

/// The running server behind the router.
pub(crate) struct Server {
    pub(crate) registry: Registry,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) nodes: Arc<dyn NodeTransport>,
    pub(crate) documents: Vec<Document>,
    pub(crate) limits: Limits,
    pub(crate) flows: Arc<dyn Flows>,
    pub(crate) shutdown: Shutdown,
    pub(crate) in_flight: InFlight,
    pub(crate) discovery: Discovery,
    pub(crate) openapi: OpenApi,
    pub(crate) metrics: Metrics,
    pub(crate) renderings: Arc<Renderings>,
}

/// The API as a router, to be served by whoever has a transport.
pub fn router(server: ApiServer) -> Router {
    let ApiServer { registry, authenticator, nodes, documents, descriptions, limits, flows, shutdown } = server;
    let server = Arc::new(Server {
        registry,
        authenticator,
        nodes,
        documents,
        limits,
        flows,
        shutdown,
        in_flight: InFlight::new(limits),
        discovery: Discovery::default(),
        openapi: OpenApi::new(descriptions),
        metrics: Metrics::default(),
        renderings: Arc::default(),
    });
    Router::new().fallback(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move { serve(server, request).await }
    })
}

/// A request as it came, with what was read from it.
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Query,
    pub(crate) info: RequestInfo,
    pub(crate) audit_id: String,
    pub(crate) user: Arc<User>,
    /// The other end of a connection that may become a WebSocket, if the client asks for one.
    pub(crate) upgrade: Option<WebSocketUpgrade>,
    /// The entry of this request in the event log.
    pub(crate) entry: Option<EntryId>,
}

/// One request from its line to its answer.
async fn serve(server: Arc<Server>, request: Request<Body>) -> Response<Body> {
    let started = tokio::time::Instant::now();
    let (mut parts, body) = request.into_parts();
    let audit_id = audit_id(&server, &parts.headers);
    let query = Query::parse(parts.uri.query().unwrap_or(""));
    let path = percent_decode(parts.uri.path(), Plus::IsItself);
    let format = respond::error_format(&parts.headers);
    let (method, head_only) = (parts.method.clone(), parts.method == Method::HEAD);
    let mut flow = None;

    let mut response = match RequestInfo::parse(&parts.method, &path, &query) {
        Err(_) => respond::not_found_page(),
        Ok(info) => {
            let label = crate::documents::metrics::Label::of(&info);
            let answer = match authenticate(&server, &parts, &info, &mut flow).await {
                Err(status) => Err(status),
                Ok(user) => {
                    let upgrade = upgrade(&mut parts).await;
                    let (headers, method, audit_id) = (parts.headers, parts.method, audit_id.clone());
                    let received = Received { method, headers, query, info, audit_id, user, upgrade, entry: None };
                    Box::pin(answer(&server, received, body)).await
                }
            };
            let response = answer.unwrap_or_else(|status| respond::status(&status, format));
            server.metrics.count(&label, &method, response.status().as_u16(), started.elapsed());
            response
        }
    };
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&audit_id) {
        headers.insert("audit-id", value);
    }
    if let Some(Flow { schema, level }) = flow {
        let of = [("x-kubernetes-pf-flowschema-uid", schema), ("x-kubernetes-pf-prioritylevel-uid", level)];
        for (name, uid) in of {
            if let Ok(value) = HeaderValue::try_from(uid) {
                headers.insert(name, value);
            }
        }
    }
    headers.entry(http::header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    if head_only {
        *response.body_mut() = Body::empty();
    }
    response
}

/// The client's audit id, or a new one.
fn audit_id(server: &Server, headers: &HeaderMap) -> String {
    match headers.get("audit-id").and_then(|value| value.to_str().ok()) {
        Some(id) if !id.is_empty() => id.to_owned(),
        _ => server.registry.ambient().random.uuid(),
    }
}

/// What a client sends that wants a WebSocket; `None` where there is no connection to make one of.
async fn upgrade(parts: &mut http::request::Parts) -> Option<WebSocketUpgrade> {
    let wanted = parts.headers.get(http::header::UPGRADE)?.as_bytes();
    if !wanted.eq_ignore_ascii_case(b"websocket") {
        return None;
    }
    WebSocketUpgrade::from_request_parts(parts, &()).await.ok()
}

/// Who is asking: the transport may know, else the credentials say. What flow the request belongs to is known even of
/// those that are refused.
async fn authenticate(
    server: &Server,
    parts: &http::request::Parts,
    info: &RequestInfo,
    flow: &mut Option<Flow>,
) -> Result<Arc<User>, Status> {
    let user = match parts.extensions.get::<User>() {
        Some(user) => access::vouched_for(user),
        None => access::authenticate(server, parts).await?,
    };
    let user = access::impersonate(server, user, &parts.headers).await?;
    let attributes = access::attributes(&user, info);
    *flow = server.flows.flow_of(&attributes);
    access::decide(server, attributes).await?;
    Ok(user)
}

/// The answer to a request that is allowed.
async fn answer(server: &Arc<Server>, mut received: Received, body: Body) -> Result<Response<Body>, Status> {
    received.entry = record_request(server, &received);
    let entry = received.entry;
    let recorder = server.registry.recorder().clone();
    let info = received.info.clone();
    let result = if deadline::is_long_running(&received) {
        dispatch(Arc::clone(server), received, body).await
    } else {
        let _place = server.in_flight.enter(&received)?;
        let limit = deadline::limit_of(server, &received)?;
        deadline::within(limit, dispatch(Arc::clone(server), received, body)).await
    };
    if entry.is_some() {
        recorder.record(ACTOR, Stage::ApiRespond, || {
            let (code, reason) = match &result {
                Ok(response) => (response.status().as_u16(), String::new()),
                Err(status) => (status.code, status.reason.clone()),
            };
            let detail = Detail::about(subject(&info)).caused_by(entry).with("code", code);
            if reason.is_empty() { detail } else { detail.with("reason", reason) }
        });
    }
    result
}

async fn dispatch(server: Arc<Server>, received: Received, body: Body) -> Result<Response<Body>, Status> {
    match received.info.resource.clone() {
        Some(asked) => verbs::serve(&server, received, body, asked).await,
        None => crate::documents::paths::serve(&server, received).await,
    }
}

fn record_request(server: &Server, received: &Received) -> Option<EntryId> {
    received.info.resource.as_ref()?;
    let recorder = server.registry.recorder();
    recorder.record(ACTOR, Stage::ApiRequest, || {
        let agent = received.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
        let detail = Detail::about(subject(&received.info))
            .caused_by(recorder.audit(&received.audit_id))
            .with("verb", received.info.verb.as_str())
            .with("user", received.user.name.as_str())
            .with("agent", agent.unwrap_or(""))
            .with("audit", received.audit_id.as_str());
        let subresource = received.info.resource.as_ref().map_or("", |asked| asked.at.subresource.as_str());
        let detail = if subresource.is_empty() { detail } else { detail.with("subresource", subresource) };
        if received.query.get("dryRun").is_some() { detail.with("dryRun", true) } else { detail }
    })
}

/// What the event log calls the thing that a request is about: `pods/default/web`.
fn subject(info: &RequestInfo) -> String {
    let Some(ResourceRequest { at, .. }) = &info.resource else { return info.path.clone() };
    let plural = at.resource.resource.as_str();
    let namespace = if plural == "namespaces" { "" } else { at.namespace.as_str() };
    [plural, namespace, at.name.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// A plain answer.
pub(crate) fn text(code: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// A JSON answer.
pub(crate) fn json(body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let value = HeaderValue::from_static(Format::Json.media_type());
    response.headers_mut().insert(http::header::CONTENT_TYPE, value);
    response
}
