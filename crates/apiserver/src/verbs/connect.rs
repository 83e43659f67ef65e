use std::sync::Arc;

use axum::body::Body;
use coracle_meta::{Status, reason};
use coracle_registry::{Kind, Verb};
use http::{Method, Request, Response, StatusCode};

use super::call::request;
use super::remote_command::{self, told};
use crate::answer::respond::text;
use crate::front::received::Received;
use crate::front::request_info::ResourceRequest;
use crate::server::ApiServer;

/// Connects the client with the node of the subresource, and streams the response back.
pub(super) async fn serve(
    server: &Arc<ApiServer>,
    kind: &Kind,
    received: Received,
    body: Body,
    asked: &ResourceRequest,
) -> Result<Response<Body>, Status> {
    let verb = if received.method == Method::GET { Verb::Get } else { Verb::Create };
    let request = request(server, &received, kind, asked, verb);
    let path = asked.rest.join("/");
    let destination = server.registry.connect(&request, &path, received.query.pairs()).await?;
    if destination.node.is_empty() {
        // A pod that is not scheduled has no output, and empty output is not an error.
        return Ok(text(StatusCode::OK, Body::empty()));
    }
    let forwarded = Request::builder()
        .method(received.method.clone())
        .uri(destination.path_and_query.as_str())
        .body(body)
        .map_err(|error| Status::internal(format!("the path at the node is invalid: {error}")))?;
    if destination.is_stream {
        let Received { upgrade, headers, query, .. } = received;
        return remote_command::serve(server, upgrade, &headers, &query, &destination.node, forwarded).await;
    }
    let answer = server.nodes.call(&server.registry, &destination.node, forwarded).await;
    if asked.at.subresource != "log" {
        return Ok(without_hops(answer.map_err(crate::NodeFailure::of_proxy)?));
    }
    let answer = answer.map_err(crate::NodeFailure::of_log)?;
    if answer.status().is_success() { Ok(without_hops(answer)) } else { Err(refused_log(answer, &asked.at.name).await) }
}

fn without_hops(mut response: Response<Body>) -> Response<Body> {
    for hop in ["connection", "transfer-encoding", "keep-alive", "upgrade"] {
        response.headers_mut().remove(hop);
    }
    response
}

/// The error of a node for a log request. In Kubernetes: `GenericHttpResponseChecker`, whose verb is empty.
async fn refused_log(answer: Response<Body>, pod: &str) -> Status {
    let code = answer.status();
    let said = told(answer).await;
    let about = |message: &str| format!("{message} ( pods/log {pod})");
    let failure = |reason: &str, message: String| Status::failure(code.as_u16(), reason, message);
    match code {
        StatusCode::INTERNAL_SERVER_ERROR => Status::internal(said),
        StatusCode::BAD_REQUEST => Status::bad_request(said),
        StatusCode::UNAUTHORIZED => {
            failure(reason::UNAUTHORIZED, about("the server has asked for the client to provide credentials"))
        }
        StatusCode::FORBIDDEN => failure(reason::FORBIDDEN, about(&said)),
        StatusCode::NOT_FOUND => failure(reason::NOT_FOUND, about("the server could not find the requested resource")),
        StatusCode::SERVICE_UNAVAILABLE => {
            failure(reason::SERVICE_UNAVAILABLE, about("the server is currently unable to handle the request"))
        }
        _ => {
            let message = format!("an error on the server ({said:?}) has prevented the request from succeeding");
            failure(reason::INTERNAL_ERROR, about(&message))
        }
    }
}
