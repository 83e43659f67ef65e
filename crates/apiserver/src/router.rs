use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use coracle_meta::{Status, reason};
use coracle_registry::{AsOf, AuditNotes, Flow, User, Warnings};
use futures_util::FutureExt;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};

use crate::answer::respond;
use crate::audit::AuditEventBuilder;
use crate::documents::metrics::Label;
use crate::front::passed_on::PassedOn;
use crate::front::path_service::{PathRequest, PathService};
use crate::front::peer_address::PeerAddress;
use crate::front::received::Received;
use crate::front::request_info::RequestInfo;
use crate::front::token::hide_subprotocol;
use crate::front::unread_request::UnreadRequest;
use crate::front::upgrade::Upgrade;
use crate::front::{access, body, deadline, impersonate};
use crate::non_resource;
use crate::offload::Weight;
use crate::query::{Plus, Query, percent_decode};
use crate::server::{ApiServer, ApiServerConfig};
use crate::{extension, offload, record, verbs};

/// The API as a router, for any transport.
pub fn router(config: ApiServerConfig) -> Router {
    let server = Arc::new(ApiServer::new(config));
    Router::new().fallback(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let (request, unread) = UnreadRequest::of(request);
            let response = serve_or_panic(&server, request).await;
            // A body that did not arrive within the time of the request has no more time.
            let unread = unread.filter(|_| response.status() != StatusCode::GATEWAY_TIMEOUT);
            if let Some(unread) = unread {
                unread.discard().await;
            }
            response
        }
    })
}

/// A panic ends only the request that caused it. In Kubernetes: `filters.WithPanicRecovery`.
async fn serve_or_panic(server: &Arc<ApiServer>, request: Request<Body>) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let format = respond::error_format(request.headers());
    match AssertUnwindSafe(serve(server, request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            server.registry.ambient().panics.caught(&format!("the request {method} {path}"), panic);
            let message = "This request caused apiserver to panic. Look in the logs for details.";
            respond::status(&Status::failure(500, reason::INTERNAL_ERROR, message), format)
        }
    }
}

/// Serves one request.
async fn serve(server: &Arc<ApiServer>, request: Request<Body>) -> Response<Body> {
    let started = tokio::time::Instant::now();
    let (parts, body) = request.into_parts();
    let (method, audit_id) = (parts.method.clone(), audit_id(server, &parts));
    let query = Query::parse(parts.uri.query().unwrap_or(""));
    let path = percent_decode(parts.uri.path(), Plus::IsItself);
    let Ok(info) = RequestInfo::parse(&method, &path, &query) else {
        return finish(respond::not_found_page(), &method, &audit_id, None);
    };
    let (info, format) = (Arc::new(info), respond::error_format(&parts.headers));
    let warnings = Warnings::default();
    let Admitted { allowed, flow, audit_event } = admit(server, &parts, &info, &audit_id, &query, &warnings).await;
    let audit = audit_event.as_ref().map(|audit_event| audit_event.notes().clone()).unwrap_or_default();
    let (result, is_stream) = match allowed {
        Ok(user) => {
            let received = receive(server, parts, query, Arc::clone(&info), audit_id.clone(), user, audit);
            let is_stream = received.is_stream();
            (Box::pin(answer(server, received, body)).await, is_stream)
        }
        Err(status) => (Err(status), false),
    };
    let mut response = result.unwrap_or_else(|status| respond::status(&status, format));
    respond::add_warnings(&mut response, &warnings.texts());
    let kind = info.resource.as_ref().and_then(|asked| server.registry.kind(&asked.at.resource));
    let label = Label::of(&info, kind.as_deref());
    if server.metrics.count(label, &method, response.status().as_u16(), started.elapsed()) {
        server.forget_unserved();
    }
    if let Some(audit_event) = audit_event {
        response = audit_event.answered(response, is_stream);
    }
    finish(response, &method, &audit_id, flow)
}

/// The client's audit id, or a new one.
fn audit_id(server: &ApiServer, parts: &Parts) -> String {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match header("audit-id") {
        // The user is not known yet: a request that is not authenticated has an audit id, too.
        "" => server.audit_ids.keyed(&[header("user-agent"), parts.method.as_str(), parts.uri.path()]).uuid(),
        id => id.to_owned(),
    }
}

/// A request after authentication and authorization: the user or the error, and what is known in both cases.
struct Admitted {
    allowed: Result<Arc<User>, Status>,
    /// The flow, which is known even for a refused request.
    flow: Option<Flow>,
    /// The audit events of the request, if the policy records it.
    audit_event: Option<AuditEventBuilder>,
}

async fn admit(
    server: &ApiServer,
    parts: &Parts,
    info: &RequestInfo,
    audit_id: &str,
    query: &Query,
    warnings: &Warnings,
) -> Admitted {
    let begin = |user: &Arc<User>, impersonated: Option<&Arc<User>>| {
        let audit = server.audit.as_ref()?;
        let attributes = access::attributes(user, info, query);
        let audit_event = AuditEventBuilder::begin(audit, &server.registry, parts, audit_id, attributes, impersonated)?;
        audit_event.received();
        Some(audit_event)
    };
    let user = match server.identification.user(parts, warnings).await {
        Ok(user) => user,
        Err(status) => return Admitted { audit_event: begin(&Arc::default(), None), allowed: Err(status), flow: None },
    };
    let asked = access::attributes(&user, info, query);
    let constrained = &server.constrained_impersonation;
    let asker = impersonate::impersonate(&server.registry, constrained, &asked, &parts.headers).await;
    let asker = match asker {
        Ok(asker) => asker,
        Err(status) => return Admitted { audit_event: begin(&user, None), allowed: Err(status), flow: None },
    };
    let audit_event = begin(&user, Some(&asker).filter(|asker| !Arc::ptr_eq(asker, &user)));
    let attributes = access::attributes(&asker, info, query);
    let flow = server.flows.flow_of(&attributes);
    let nowhere = AuditNotes::default();
    let notes = audit_event.as_ref().map_or(&nowhere, AuditEventBuilder::notes);
    let of_path = parts.extensions.get::<PathService>().filter(|_| info.resource.is_none());
    let of_path = of_path.and_then(|service| service.attributes(&asker, &parts.method, &info.path));
    let allowed = access::decide_noted(&server.registry, of_path.as_ref().unwrap_or(&attributes), notes).await;
    Admitted { allowed: allowed.map(|()| asker), flow, audit_event }
}

fn receive(
    server: &ApiServer,
    mut parts: Parts,
    query: Query,
    info: Arc<RequestInfo>,
    audit_id: String,
    user: Arc<User>,
    audit: AuditNotes,
) -> Received {
    hide_subprotocol(&mut parts.headers);
    let path_service = parts.extensions.remove::<PathService>().filter(|_| info.resource.is_none());
    let passed_on = PassedOn::read(&server.registry, &info, &mut parts);
    let upgrade = if passed_on.is_some() { None } else { Upgrade::read(&mut parts) };
    let (method, headers) = (parts.method, parts.headers);
    let is_remote = parts.extensions.get::<PeerAddress>().is_some();
    let as_of = parts.extensions.get::<AsOf>().copied();
    let weight = Weight::new(server.registry.expression_pool());
    Received {
        method,
        headers,
        query,
        info,
        audit_id,
        user,
        is_remote,
        upgrade,
        passed_on,
        path_service,
        weight,
        as_of,
        audit,
        entry: None,
    }
}

/// The response to an authorized request.
async fn answer(server: &Arc<ApiServer>, mut received: Received, body: Body) -> Result<Response<Body>, Status> {
    let recorder = server.registry.recorder();
    received.entry = record::request(recorder, &received);
    let (entry, info, notes) = (received.entry, Arc::clone(&received.info), received.audit.clone());
    // Unread responses of clients in the same process are not counted: they are memory of the client's own program.
    let reader = received.is_remote.then(|| Arc::clone(&received.user));
    let result = match reader.as_ref().map_or(Ok(()), |reader| server.unread.admit(reader)) {
        Err(status) => Err(status),
        Ok(()) if received.is_stream() => dispatch(server, received, body).await,
        Ok(()) => within_limits(server, received, body).await,
    };
    let result = result.map(|response| match &reader {
        Some(reader) => server.unread.count(response, reader),
        None => response,
    });
    if let Some(entry) = entry {
        record::answer(recorder, entry, &info, &notes, &result);
    }
    result
}

/// The response to a request with an in-flight limit and a timeout, which includes the time for its body. A request
/// takes a place only when its body is complete; until then the received bytes count as unread bytes of the user.
async fn within_limits(server: &Arc<ApiServer>, received: Received, body: Body) -> Result<Response<Body>, Status> {
    let limit = deadline::limit_of(&received.info.verb, &received.query, server.limits.request_seconds)?;
    let (weight, own) = (received.weight.clone(), Arc::clone(server));
    let answer: offload::Answer<_> = Box::pin(async move {
        let body = match &received.passed_on {
            Some(_) => body::arrived(body, own.limits.body_bytes, own.bodies.account(&received.user)).await?,
            None => body,
        };
        let enter = || own.in_flight.enter(&received.info.verb, &received.user);
        let _place = if received.reads_body() { None } else { Some(enter()?) };
        dispatch(&own, received, body).await
    });
    deadline::within(limit, offload::run(server.registry.expression_pool(), &weight, answer)).await
}

async fn dispatch(server: &Arc<ApiServer>, mut received: Received, body: Body) -> Result<Response<Body>, Status> {
    if let Some(passed_on) = received.passed_on.take() {
        return Ok(Box::pin(extension::serve(server, received, passed_on, body)).await);
    }
    if let Some(service) = received.path_service.take() {
        let limit = deadline::limit_of(&received.info.verb, &received.query, server.limits.request_seconds)?;
        let account = server.bodies.account(&received.user);
        let body = deadline::within(limit, body::read(body, server.limits.body_bytes, account)).await?;
        let path = received.info.path.clone();
        let (user, query) = (Arc::clone(&received.user), received.query.pairs().to_vec());
        let request = PathRequest { user, method: received.method.clone(), path, query, body };
        return service.serve(request).await;
    }
    match received.info.resource.clone() {
        Some(asked) => verbs::serve(server, received, body, asked).await,
        None => non_resource::serve(server, &received).await,
    }
}

/// Sets the headers that every response has, and removes the body for `HEAD`.
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
