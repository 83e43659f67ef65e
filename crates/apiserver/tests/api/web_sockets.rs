use axum::body::Body;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

use crate::server::{CONFIG_MAPS, Server};

/// The frames of a connection after its head: what kind they are of, and what is in them.
fn frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [first, length, rest @ ..] = bytes {
        let (length, rest) = match *length {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            length => (usize::from(length), rest),
        };
        let (content, rest) = rest.split_at(length);
        frames.push((first & 15, content.to_vec()));
        bytes = rest;
    }
    frames
}

#[tokio::test(start_paused = true)]
async fn a_watch_over_a_web_socket_sends_a_message_an_event_and_closes_when_it_is_over() {
    let server = Server::start().await;
    for name in ["a", "b"] {
        server.create_config_map(name).await;
    }
    let (mut client, connection) = tokio::io::duplex(1 << 16);
    let service = server.router().map_request(|request: http::Request<hyper::body::Incoming>| request.map(Body::new));
    let served = http1::Builder::new().serve_connection(TokioIo::new(connection), TowerToHyperService::new(service));
    tokio::spawn(async move { served.with_upgrades().await });
    let head = format!(
        "GET {CONFIG_MAPS}?watch=1&timeoutSeconds=3 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann's\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
    let frames = frames(&received[end..]);
    let (text, close) = (1, 8);
    assert_eq!(frames.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [text, text, close]);
    let event: Value = serde_json::from_slice(&frames[1].1).unwrap();
    assert_eq!((event["type"].as_str(), event["object"]["metadata"]["name"].as_str()), (Some("ADDED"), Some("b")));
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_connection_to_upgrade_the_watch_is_a_stream() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let target = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let answer = server.send(crate::server::request(http::Method::GET, &target, &headers, Body::empty())).await;
    assert_eq!(answer.code, http::StatusCode::OK);
    assert!(answer.body.starts_with(b"{\"type\":\"ADDED\""));
}
