//! Commands in containers, and what containers say, over a WebSocket: `exec` and `attach`.
//!
//! ```text
//! client --messages: channel, data--> here --pieces in the request's body--> node --pieces in the answer's body--> here --> client
//! ```
//! In Kubernetes: `translatinghandler` of `pkg/registry/core/pod/rest`, which speaks SPDY with the node.

use std::convert::Infallible;
use std::pin::pin;

use axum::body::Body;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use bytes::Bytes;
use coracle_meta::channels::{LONGEST, Pieces, piece};
use coracle_meta::{Status, reason};
use futures_util::future::{Either, select};
use futures_util::stream;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::server::Server;

/// What clients may speak, the best first. Both have messages of a channel and its data, and tell the end as a `Status`.
const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
/// How much of a node's refusal is told.
const REFUSAL: usize = 4096;

/// Connects a client with a command at a node.
pub(super) async fn serve(
    server: &Server,
    upgrade: Option<WebSocketUpgrade>,
    headers: &HeaderMap,
    node: &str,
    mut request: http::Request<Body>,
) -> Result<Response<Body>, Status> {
    let Some(upgrade) = upgrade else { return Err(no_web_socket(headers)) };
    let asked = headers.get_all("sec-websocket-protocol").iter().filter_map(|value| value.to_str().ok());
    let asked: Vec<&str> = asked.flat_map(|value| value.split(',')).map(str::trim).collect();
    if !asked.iter().any(|protocol| PROTOCOLS.contains(protocol)) {
        let why = format!("unable to upgrade: {} are supported, {asked:?} were asked for", PROTOCOLS.join(" and "));
        return Err(Status::bad_request(why));
    }
    let (said, from_client) = unbounded_channel::<Bytes>();
    let from_client =
        stream::unfold(from_client, |mut pieces| async { Some((Ok::<_, Infallible>(pieces.recv().await?), pieces)) });
    *request.body_mut() = Body::from_stream(from_client);
    *request.method_mut() = http::Method::POST;
    let answer = server.nodes.call(node, request).await?;
    if answer.status() != StatusCode::OK {
        let code = answer.status();
        let text = answer.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let why = String::from_utf8_lossy(&text[..text.len().min(REFUSAL)]).trim().to_owned();
        return Err(match code {
            StatusCode::NOT_FOUND => Status::failure(404, reason::NOT_FOUND, why),
            StatusCode::BAD_REQUEST => Status::bad_request(why),
            _ => Status::internal(why),
        });
    }
    Ok(upgrade.protocols(PROTOCOLS).on_upgrade(move |socket| pump(socket, said, answer.into_body())))
}

fn no_web_socket(headers: &HeaderMap) -> Status {
    let asked = headers.get(http::header::UPGRADE).and_then(|value| value.to_str().ok()).unwrap_or("");
    match asked.to_ascii_lowercase().starts_with("spdy") {
        // Unlike Kubernetes: SPDY, which clients before 1.30 speak, is not known here.
        true => Status::failure(
            501,
            "NotImplemented",
            "SPDY is not supported: use a client that speaks WebSocket, as kubectl does from 1.30 on",
        ),
        false => Status::bad_request("Upgrade request required"),
    }
}

/// Carries messages both ways until the command has ended or the client is gone.
async fn pump(mut socket: WebSocket, said: UnboundedSender<Bytes>, mut from_node: Body) {
    let mut pieces = Pieces::default();
    loop {
        let next = match select(pin!(from_node.frame()), pin!(socket.recv())).await {
            Either::Left((frame, _)) => Either::Left(frame),
            Either::Right((message, _)) => Either::Right(message),
        };
        match next {
            Either::Left(Some(Ok(frame))) => {
                pieces.push(frame.data_ref().map_or(&[][..], |data| data));
                while let Ok(Some((channel, data))) = pieces.next_piece() {
                    let mut message = vec![channel];
                    message.extend(data);
                    if socket.send(Message::Binary(message.into())).await.is_err() {
                        return;
                    }
                }
            }
            Either::Left(_) => break,
            Either::Right(Some(Ok(Message::Binary(data)))) if !data.is_empty() && data.len() <= LONGEST => {
                let _ = said.send(piece(data[0], &data[1..]).into());
            }
            Either::Right(Some(Ok(Message::Close(_)) | Err(_)) | None) => return,
            Either::Right(Some(Ok(_))) => {}
        }
    }
    let end = CloseFrame { code: close_code::NORMAL, reason: "".into() };
    let _ = socket.send(Message::Close(Some(end))).await;
}
