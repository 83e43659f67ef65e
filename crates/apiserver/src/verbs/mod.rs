//! The verbs: what each one reads from the request, and how its response is written.

mod call;
mod connect;
mod create;
mod delete;
mod get;
mod list;
mod local_events;
mod patch;
pub(crate) mod remote_command;
mod update;
mod watch;
mod watch_stream;
mod web_socket;

use std::sync::Arc;

use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::Verb;
use http::Response;

use self::call::{VerbCall, request};
use crate::answer::negotiate::{Format, Negotiated, Offer, negotiate};
use crate::answer::respond;
use crate::front::endpoint::{Action, Endpoint, method_not_allowed};
use crate::front::received::Received;
use crate::front::request_info::ResourceRequest;
use crate::server::ApiServer;

/// Serves a request for a resource.
pub(crate) async fn serve(
    server: &Arc<ApiServer>,
    received: Received,
    body: Body,
    asked: ResourceRequest,
) -> Result<Response<Body>, Status> {
    if asked.watch_in_path && !matches!(received.method, http::Method::GET | http::Method::HEAD) {
        return Err(method_not_allowed());
    }
    let endpoint = Endpoint::find(&server.registry.kinds(), &asked, &received.method, received.info.verb == "watch")?;
    let offer = offer(&endpoint, &asked, &received.method);
    let verb = match endpoint.action {
        Action::Connect => return Box::pin(connect::serve(server, &endpoint.kind, received, body, &asked)).await,
        Action::Verb(verb) => verb,
    };
    let how = negotiate(&received.headers, &received.query, offer)?;
    // An error is not a table, so a clause that requests a table does not choose the format of errors.
    let of_failures = negotiate(&received.headers, &received.query, Offer { transforms: false, ..offer });
    let of_failures = Negotiated { format: of_failures.map_or(Format::Json, |how| how.format), ..Negotiated::JSON };
    let request = request(server, &received, &endpoint.kind, &asked, verb);
    let upgrade = match received.upgrade {
        Some(upgrade) => upgrade.web_socket(),
        None => None,
    };
    let warnings = request.warnings.clone();
    endpoint.kind.spec().deprecation.iter().for_each(|text| warnings.add(text.as_str()));
    let call = VerbCall {
        server: Arc::clone(server),
        kind: endpoint.kind,
        request,
        asked,
        query: received.query,
        headers: received.headers,
        body,
        how,
        upgrade,
        weight: received.weight,
        place: None,
    };
    // The futures of the other verbs are large: a `get` does not pay for them.
    let result = match verb {
        Verb::Get => get::serve(call).await,
        Verb::List => Box::pin(list::serve(call)).await,
        Verb::Watch => Box::pin(watch::serve(call)).await,
        Verb::Create => Box::pin(create::serve(call)).await,
        Verb::Update => Box::pin(update::serve(call)).await,
        Verb::Patch => Box::pin(patch::serve(call)).await,
        Verb::Delete => Box::pin(delete::one(call)).await,
        Verb::DeleteCollection => Box::pin(delete::collection(call)).await,
    };
    // Errors also carry warnings.
    let mut response = result.unwrap_or_else(|status| respond::status(&status, of_failures));
    respond::add_warnings(&mut response, &warnings.texts());
    Ok(response)
}

/// The formats and representations of the endpoint.
fn offer(endpoint: &Endpoint, asked: &ResourceRequest, method: &http::Method) -> Offer {
    let transforms = endpoint.kind.serves(Verb::Get) || endpoint.kind.serves(Verb::List);
    Offer { formats: endpoint.kind.offers().formats, transforms, lists: !asked.is_item && method == http::Method::GET }
}
