use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use coracle_meta::Status;
use coracle_registry::{Flow, User, Warnings};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response};

use crate::answer::respond;
use crate::documents::metrics::Label;
use crate::documents::paths;
use crate::front::passed_on::PassedOn;
use crate::front::query::{Plus, Query, percent_decode};
use crate::front::received::Received;
use crate::front::request_headers::FrontProxy;
use crate::front::request_info::RequestInfo;
use crate::front::{access, authenticate, deadline, impersonate};
use crate::server::{ApiServer, Server};
use crate::{extension, record, verbs};

/// The API as a router, to be served by whoever has a transport.
pub fn router(server: ApiServer) -> Router {
    let server = Arc::new(Server::new(server));
    Router::new().fallback(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move { serve(&server, request).await }
    })
}

/// One request from its line to its answer.
async fn serve(server: &Arc<Server>, request: Request<Body>) -> Response<Body> {
    let started = tokio::time::Instant::now();
    let (parts, body) = request.into_parts();
    let (method, audit_id) = (parts.method.clone(), audit_id(server, &parts.headers));
    let query = Query::parse(parts.uri.query().unwrap_or(""));
    let path = percent_decode(parts.uri.path(), Plus::IsItself);
    let Ok(info) = RequestInfo::parse(&method, &path, &query) else {
        return finish(respond::not_found_page(), &method, &audit_id, None);
    };
    let (info, format) = (Arc::new(info), respond::error_format(&parts.headers));
    let warnings = Warnings::default();
    let (admitted, flow) = admit(server, &parts, &info, &query, &warnings).await;
    let result = match admitted {
        Ok(user) => {
            let received = receive(server, parts, query, Arc::clone(&info), audit_id.clone(), user).await;
            Box::pin(answer(server, received, body)).await
        }
        Err(status) => Err(status),
    };
    let mut response = result.unwrap_or_else(|status| respond::status(&status, format));
    respond::add_warnings(&mut response, &warnings.texts());
    server.metrics.count(Label::of(&info), &method, response.status().as_u16(), started.elapsed());
    finish(response, &method, &audit_id, flow)
}

/// The client's audit id, or a new one.
fn audit_id(server: &Server, headers: &HeaderMap) -> String {
    match headers.get("audit-id").and_then(|value| value.to_str().ok()) {
        Some(id) if !id.is_empty() => id.to_owned(),
        _ => server.registry.ambient().random.uuid(),
    }
}

/// Who is asking, if he may. What flow a request belongs to is known even of one that is refused.
async fn admit(
    server: &Server,
    parts: &Parts,
    info: &RequestInfo,
    query: &Query,
    warnings: &Warnings,
) -> (Result<Arc<User>, Status>, Option<Flow>) {
    let user = match identify(server, parts, warnings).await {
        Ok(user) => user,
        Err(status) => return (Err(status), None),
    };
    let attributes = access::attributes(&user, info, query);
    let flow = server.flows.flow_of(&attributes);
    let allowed = access::decide(&server.registry, &attributes).await;
    (allowed.map(|()| user), flow)
}

/// Who is asking: the transport may know, else the credentials say; and for whom.
async fn identify(server: &Server, parts: &Parts, warnings: &Warnings) -> Result<Arc<User>, Status> {
    let user = match (parts.extensions.get::<User>(), spoken_of(server, parts)?) {
        (Some(user), _) => authenticate::vouched_for(user),
        (None, Some(user)) => authenticate::vouched_for(&user),
        (None, None) => {
            let (authenticator, anonymous) = (&*server.authenticator, server.anonymous);
            authenticate::authenticate(authenticator, anonymous, &server.registry, parts, warnings).await?
        }
    };
    impersonate::impersonate(&server.registry, user, &parts.headers).await
}

/// Of whom a front proxy speaks. Whoever is no front proxy may say what it likes.
fn spoken_of(server: &Server, parts: &Parts) -> Result<Option<User>, Status> {
    match (&server.request_headers, parts.extensions.get::<FrontProxy>()) {
        (Some(headers), Some(proxy)) => headers.user(proxy, &parts.headers),
        _ => Ok(None),
    }
}

async fn receive(
    server: &Server,
    mut parts: Parts,
    query: Query,
    info: Arc<RequestInfo>,
    audit_id: String,
    user: Arc<User>,
) -> Received {
    let passed_on = PassedOn::read(&server.registry, &info, &mut parts);
    let upgrade = if passed_on.is_some() { None } else { upgrade(&mut parts).await };
    let (method, headers) = (parts.method, parts.headers);
    Received { method, headers, query, info, audit_id, user, upgrade, passed_on, entry: None }
}

/// What a client sends that wants a WebSocket; `None` where there is no connection to make one of.
async fn upgrade(parts: &mut Parts) -> Option<WebSocketUpgrade> {
    let wanted = parts.headers.get(http::header::UPGRADE)?.as_bytes();
    if !wanted.eq_ignore_ascii_case(b"websocket") {
        return None;
    }
    WebSocketUpgrade::from_request_parts(parts, &()).await.ok()
}

/// The answer to a request that is allowed.
async fn answer(server: &Arc<Server>, mut received: Received, body: Body) -> Result<Response<Body>, Status> {
    let recorder = server.registry.recorder();
    received.entry = record::request(recorder, &received);
    let (entry, info) = (received.entry, Arc::clone(&received.info));
    let is_upgrade = received.passed_on.as_ref().is_some_and(PassedOn::is_upgrade);
    let result = if is_upgrade || deadline::is_long_running(&info) {
        dispatch(server, received, body).await
    } else {
        let _place = server.in_flight.enter(&info.verb, &received.user)?;
        let limit = deadline::limit_of(&info.verb, &received.query, server.limits.request_seconds)?;
        deadline::within(limit, dispatch(server, received, body)).await
    };
    if let Some(entry) = entry {
        record::answer(recorder, entry, &info, &result);
    }
    result
}

async fn dispatch(server: &Arc<Server>, mut received: Received, body: Body) -> Result<Response<Body>, Status> {
    if let Some(passed_on) = received.passed_on.take() {
        return Ok(extension::serve(server, received, passed_on, body).await);
    }
    match received.info.resource.clone() {
        Some(asked) => verbs::serve(server, received, body, asked).await,
        None => paths::serve(server, &received).await,
    }
}

/// The headers that every answer has; to `HEAD` nothing else.
fn finish(mut response: Response<Body>, method: &Method, audit_id: &str, flow: Option<Flow>) -> Response<Body> {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(audit_id) {
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
    if *method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    response
}
