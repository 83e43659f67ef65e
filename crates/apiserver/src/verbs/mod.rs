//! What each verb reads from the request, and how its answer is written.

mod connect;
mod create;
mod delete;
mod get;
mod list;
mod patch;
mod update;
mod watch;
mod web_socket;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use coracle_meta::{ResourcePath, Status};
use coracle_registry::{FieldValidation, Kind, Request, Stored, Verb, Warnings};
use http::{HeaderMap, Response, StatusCode};

use crate::answer::negotiate::{Format, Negotiated, Offer, negotiate};
use crate::answer::render::Rendering;
use crate::answer::respond;
use crate::front::endpoint::{Action, Endpoint};
use crate::front::options::WriteOptions;
use crate::front::query::Query;
use crate::front::request_info::ResourceRequest;
use crate::server::{Received, Server};

/// One call of a verb: the request, the kind that it is about, and how the client wants the answer.
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) request: Request,
    pub(crate) asked: ResourceRequest,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) how: Negotiated,
    pub(crate) upgrade: Option<WebSocketUpgrade>,
}

/// Serves a request about a resource.
pub(crate) async fn serve(
    server: &Arc<Server>,
    received: Received,
    body: Body,
    asked: ResourceRequest,
) -> Result<Response<Body>, Status> {
    if asked.watch_in_path && !matches!(received.method, http::Method::GET | http::Method::HEAD) {
        return Err(crate::front::endpoint::method_not_allowed());
    }
    let endpoint = Endpoint::find(&server.registry.kinds(), &asked, &received.method, received.info.verb == "watch")?;
    let offer = offer(&endpoint, &asked, &received.method);
    let verb = match endpoint.action {
        Action::Connect => return connect::serve(server, &endpoint.kind, received, body, &asked).await,
        Action::Verb(verb) => verb,
    };
    let how = negotiate(&received.headers, &received.query, offer)?;
    // A failure is no table, so a clause that asks for one does not choose its format.
    let of_failures = negotiate(&received.headers, &received.query, Offer { transforms: false, ..offer });
    let of_failures = Negotiated { format: of_failures.map_or(Format::Json, |how| how.format), ..Negotiated::JSON };
    let request = request(server, &received, &endpoint.kind, &asked, verb);
    let warnings = request.warnings.clone();
    endpoint.kind.strategy().deprecation().into_iter().for_each(|text| warnings.add(text));
    let call = Call {
        server: Arc::clone(server),
        kind: endpoint.kind,
        request,
        asked,
        query: received.query,
        headers: received.headers,
        body,
        how,
        upgrade: received.upgrade,
    };
    let result = match verb {
        Verb::Get => get::serve(call).await,
        Verb::List => list::serve(call).await,
        Verb::Watch => watch::serve(call).await,
        Verb::Create => create::serve(call).await,
        Verb::Update => update::serve(call).await,
        Verb::Patch => patch::serve(call).await,
        Verb::Delete => delete::one(call).await,
        Verb::DeleteCollection => delete::collection(call).await,
    };
    // Warnings are told with failures as well.
    let mut response = result.unwrap_or_else(|status| respond::status(&status, of_failures));
    respond::add_warnings(&mut response, &warnings.texts());
    Ok(response)
}

/// In what the endpoint can answer.
fn offer(endpoint: &Endpoint, asked: &ResourceRequest, method: &http::Method) -> Offer {
    let formats: &'static [Format] = if endpoint.kind.is_custom() { &Format::WITHOUT_PROTOBUF } else { &Format::ALL };
    let transforms = endpoint.kind.serves(Verb::Get) || endpoint.kind.serves(Verb::List);
    Offer { formats, transforms, lists: !asked.is_item && method == http::Method::GET }
}

/// The request as the registry takes it.
fn request(server: &Server, received: &Received, kind: &Kind, asked: &ResourceRequest, verb: Verb) -> Request {
    let agent = received.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
    Request {
        user: Arc::clone(&received.user),
        verb,
        at: path_of(kind, asked),
        dry_run: false,
        audit_id: received.audit_id.clone(),
        user_agent: agent.to_owned(),
        field_manager: manager_of(agent),
        cause: received.entry,
        field_validation: FieldValidation::default(),
        now: server.registry.ambient().clock.now(),
        warnings: Warnings::default(),
    }
}

/// Where the registry finds it: no kind of the cluster stands in a namespace, and a selector is no name.
fn path_of(kind: &Kind, asked: &ResourceRequest) -> Arc<ResourcePath> {
    let is_in_place = kind.is_namespaced() || asked.at.namespace.is_empty();
    let is_named = asked.is_item || asked.at.name.is_empty();
    let mut at = Arc::clone(&asked.at);
    if !is_in_place {
        Arc::make_mut(&mut at).namespace.clear();
    }
    if !is_named {
        Arc::make_mut(&mut at).name.clear();
    }
    at
}

/// The manager of a client that names none: its agent up to the first slash, its unprintable signs left out.
///
/// In Kubernetes: `managerOrUserAgent`.
fn manager_of(agent: &str) -> String {
    let product = agent.split('/').next().unwrap_or("");
    let mut manager = String::new();
    for sign in product.chars().filter(|sign| !sign.is_control()) {
        if manager.len() + sign.len_utf8() > 128 {
            break;
        }
        manager.push(sign);
    }
    manager
}

impl Call {
    /// Takes over what the query says of all writes alike.
    pub(crate) fn set_write_options(&mut self, options: &WriteOptions) {
        self.request.dry_run = options.dry_run;
        self.request.field_validation = options.field_validation;
        if !options.field_manager.is_empty() {
            self.request.field_manager.clone_from(&options.field_manager);
        }
    }

    /// How objects are shown to this client.
    pub(crate) fn rendering(&self) -> Result<Rendering, Status> {
        Rendering::new(self)
    }

    /// One object as the answer. An answer of kind Status (of a binding, an eviction) is written as such.
    pub(crate) fn respond_object(&self, code: StatusCode, object: &Stored) -> Result<Response<Body>, Status> {
        let body = self.rendering()?.object(object)?;
        Ok(respond::bytes(code, self.how.format, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_the_agent_up_to_its_first_slash() {
        assert_eq!(manager_of("kubectl/v1.35.0 (linux/amd64)"), "kubectl");
        assert_eq!(manager_of(""), "");
        assert_eq!(manager_of(&"é".repeat(100)).len(), 128);
    }
}
