use std::pin::pin;

use axum::body::Body;
use futures_util::future::{Either, select};
use http::Response;

use super::watch_stream::WatchStream;
use crate::answer::negotiate::Format;
use crate::answer::unread::PATIENCE;
use crate::front::web_socket::{Message, WebSocket, WebSocketUpgrade};

/// Sends each event as a message over a WebSocket, as text or as protobuf bytes, until the watch ends, or the client
/// ends or stops reading.
///
/// In Kubernetes: `HandleWS` of `endpoints/handlers/watch.go`.
pub(super) fn events(upgrade: WebSocketUpgrade, format: Format, mut stream: WatchStream) -> Response<Body> {
    upgrade.on_upgrade(move |mut socket| async move {
        loop {
            match next(&mut socket, &mut stream).await {
                Next::Event(event) => {
                    let sent = tokio::time::timeout(PATIENCE, socket.send(message(format, event))).await;
                    if !matches!(sent, Ok(Some(()))) {
                        return;
                    }
                }
                Next::Said => {}
                Next::Over => break,
                Next::ClientGone => return,
            }
        }
        close(socket).await;
    })
}

/// The next event on a WebSocket.
enum Next {
    Event(Vec<u8>),
    /// A message of the client, which is ignored.
    Said,
    Over,
    ClientGone,
}

async fn next(socket: &mut WebSocket, stream: &mut WatchStream) -> Next {
    match select(pin!(stream.next_one()), pin!(socket.recv())).await {
        Either::Left((Some(event), _)) => Next::Event(event),
        Either::Left((None, _)) => Next::Over,
        Either::Right((Some(message), _)) if !matches!(message, Message::Close(_)) => Next::Said,
        Either::Right(_) => Next::ClientGone,
    }
}

/// Sends one event, and closes.
pub(super) fn only(upgrade: WebSocketUpgrade, format: Format, event: Vec<u8>) -> Response<Body> {
    upgrade.on_upgrade(move |mut socket| async move {
        let _ = socket.send(message(format, event)).await;
        close(socket).await;
    })
}

async fn close(mut socket: WebSocket) {
    // The client may have closed the connection.
    let _ = socket.send(Message::Close(None)).await;
}

/// An event as a message, without a length prefix.
fn message(format: Format, mut event: Vec<u8>) -> Message {
    match format {
        Format::Protobuf => Message::Binary(event.split_off(event.len().min(4)).into()),
        Format::Json | Format::Yaml => Message::Text(String::from_utf8_lossy(&event).into_owned().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_protobuf_has_no_length_before_it() {
        assert_eq!(message(Format::Protobuf, vec![0, 0, 0, 1, 9]), Message::Binary(vec![9].into()));
        assert_eq!(message(Format::Json, b"{}\n".to_vec()), Message::Text("{}\n".into()));
    }
}
