use std::pin::pin;

use axum::body::Body;
use coracle_meta::Status;
use coracle_meta::channels::{LONGEST, Pieces, piece};
use futures_util::future::{Either, select};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;

use super::{Remote, offered};
use crate::front::web_socket::{CloseCode, CloseFrame, Message, WebSocket, WebSocketUpgrade};

/// The supported protocols, the preferred one first. Messages of both have a channel and data, and the end is a
/// `Status`.
const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/// Refuses a client that offers none of them.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Status> {
    let asked = offered(headers, "sec-websocket-protocol");
    if asked.iter().any(|protocol| PROTOCOLS.contains(protocol)) {
        return Ok(());
    }
    let why = format!("unable to upgrade: {} are supported, {asked:?} were asked for", PROTOCOLS.join(" and "));
    Err(Status::bad_request(why))
}

/// Upgrades the client's connection to a WebSocket for the command.
pub(super) fn connect(upgrade: WebSocketUpgrade, remote: Remote) -> Response<Body> {
    upgrade.protocols(PROTOCOLS).on_upgrade(move |socket| pump(socket, remote))
}

/// Copies messages in both directions until the command or the client ends.
async fn pump(mut socket: WebSocket, Remote { to_node, mut from_node }: Remote) {
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
                    if socket.send(Message::Binary(message.into())).await.is_none() {
                        return;
                    }
                }
            }
            Either::Left(_) => break,
            Either::Right(Some(Message::Binary(data))) if !data.is_empty() && data.len() <= LONGEST => {
                let _ = to_node.send(piece(data[0], &data[1..]).into());
            }
            Either::Right(Some(Message::Close(_)) | None) => return,
            Either::Right(Some(_)) => {}
        }
    }
    let end = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    let _ = socket.send(Message::Close(Some(end))).await;
}
