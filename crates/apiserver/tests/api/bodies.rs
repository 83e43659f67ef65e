//! Bodies that do not arrive take no place, large bodies do not delay other requests, and unread bodies are discarded.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use bytes::Bytes;
use coracle_apiserver::{Body, Limits};
use coracle_meta::Status;
use coracle_registry::{ExpressionPool, User};
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, stream};
use http::{Method, StatusCode};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use crate::server::{Answer, CONFIG_MAPS, Server, request};

/// A body of which `text` comes, and the rest when `rest` says so.
fn coming(text: &'static str, rest: &Arc<Notify>) -> Body {
    let rest = Arc::clone(rest);
    let last = async move {
        rest.notified().await;
        Ok(Bytes::from_static(b"}"))
    };
    Body::from_stream(
        stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(text.as_bytes()))]).chain(last.into_stream()),
    )
}

async fn post(server: &Server, user: &str, body: Body) -> Answer {
    let mut request = request(Method::POST, CONFIG_MAPS, &[], body);
    request.extensions_mut().insert(User::new(user, ["devs"]));
    server.send(request).await
}

fn config_map(name: &str) -> Body {
    Body::from(json!({"metadata": {"name": name}}).to_string())
}

fn mutating(metrics: &Answer) -> String {
    let text = String::from_utf8(metrics.body.clone()).unwrap();
    let name = "apiserver_current_inflight_requests{request_kind=\"mutating\"} ";
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_body_takes_no_place_in_flight_and_times_out() {
    let server = Server::with_limits(Limits { writes: 2, ..Limits::default() }).await;
    let never = Arc::new(Notify::new());
    let began = tokio::time::Instant::now();
    let mut hung = pin!(join_all((0..500).map(|_| post(&server, "carol", coming("{", &never)))));
    assert!(futures_util::poll!(&mut hung).is_pending());
    for user in ["bob", "carol"] {
        assert_eq!(post(&server, user, config_map(user)).await.code, StatusCode::CREATED);
    }
    assert_eq!(mutating(&server.get("/metrics").await), "0");
    assert_eq!(began.elapsed().as_secs(), 0);
    let answers = hung.await;
    assert_eq!(began.elapsed().as_secs(), 34);
    assert!(answers.iter().all(|answer| answer.code == StatusCode::GATEWAY_TIMEOUT));
    assert_eq!(answers[0].json()["reason"], "Timeout");
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_on_their_way_are_bounded_in_bytes_for_each_user_and_given_back() {
    let server = Server::with_limits(Limits { unread_body_bytes: 100_000, ..Limits::default() }).await;
    let rest = Arc::new(Notify::new());
    let mut hung =
        pin!(join_all((0..3).map(|_| post(&server, "carol", coming(r#"{"metadata": {"generateName": "a"}"#, &rest)))));
    assert!(futures_util::poll!(&mut hung).is_pending());
    let refused = post(&server, "carol", config_map("one-more")).await;
    assert_eq!((refused.code, refused.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "1"));
    assert_eq!(refused.json()["reason"], "TooManyRequests");
    assert_eq!(post(&server, "bob", config_map("bob")).await.code, StatusCode::CREATED);
    (0..3).for_each(|_| rest.notify_one());
    assert!(hung.await.iter().all(|answer| answer.code == StatusCode::CREATED));
    assert_eq!(post(&server, "carol", config_map("later")).await.code, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn a_body_without_an_end_is_refused_at_the_limit() {
    let server = Server::with_limits(Limits { body_bytes: 10_000, ..Limits::default() }).await;
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"          ")));
    let answer = post(&server, "carol", Body::from_stream(endless)).await;
    assert_eq!(answer.code, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.json()["message"], "Request entity too large: limit is 10000");
}

/// Does nothing that it is given.
struct Never;

#[async_trait]
impl ExpressionPool for Never {
    async fn run(&self, _work: Box<dyn FnOnce() + Send>) -> Result<(), Status> {
        std::future::pending().await
    }
}

/// Another thread.
struct Thread;

#[async_trait]
impl ExpressionPool for Thread {
    async fn run(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), Status> {
        #[expect(clippy::disallowed_methods, reason = "the test waits for the thread, so that its clock stands")]
        std::thread::spawn(work).join().unwrap();
        Ok(())
    }
}

fn heavy(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"large": "x".repeat(300_000)}})
}

#[tokio::test(start_paused = true)]
async fn a_get_is_served_while_large_bodies_are_processed() {
    let server = Server::with_expression_pool(Arc::new(Never)).await;
    server.create_config_map("a").await;
    let bodies = (0..16).map(|number| Body::from(heavy(&format!("heavy-{number}")).to_string()));
    let mut heavy = pin!(join_all(bodies.map(|body| post(&server, "carol", body))));
    let target = format!("{CONFIG_MAPS}/a");
    let mut get = pin!(server.get(&target));
    let mut turns = 0;
    let answer = std::future::poll_fn(|context| {
        turns += 1;
        assert!(heavy.poll_unpin(context).is_pending(), "a large body was worked on here");
        match get.poll_unpin(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    assert_eq!(answer.code, StatusCode::OK);
    assert!(turns <= 10, "{turns} turns");
}

/// All manners of writing a large object.
async fn write_heavy(server: &Server) -> Vec<(u16, Vec<u8>)> {
    let one = format!("{CONFIG_MAPS}/heavy");
    let mut wrong = heavy("Heavy");
    wrong["dat"] = json!(1);
    let mut answers = Vec::new();
    for (method, target, media_type, body) in [
        (Method::POST, CONFIG_MAPS, "application/json", heavy("heavy")),
        (Method::POST, CONFIG_MAPS, "application/json", wrong),
        (Method::PUT, &one, "application/json", heavy("heavy")),
        (Method::PATCH, &one, "application/merge-patch+json", json!({"data": {"more": "y".repeat(200_000)}})),
        (Method::PATCH, &one, "application/strategic-merge-patch+json", json!({"data": {"more": "z".repeat(200_000)}})),
        (Method::PATCH, &format!("{one}?fieldManager=me&force=true"), "application/apply-patch+yaml", heavy("heavy")),
    ] {
        let answer = server.call(method, target, &[("content-type", media_type)], body).await;
        answers.push((answer.code.as_u16(), answer.body));
    }
    let yaml = server.send(request(Method::GET, &one, &[("accept", "application/yaml")], Body::empty())).await;
    answers.push((yaml.code.as_u16(), yaml.body));
    answers
}

#[tokio::test(start_paused = true)]
async fn large_bodies_have_the_same_response_in_the_pool() {
    let here = write_heavy(&Server::start().await).await;
    let server = Server::with_expression_pool(Arc::new(Thread)).await;
    let elsewhere = write_heavy(&server).await;
    assert_eq!(here.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [201, 422, 200, 200, 200, 200, 200]);
    assert!(here == elsewhere, "the answers differ");
}

/// Sends a POST of `length` bytes that needs rights, and returns all that the server answers.
async fn refused(length: usize, then: &str) -> String {
    let server = Server::start().await;
    let (mut client, connection) = tokio::io::duplex(1 << 16);
    let service = TowerToHyperService::new(server.router());
    tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
    let head =
        format!("POST /api/v1/namespaces/default/secrets HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    let request = [head.as_bytes(), &vec![b'{'; length], then.as_bytes()].concat();
    // A server that closes the connection breaks the rest of the request off.
    let _ = client.write_all(&request).await;
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_refused_body_of_256_kib_is_read_so_that_the_connection_stays_and_a_longer_one_is_not() {
    let next = "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let codes = |answer: &str| -> Vec<String> {
        answer.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].to_owned()).collect()
    };
    assert_eq!(codes(&refused(256 << 10, next).await), ["403", "200"]);
    assert_eq!(codes(&refused((256 << 10) + 1, next).await), ["403"]);
}
