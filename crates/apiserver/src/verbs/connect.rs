use std::sync::Arc;

use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::{Kind, Verb};
use http::{Method, Request, Response, StatusCode};

use super::call::request;
use super::remote_command;
use crate::answer::respond::text;
use crate::front::received::Received;
use crate::front::request_info::ResourceRequest;
use crate::server::Server;

/// Hands a connection over to the node that the subresource leads to, and its answer back, as it comes.
pub(super) async fn serve(
    server: &Arc<Server>,
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
        // Whoever runs nowhere yet has nothing to say, and saying nothing is no failure.
        return Ok(text(StatusCode::OK, Body::empty()));
    }
    let forwarded = Request::builder()
        .method(received.method.clone())
        .uri(destination.path_and_query.as_str())
        .body(body)
        .map_err(|error| Status::internal(format!("the path at the node is none: {error}")))?;
    if destination.is_stream {
        let Received { upgrade, headers, query, .. } = received;
        return remote_command::serve(server, upgrade, &headers, &query, &destination.node, forwarded).await;
    }
    let mut response = server.nodes.call(&destination.node, forwarded).await?;
    for hop in ["connection", "transfer-encoding", "keep-alive", "upgrade"] {
        response.headers_mut().remove(hop);
    }
    Ok(response)
}
