//! Commands in containers, and what containers say, over an upgraded connection: `exec` and `attach`.
//!
//! ```text
//! client --messages or streams: channel, data--> here --pieces in the request's body--> node
//!        <--web_socket or spdy------------------ here <--pieces in the answer's body--- node
//! ```
//! In Kubernetes: `translatinghandler` of `pkg/registry/core/pod/rest`, which speaks SPDY with the node.

mod spdy;
mod web_socket;

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::{Status, reason};
use futures_util::stream;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::front::query::Query;
use crate::front::upgrade::Upgrade;
use crate::server::Server;

/// How much of a node's refusal is told.
const REFUSAL: usize = 4096;

/// A command at a node: pieces go there, and pieces come back.
struct Remote {
    to_node: UnboundedSender<Bytes>,
    from_node: Body,
}

/// Connects a client with a command at a node.
pub(super) async fn serve(
    server: &Server,
    upgrade: Option<Upgrade>,
    headers: &HeaderMap,
    query: &Query,
    node: &str,
    request: Request<Body>,
) -> Result<Response<Body>, Status> {
    match upgrade {
        Some(Upgrade::WebSocket(upgrade)) => {
            web_socket::check(headers)?;
            let remote = call(server, node, request).await?;
            Ok(web_socket::connect(upgrade, remote))
        }
        Some(Upgrade::Spdy(connection)) => {
            spdy::check(headers)?;
            let remote = call(server, node, request).await?;
            Ok(spdy::connect(connection, remote, spdy::wanted(query)))
        }
        None => Err(Status::bad_request("Upgrade request required")),
    }
}

async fn call(server: &Server, node: &str, mut request: Request<Body>) -> Result<Remote, Status> {
    let (to_node, from_client) = unbounded_channel::<Bytes>();
    let from_client =
        stream::unfold(from_client, |mut pieces| async { Some((Ok::<_, Infallible>(pieces.recv().await?), pieces)) });
    *request.body_mut() = Body::from_stream(from_client);
    *request.method_mut() = http::Method::POST;
    let answer = server.nodes.call(node, request).await?;
    if answer.status() == StatusCode::OK {
        return Ok(Remote { to_node, from_node: answer.into_body() });
    }
    let code = answer.status();
    let text = answer.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let why = String::from_utf8_lossy(&text[..text.len().min(REFUSAL)]).trim().to_owned();
    Err(match code {
        StatusCode::NOT_FOUND => Status::failure(404, reason::NOT_FOUND, why),
        StatusCode::BAD_REQUEST => Status::bad_request(why),
        _ => Status::internal(why),
    })
}

/// What a client offers in a header that may come several times, with commas within.
fn offered<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).collect()
}
