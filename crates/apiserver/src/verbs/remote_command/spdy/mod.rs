//! SPDY/3.1, for clients without WebSockets for remote commands (kubectl until 1.29): a stream for each channel.
//!
//! ```text
//! bytes --frame--> Frame --session (pure)--> bytes for the client, pieces for the node
//!                    \--header_block: names and values, compressed over the whole connection
//! ```
//! In Kubernetes: `httpstream/spdy` of apimachinery over `moby/spdystream`, neither of which has flow control.

mod frame;
mod header_block;
mod session;

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use coracle_meta::Status;
use coracle_meta::channels::{ERROR, Pieces, RESIZE, STDERR, STDIN, STDOUT};
use futures_util::future::{Either, select};
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use self::session::Session;
use super::{Remote, offered};
use crate::query::Query;

/// The protocol on top of SPDY: the error stream ends with a `Status`.
const PROTOCOL: &str = "v4.channel.k8s.io";
/// The header that negotiates the protocol.
const PROTOCOL_HEADER: &str = "x-stream-protocol-version";
/// The timeout for a client to open its streams, and to disconnect at the end.
/// In Kubernetes: `DefaultStreamCreationTimeout`.
const PATIENCE: Duration = Duration::from_secs(30);
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Refuses a client that does not offer the protocol.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Status> {
    let asked = offered(headers, PROTOCOL_HEADER);
    if asked.contains(&PROTOCOL) {
        return Ok(());
    }
    let why = format!("unable to negotiate protocol: client supports {asked:?}, server accepts [{PROTOCOL}]");
    Err(Status::bad_request(format!("unable to upgrade: {why}")))
}

/// The channels for which a client will open a stream, from the options.
pub(super) fn wanted(query: &Query) -> BTreeSet<u8> {
    // The kubelet API uses other names for the streams than the API server.
    let is_set = |names: [&str; 2]| names.iter().any(|name| matches!(query.text(name), "true" | "1"));
    let is_terminal = is_set(["tty", "tty"]);
    let channels = [
        (ERROR, true),
        (STDIN, is_set(["stdin", "input"])),
        (STDOUT, is_set(["stdout", "output"])),
        (STDERR, is_set(["stderr", "error"]) && !is_terminal),
        (RESIZE, is_terminal),
    ];
    channels.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(channel, _)| channel).collect()
}

/// Upgrades the client's connection to SPDY for the command.
pub(super) fn connect(connection: OnUpgrade, remote: Remote, wanted: BTreeSet<u8>) -> Response<Body> {
    tokio::spawn(async move {
        if let Ok(upgraded) = connection.await {
            let _ = pump(TokioIo::new(upgraded), remote, Session::new(wanted)).await;
        }
    });
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "SPDY/3.1")
        .header(PROTOCOL_HEADER, PROTOCOL);
    response.body(Body::empty()).expect("the headers are constants")
}

/// Copies frames in both directions until the command or the client ends.
async fn pump<C>(mut client: C, remote: Remote, mut session: Session) -> std::io::Result<()>
where
    C: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let Remote { to_node, mut from_node } = remote;
    let mut buffer = vec![0; 1 << 14];
    let mut pieces = Pieces::default();
    loop {
        // Output of the node is not read until the client has opened the streams.
        let next = if session.is_open() {
            match select(pin!(from_node.frame()), pin!(client.read(&mut buffer))).await {
                Either::Left((frame, _)) => Either::Left(frame),
                Either::Right((read, _)) => Either::Right(read?),
            }
        } else {
            Either::Right(timeout(PATIENCE, client.read(&mut buffer)).await.unwrap_or(Ok(0))?)
        };
        match next {
            Either::Left(Some(Ok(frame))) => {
                pieces.push(frame.data_ref().map_or(&[][..], |data| data));
                while let Ok(Some((channel, data))) = pieces.next_piece() {
                    session.say(channel, &data);
                }
            }
            Either::Left(_) => break,
            Either::Right(0) => return Ok(()),
            Either::Right(read) => {
                let said = session.hear(&buffer[..read]).map_err(std::io::Error::other)?;
                said.into_iter().for_each(|piece| drop(to_node.send(piece.into())));
            }
        }
        client.write_all(&session.take_output()).await?;
        if session.is_over() {
            return Ok(());
        }
    }
    session.end();
    client.write_all(&session.take_output()).await?;
    client.shutdown().await?;
    // Closing a socket with unread data resets the connection and can lose the last sent data.
    let gone = async { while client.read(&mut buffer).await.is_ok_and(|read| read > 0) {} };
    let _ = timeout(LAST_WORDS, gone).await;
    Ok(())
}
