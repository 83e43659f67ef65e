//! Answers whose clients do not read them: what they hold is counted, and they end.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use coracle_apiserver::{Limits, PeerAddress};
use coracle_registry::User;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::{Service, ServiceExt};

use crate::server::{CONFIG_MAPS, Server, request};

/// A server with config maps of 300 KB each.
async fn with_large_config_maps(count: usize, unread_answer_bytes: usize) -> Server {
    let server = Server::with_limits(Limits { unread_answer_bytes, ..Limits::default() }).await;
    for number in 0..count {
        write(&server, &format!("m{number}")).await;
    }
    server
}

async fn write(server: &Server, name: &str) {
    let body = json!({"metadata": {"name": name}, "data": {"large": "x".repeat(300_000)}});
    assert_eq!(server.call(Method::POST, CONFIG_MAPS, &[], body).await.code, StatusCode::CREATED);
}

async fn ask(server: &Server, user: &str, target: &str) -> Response<Body> {
    let mut request = request(Method::GET, target, &[], Body::empty());
    request.extensions_mut().insert(User::new(user, ["devs"]));
    server.open(over_socket(request)).await
}

/// A request that came over a socket.
fn over_socket<B>(mut request: Request<B>) -> Request<B> {
    request.extensions_mut().insert(PeerAddress([127, 0, 0, 1].into()));
    request
}

/// The server as it is behind a socket.
fn behind_socket(
    server: &Server,
) -> impl Service<Request<hyper::body::Incoming>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + use<>
{
    server.router().map_request(|request: Request<hyper::body::Incoming>| over_socket(request).map(Body::new))
}

/// Reads one frame, and nothing behind it.
async fn read_on(answer: &mut Response<Body>) -> Option<Result<usize, axum::Error>> {
    let frame = answer.body_mut().frame().await?;
    Some(frame.map(|frame| frame.into_data().unwrap().len()))
}

/// Lets time go by, and has others ask meanwhile.
async fn wait(server: &Server, seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert_eq!(ask(server, "dave", "/version").await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_read_breaks_off_and_one_that_is_read_slowly_does_not() {
    let server = with_large_config_maps(10, usize::MAX).await;
    let mut slow = ask(&server, "carol", CONFIG_MAPS).await;
    let mut stuck = ask(&server, "carol", CONFIG_MAPS).await;
    let mut read = read_on(&mut slow).await.unwrap().unwrap();
    assert!(read_on(&mut stuck).await.unwrap().is_ok());
    for _ in 0..3 {
        wait(&server, 40).await;
        read += read_on(&mut slow).await.unwrap().unwrap();
    }
    let error = read_on(&mut stuck).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("did not read the answer in time"), "{error}");
    let rest = slow.into_body().collect().await.unwrap().to_bytes();
    assert!(read + rest.len() > 3_000_000 && rest.ends_with(b"]}\n"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_not_read_ends_and_one_that_has_no_events_stays() {
    let server = with_large_config_maps(1, usize::MAX).await;
    let watch = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=600");
    let (mut idle, mut stuck) = (ask(&server, "carol", &watch).await, ask(&server, "carol", &watch).await);
    for watch in [&mut idle, &mut stuck] {
        assert!(read_on(watch).await.unwrap().unwrap() > 300_000);
    }
    assert!(futures_util::poll!(std::pin::pin!(idle.body_mut().frame())).is_pending());
    wait(&server, 61).await;
    write(&server, "later").await;
    assert!(read_on(&mut idle).await.unwrap().unwrap() > 300_000);
    assert!(read_on(&mut stuck).await.is_none(), "as when its time is over");
}

#[tokio::test(start_paused = true)]
async fn a_reader_in_the_same_process_has_all_the_time_it_wants() {
    let server = with_large_config_maps(10, 1_000_000).await;
    let mut slow = server.open(request(Method::GET, CONFIG_MAPS, &[], Body::empty())).await;
    let read = read_on(&mut slow).await.unwrap().unwrap();
    wait(&server, 3600).await;
    assert!(read + slow.into_body().collect().await.unwrap().to_bytes().len() > 3_000_000);
}

#[tokio::test(start_paused = true)]
async fn unread_responses_of_a_user_are_limited_and_others_are_served() {
    let server = with_large_config_maps(2, 4_000_000).await;
    let one = format!("{CONFIG_MAPS}/m0");
    let watch = format!("{CONFIG_MAPS}?watch=1");
    for target in [one.as_str(), CONFIG_MAPS, &watch] {
        let mut unread = Vec::new();
        let refused = loop {
            let mut answer = ask(&server, "carol", target).await;
            if answer.status() != StatusCode::OK {
                break answer;
            }
            // What was given and not sent is held as well.
            let given = answer.body_mut().frame().await.unwrap().unwrap();
            unread.push((answer, given));
            assert!(unread.len() < 20, "{target}");
        };
        assert_eq!(
            (refused.status(), &refused.headers()["retry-after"]),
            (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap())
        );
        assert_eq!(ask(&server, "bob", target).await.status(), StatusCode::OK);
        unread.truncate(1);
        assert_eq!(ask(&server, "carol", target).await.status(), StatusCode::OK, "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_that_hold_all_that_a_user_may_are_cut_after_ten_seconds() {
    let server = with_large_config_maps(2, 4_000_000).await;
    let mut unread = Vec::new();
    loop {
        let mut answer = ask(&server, "carol", CONFIG_MAPS).await;
        if answer.status() != StatusCode::OK {
            break;
        }
        drop(read_on(&mut answer).await);
        unread.push(answer);
    }
    wait(&server, 11).await;
    assert_eq!(ask(&server, "carol", CONFIG_MAPS).await.status(), StatusCode::OK);
    assert!(read_on(&mut unread[0]).await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_waits_in_a_connection_is_cut_and_has_no_end() {
    let server = with_large_config_maps(10, 40_000_000).await;
    let (mut client, connection) = tokio::io::duplex(1 << 16);
    let service = behind_socket(&server);
    tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), TowerToHyperService::new(service)));
    let head = format!("GET {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann's\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let mut beginning = [0; 12];
    client.read_exact(&mut beginning).await.unwrap();
    assert_eq!(&beginning, b"HTTP/1.1 200");
    wait(&server, 61).await;
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() < 2_000_000 && !rest.ends_with(b"0\r\n\r\n"), "{} bytes", rest.len());
}

#[tokio::test(start_paused = true)]
async fn streams_of_one_connection_that_are_not_read_are_bounded() {
    let server = with_large_config_maps(10, 4_000_000).await;
    let (client, connection) = tokio::io::duplex(1 << 16);
    let service = TowerToHyperService::new(behind_socket(&server));
    tokio::spawn(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(connection), service));
    let (mut client, driver) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(1)
        .handshake::<_, Body>(TokioIo::new(client))
        .await
        .unwrap();
    tokio::spawn(driver);
    let mut unread = Vec::new();
    let refused: Value = loop {
        client.ready().await.unwrap();
        let answer = client.send_request(request(Method::GET, CONFIG_MAPS, &[], Body::empty())).await.unwrap();
        if answer.status() != StatusCode::OK {
            break answer.status().as_u16().into();
        }
        unread.push(answer);
        assert!(unread.len() < 20);
    };
    assert_eq!(refused, json!(429));
    assert_eq!(ask(&server, "bob", CONFIG_MAPS).await.status(), StatusCode::OK);
    drop((unread, client));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(ask(&server, "ann", CONFIG_MAPS).await.status(), StatusCode::OK, "who hangs up holds nothing");
}
