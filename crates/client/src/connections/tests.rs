use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::io::DuplexStream;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::{Connections, Io, Protocol};
use crate::{BoxError, ResponseBody};

/// The body of an answer: its lines, until nobody holds the other end.
struct Lines(mpsc::UnboundedReceiver<Bytes>);

impl http_body::Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

/// A server on the other end of as many pipes as the client asks for. `/watch...` is answered with one line and more
/// when the test says so; all else with one.
struct Server {
    protocol: Protocol,
    /// What it allows on a connection.
    streams: u32,
    /// As many connections as the test lets come about.
    gate: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connections: Vec<Accepted>,
    /// On which connections a path was asked for.
    asked: BTreeMap<String, Vec<usize>>,
    watches: BTreeMap<String, mpsc::UnboundedSender<Bytes>>,
}

struct Accepted {
    goodbye: Arc<Notify>,
    task: AbortHandle,
}

impl Server {
    fn new(protocol: Protocol, streams: u32) -> Arc<Self> {
        Self::that_accepts(protocol, streams, Semaphore::MAX_PERMITS)
    }

    fn that_accepts(protocol: Protocol, streams: u32, connections: usize) -> Arc<Self> {
        Arc::new(Self { protocol, streams, gate: Semaphore::new(connections), state: Mutex::default() })
    }

    fn client(self: &Arc<Self>) -> Connections {
        let server = self.clone();
        Connections::new(move || {
            let server = server.clone();
            Box::pin(async move {
                server.gate.acquire().await?.forget();
                let (near, far) = tokio::io::duplex(1 << 16);
                server.accept(far);
                Ok((Box::new(TokioIo::new(near)) as Box<dyn Io>, server.protocol))
            })
        })
    }

    fn accept(self: &Arc<Self>, far: DuplexStream) {
        let goodbye = Arc::new(Notify::new());
        let mut state = self.state.lock();
        let index = state.connections.len();
        let task = tokio::spawn(self.clone().serve(index, far, goodbye.clone())).abort_handle();
        state.connections.push(Accepted { goodbye, task });
    }

    async fn serve(self: Arc<Self>, index: usize, far: DuplexStream, goodbye: Arc<Notify>) {
        let (server, io) = (self.clone(), TokioIo::new(far));
        let service = service_fn(move |request| {
            let answer = server.answer(index, &request);
            async move { Ok::<_, Infallible>(answer) }
        });
        if self.protocol == Protocol::Http1 {
            let _ = http1::Builder::new().serve_connection(io, service).await;
            return;
        }
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let mut connection = pin!(builder.max_concurrent_streams(self.streams).serve_connection(io, service));
        let mut goodbye = pin!(goodbye.notified());
        let mut said = false;
        let _ = std::future::poll_fn(|context| {
            if !said && goodbye.as_mut().poll(context).is_ready() {
                connection.as_mut().graceful_shutdown();
                said = true;
            }
            connection.as_mut().poll(context)
        })
        .await;
    }

    fn answer<B>(&self, index: usize, request: &Request<B>) -> Response<Lines> {
        let path = request.uri().path().to_owned();
        let (lines, body) = mpsc::unbounded_channel();
        lines.send(Bytes::from("a line\n")).unwrap();
        let mut state = self.state.lock();
        state.asked.entry(path.clone()).or_default().push(index);
        if path.starts_with("/watch") {
            state.watches.insert(path, lines);
        }
        Response::new(Lines(body))
    }

    fn opened(&self) -> usize {
        self.state.lock().connections.len()
    }

    fn say_goodbye(&self, index: usize) {
        self.state.lock().connections[index].goodbye.notify_one();
    }

    fn break_off(&self, index: usize) {
        self.state.lock().connections[index].task.abort();
    }

    fn say(&self, watch: &str) {
        self.state.lock().watches[watch].send(Bytes::from("another\n")).unwrap();
    }

    fn end(&self, watch: &str) {
        self.state.lock().watches.remove(watch).unwrap();
    }

    fn asked(&self, path: &str) -> Vec<usize> {
        self.state.lock().asked.get(path).cloned().unwrap_or_default()
    }
}

async fn send(client: &Connections, path: &str) -> Result<Response<ResponseBody>, BoxError> {
    let request = Request::get(format!("https://server{path}")).body(crate::Body::default()).unwrap();
    // In virtual time who waits for good is told so at once.
    timeout(Duration::from_secs(60), client.send(request)).await?
}

/// The whole answer.
async fn get(client: &Connections, path: &str) -> Bytes {
    let answer = send(client, path).await.unwrap_or_else(|error| panic!("{path}: {error:?}"));
    answer.into_body().collect().await.unwrap().to_bytes()
}

/// An answer that goes on, after its first line.
async fn watch(client: &Connections, path: &str) -> ResponseBody {
    let mut body = send(client, path).await.unwrap_or_else(|error| panic!("{path}: {error:?}")).into_body();
    assert_eq!(next(&mut body).await.unwrap(), "a line\n");
    body
}

/// The next line; none at the end, which hyper's server says with an empty frame.
async fn next(body: &mut ResponseBody) -> Option<Bytes> {
    loop {
        let frame = timeout(Duration::from_secs(60), body.frame()).await.expect("a line or an end")?;
        let line = frame.expect("no error").into_data().expect("a line");
        if !line.is_empty() {
            return Some(line);
        }
    }
}

async fn watches(client: &Connections, count: usize) -> Vec<ResponseBody> {
    let mut opening = JoinSet::new();
    for index in 0..count {
        let client = client.clone();
        opening.spawn(async move { watch(&client, &format!("/watch/{index}")).await });
    }
    opening.join_all().await
}

#[tokio::test(start_paused = true)]
async fn forty_watches_and_gets_work_with_a_limit_of_ten_streams() {
    let server = Server::new(Protocol::Http2, 10);
    let client = server.client();
    let open = watches(&client, 40).await;
    assert_eq!(server.opened(), 4, "as many connections as forty need, and no more");
    for index in 0..30 {
        assert_eq!(get(&client, &format!("/get/{index}")).await, "a line\n");
    }
    assert_eq!(server.opened(), 5);
    for index in 0..4 {
        let asked = server.state.lock().asked.values().filter(|asked| **asked == [index]).count();
        assert_eq!(asked, 10, "connection {index}: all that is allowed, none refused");
    }
    drop(open);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_or_was_dropped_makes_room() {
    let server = Server::new(Protocol::Http2, 2);
    let client = server.client();
    let mut open = watches(&client, 2).await;
    server.end("/watch/0");
    server.end("/watch/1");
    for body in &mut open {
        assert!(next(body).await.is_none());
    }
    let more = watches(&client, 2).await;
    assert_eq!(server.opened(), 1, "both ended");
    drop(more);
    let _more = watches(&client, 2).await;
    assert_eq!(server.opened(), 1, "both were dropped");
}

#[tokio::test(start_paused = true)]
async fn after_goaway_streams_continue_and_new_requests_use_another_connection_once() {
    let server = Server::new(Protocol::Http2, 100);
    let client = server.client();
    let mut body = watch(&client, "/watch").await;
    let mut asking = JoinSet::new();
    for index in 0..60 {
        if index == 30 {
            server.say_goodbye(0);
        }
        let client = client.clone();
        asking.spawn(async move { get(&client, &format!("/get/{index}")).await });
        // Some before, some while, some after the server says it.
        tokio::task::yield_now().await;
    }
    asking.join_all().await;
    for index in 0..60 {
        assert_eq!(server.asked(&format!("/get/{index}")).len(), 1, "/get/{index} was sent once");
    }
    assert_eq!(server.asked("/get/0"), [0]);
    assert_eq!(server.asked("/get/59"), [1]);
    assert_eq!(server.opened(), 2);
    server.say("/watch");
    assert_eq!(next(&mut body).await.unwrap(), "another\n");
    server.end("/watch");
    assert!(next(&mut body).await.is_none(), "it ends as the server ends it");
    assert_eq!(server.asked("/watch"), [0]);
}

#[tokio::test(start_paused = true)]
async fn while_a_second_connection_is_slow_to_open_the_first_serves_who_waits() {
    let server = Server::that_accepts(Protocol::Http2, 2, 1);
    let client = server.client();
    let mut open = watches(&client, 2).await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { get(&client, "/get/waiting").await }
    });
    sleep(Duration::from_secs(5)).await;
    assert!(server.asked("/get/waiting").is_empty(), "there is no room, and a connection in the making");
    open.pop();
    assert_eq!(waiting.await.unwrap(), "a line\n");
    for index in 0..20 {
        assert_eq!(get(&client, &format!("/get/{index}")).await, "a line\n");
    }
    assert_eq!(server.opened(), 1);
    server.gate.add_permits(1);
    let _more = watches(&client, 3).await;
    assert_eq!(server.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_broke_is_replaced() {
    let server = Server::new(Protocol::Http2, 10);
    let client = server.client();
    let mut body = watch(&client, "/watch").await;
    server.break_off(0);
    let broken = timeout(Duration::from_secs(60), body.frame()).await.expect("an end");
    assert!(broken.is_none_or(|frame| frame.is_err()));
    assert_eq!(get(&client, "/get").await, "a line\n");
    assert_eq!(server.asked("/get"), [1]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_replaced() {
    let server = Server::new(Protocol::Http2, 10);
    let client = server.client();
    get(&client, "/get/0").await;
    sleep(Duration::from_secs(89)).await;
    get(&client, "/get/1").await;
    assert_eq!(server.opened(), 1);
    sleep(Duration::from_secs(91)).await;
    get(&client, "/get/2").await;
    assert_eq!(server.asked("/get/2"), [1]);
}

#[tokio::test(start_paused = true)]
async fn over_http1_each_request_has_a_connection_and_leaves_it_to_the_next() {
    let server = Server::new(Protocol::Http1, 1);
    let client = server.client();
    let open = watches(&client, 3).await;
    assert_eq!(server.opened(), 3);
    for index in 0..10 {
        get(&client, &format!("/get/{index}")).await;
    }
    assert_eq!(server.opened(), 4, "one after the other on one connection");
    drop(open);
    get(&client, "/get").await;
    assert_eq!(server.opened(), 4, "an answer that was not read to its end leaves no connection to go on with");
}

#[tokio::test(start_paused = true)]
async fn every_waiting_request_gets_the_error_of_a_failed_connection() {
    let gate = Arc::new(Notify::new());
    let client = Connections::new({
        let gate = gate.clone();
        move || {
            let gate = gate.clone();
            Box::pin(async move {
                gate.notified().await;
                Err("the port is closed".into())
            })
        }
    });
    let mut asking = JoinSet::new();
    for _ in 0..3 {
        let client = client.clone();
        asking.spawn(async move { send(&client, "/get").await.map(drop).unwrap_err() });
    }
    sleep(Duration::from_secs(1)).await;
    gate.notify_one();
    for error in asking.join_all().await {
        assert_eq!(error.to_string(), "cannot connect");
        assert_eq!(error.source().unwrap().to_string(), "the port is closed");
    }
    let late = send(&client, "/get").await.map(drop).unwrap_err();
    assert_eq!(late.source().unwrap().to_string(), "deadline has elapsed", "tried again, and not for good");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out() {
    let silent: Arc<Mutex<Vec<DuplexStream>>> = Arc::default();
    let client = Connections::new({
        let silent = silent.clone();
        move || {
            let silent = silent.clone();
            Box::pin(async move {
                let (near, far) = tokio::io::duplex(1 << 16);
                silent.lock().push(far);
                Ok((Box::new(TokioIo::new(near)) as Box<dyn Io>, Protocol::Http2))
            })
        }
    });
    let error = send(&client, "/get").await.map(drop).unwrap_err();
    assert_eq!(error.to_string(), "the server said nothing on the connection");
    assert_eq!(silent.lock().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_all_of_many_requests_at_once_are_answered() {
    let server = Server::new(Protocol::Http2, 3);
    let client = server.client();
    let _open = watches(&client, 10).await;
    let mut asking = JoinSet::new();
    for index in 0..200 {
        let client = client.clone();
        asking.spawn(async move { get(&client, &format!("/get/{index}")).await });
    }
    asking.join_all().await;
    for index in 0..200 {
        assert_eq!(server.asked(&format!("/get/{index}")).len(), 1, "/get/{index} was sent once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_stream_was_refused_is_sent_again_and_one_that_was_reset_is_not() {
    let client = Connections::new(|| {
        Box::pin(async {
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(answer_the_second_time(far));
            Ok((Box::new(TokioIo::new(near)) as Box<dyn Io>, Protocol::Http2))
        })
    });
    assert_eq!(send(&client, "/refused").await.unwrap().status(), 200, "the second time");
    assert!(send(&client, "/reset").await.is_err(), "who knows what the server did");
    assert_eq!(send(&client, "/reset").await.unwrap().status(), 200, "what somebody else asks is another request");
}

/// Serves one connection: each path is answered the second time only.
async fn answer_the_second_time(far: DuplexStream) {
    let mut connection = h2::server::handshake(far).await.unwrap();
    let mut seen = Vec::new();
    while let Some(Ok((request, mut answer))) = connection.accept().await {
        let path = request.uri().path().to_owned();
        if seen.contains(&path) {
            answer.send_response(Response::new(()), true).unwrap();
            continue;
        }
        let refused = path == "/refused";
        answer.send_reset(if refused { h2::Reason::REFUSED_STREAM } else { h2::Reason::INTERNAL_ERROR });
        seen.push(path);
    }
}
