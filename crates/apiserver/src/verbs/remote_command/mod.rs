//! Commands in containers, and the streams of containers, over an upgraded connection: `exec` and `attach`.
//!
//! ```text
//! client --messages or streams: channel, data--> here --pieces in the request's body--> node in this process
//!        <--web_socket or spdy------------------ here <--pieces in the answer's body---
//! client --pieces in the request's body--> here --the same--> node in this process
//! client --bytes unchanged--> here --bytes unchanged--> node of another process, which does the above itself
//! ```
//! In Kubernetes: `UpgradeAwareHandler`, and `translatinghandler` of `pkg/registry/core/pod/rest`, which speaks SPDY with the
//! node for clients that speak WebSockets.

mod spdy;
mod web_socket;

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::channels::MEDIA_TYPE;
use coracle_meta::{Status, reason};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::front::upgrade::{Opened, Upgrade};
use crate::node_transport::NodeFailure;
use crate::query::Query;
use crate::server::ApiServer;

/// The maximum length of a node's error in the response.
const REFUSAL: usize = 4096;

/// A command at a node: a stream of pieces in each direction.
struct Remote {
    to_node: UnboundedSender<Bytes>,
    from_node: Body,
}

/// Connects a client with a command at a node: here, or at the node if it upgrades connections itself.
pub(super) async fn serve(
    server: &ApiServer,
    upgrade: Option<Upgrade>,
    headers: &HeaderMap,
    query: &Query,
    node: &str,
    request: Request<Body>,
) -> Result<Response<Body>, Status> {
    if upgrade.is_none() && sends_pieces(&request, headers) && !server.nodes.upgrades(node) {
        // A body that ends would mean that the client is gone.
        let request = request.map(|body| Body::from_stream(body.into_data_stream().chain(stream::pending())));
        let answer = server.nodes.call(&server.registry, node, request).await.map_err(NodeFailure::of_stream)?;
        return if answer.status() == StatusCode::OK { Ok(answer) } else { Err(refusal(answer).await) };
    }
    let upgrade = upgrade.ok_or_else(upgrade_required)?;
    let answer = if server.nodes.upgrades(node) {
        let request = passed_on(request, upgrade, headers);
        server.nodes.call(&server.registry, node, request).await.map_err(NodeFailure::of_stream)?
    } else {
        let call = |request| async {
            server.nodes.call(&server.registry, node, request).await.map_err(NodeFailure::of_stream)
        };
        connect(upgrade, headers, query, request, call).await?
    };
    match answer.status() {
        StatusCode::SWITCHING_PROTOCOLS => Ok(answer),
        _ => Err(refusal(answer).await),
    }
}

/// Connects a client with a WebSocket or SPDY connection with a command at a node that exchanges pieces in the bodies
/// of a request and its response. An error of the node is returned unchanged.
///
/// In Kubernetes: `ServeExec` and `ServeAttach` of `k8s.io/kubelet/pkg/cri/streaming/remotecommand`.
///
/// # Errors
/// If the client's connection is not upgraded, or its protocol is not supported.
pub async fn remote_command<F: Future<Output = Result<Response<Body>, Status>>>(
    request: Request<Body>,
    call: impl FnOnce(Request<Body>) -> F,
) -> Result<Response<Body>, Status> {
    let (mut head, body) = request.into_parts();
    let upgrade = Upgrade::read(&mut head).ok_or_else(upgrade_required)?;
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let headers = std::mem::take(&mut head.headers);
    connect(upgrade, &headers, &query, Request::from_parts(head, body), call).await
}

/// Whether the body of a request has all pieces that the client will send. Such a client needs no upgraded connection,
/// which a client in the same process does not have.
fn sends_pieces(request: &Request<Body>, headers: &HeaderMap) -> bool {
    request.method() == http::Method::POST
        && headers.get(header::CONTENT_TYPE).is_some_and(|media_type| media_type.as_bytes() == MEDIA_TYPE.as_bytes())
}

fn upgrade_required() -> Status {
    Status::bad_request("Upgrade request required")
}

async fn connect<F: Future<Output = Result<Response<Body>, Status>>>(
    upgrade: Upgrade,
    headers: &HeaderMap,
    query: &Query,
    mut request: Request<Body>,
    call: impl FnOnce(Request<Body>) -> F,
) -> Result<Response<Body>, Status> {
    let opened = upgrade.open().ok_or_else(upgrade_required)?;
    match &opened {
        Opened::WebSocket(_) => web_socket::check(headers)?,
        Opened::Spdy(_) => spdy::check(headers)?,
    }
    let (to_node, from_client) = unbounded_channel::<Bytes>();
    let from_client =
        stream::unfold(from_client, |mut pieces| async { Some((Ok::<_, Infallible>(pieces.recv().await?), pieces)) });
    *request.body_mut() = Body::from_stream(from_client);
    *request.method_mut() = http::Method::POST;
    let answer = call(request).await?;
    if answer.status() != StatusCode::OK {
        return Ok(answer);
    }
    let remote = Remote { to_node, from_node: answer.into_body() };
    Ok(match opened {
        Opened::WebSocket(upgrade) => web_socket::connect(upgrade, remote),
        Opened::Spdy(connection) => spdy::connect(connection, remote, spdy::wanted(query)),
    })
}

/// The request with the headers of the upgrade.
fn passed_on(mut request: Request<Body>, upgrade: Upgrade, headers: &HeaderMap) -> Request<Body> {
    for (name, value) in headers.iter().filter(|(name, _)| is_of_upgrade(name.as_str())) {
        request.headers_mut().append(name.clone(), value.clone());
    }
    *request.body_mut() = Body::empty();
    request.extensions_mut().insert(upgrade.into_connection());
    request
}

fn is_of_upgrade(header: &str) -> bool {
    ["connection", "upgrade", "x-stream-protocol-version"].contains(&header) || header.starts_with("sec-websocket-")
}

/// The error of a node that does not connect a client with a command.
async fn refusal(answer: Response<Body>) -> Status {
    let code = answer.status();
    let why = told(answer).await;
    match code {
        StatusCode::NOT_FOUND => Status::failure(404, reason::NOT_FOUND, why),
        StatusCode::BAD_REQUEST => Status::bad_request(why),
        StatusCode::UNAUTHORIZED => Status::failure(401, reason::UNAUTHORIZED, why),
        StatusCode::FORBIDDEN => Status::failure(403, reason::FORBIDDEN, why),
        _ => Status::internal(why),
    }
}

/// The text of a node's error.
pub(super) async fn told(answer: Response<Body>) -> String {
    let (mut body, mut text) = (answer.into_body(), Vec::new());
    while text.len() < REFUSAL
        && let Some(Ok(frame)) = body.frame().await
    {
        text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
    }
    text.truncate(REFUSAL);
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// The values of a header that may occur several times, with comma-separated values.
fn offered<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).collect()
}
