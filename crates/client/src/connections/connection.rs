use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::header::HOST;
use http::uri::{PathAndQuery, Uri};
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::rt::{Read, Write};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::{Body, BoxError};

/// A connection without data for this long is checked with a ping. In Kubernetes: `HTTP2_READ_IDLE_TIMEOUT_SECONDS`
/// and `HTTP2_PING_TIMEOUT_SECONDS`.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// A server that accepts a connection but sends nothing for this long is considered unreachable.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(30);

/// The stream below HTTP: TLS, TCP, or a pipe.
pub(crate) trait Io: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Io for T {}

/// The negotiated protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// How many concurrent requests a server allows on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowance {
    /// Not known yet. One request may wait on the connection: it is sent when the server has sent its settings.
    Unsaid,
    Streams(usize),
}

impl Allowance {
    fn has_room(self, in_use: usize) -> bool {
        match self {
            Self::Unsaid => in_use == 0,
            Self::Streams(allowed) => in_use < allowed,
        }
    }
}

/// An open connection.
pub(crate) struct Connection {
    sender: Sender,
    usage: Mutex<Usage>,
    changed: Arc<Notify>,
}

enum Sender {
    Http1(Mutex<http1::SendRequest<Body>>),
    Http2(http2::SendRequest<Body>, Arc<Peer>),
}

struct Usage {
    /// Requests in progress, each until its response has ended.
    in_use: usize,
    idle_since: Instant,
}

impl Connection {
    /// Starts to speak `protocol`. Notifies `changed` when a connection allows more requests than before, or ended.
    pub(crate) async fn open(io: Box<dyn Io>, protocol: Protocol, changed: Arc<Notify>) -> Result<Self, hyper::Error> {
        let sender = match protocol {
            Protocol::Http1 => {
                let (mut sender, connection) = http1::handshake(io).await?;
                tokio::spawn(drive(connection, changed.clone()));
                sender.ready().await?;
                Sender::Http1(Mutex::new(sender))
            }
            Protocol::Http2 => {
                let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .keep_alive_interval(PING_INTERVAL)
                    .keep_alive_timeout(PING_TIMEOUT)
                    // Zero until the server has sent its limit: it would refuse requests beyond it.
                    .initial_max_send_streams(0)
                    .handshake(io)
                    .await?;
                let peer =
                    Arc::new(Peer { state: Mutex::new(PeerState { connection: Some(connection), heard: false }) });
                tokio::spawn(peer.clone().drive(changed.clone()));
                Sender::Http2(sender, peer)
            }
        };
        Ok(Self { sender, usage: Mutex::new(Usage { in_use: 0, idle_since: Instant::now() }), changed })
    }

    /// Whether it accepts no more requests. One that the server is about to close may accept a request and hand it
    /// back.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.lock().is_closed(),
            Sender::Http2(sender, _) => sender.is_closed(),
        }
    }

    /// Whether it was unused for `time`.
    pub(crate) fn is_idle_for(&self, time: Duration) -> bool {
        let usage = self.usage.lock();
        usage.in_use == 0 && usage.idle_since.elapsed() >= time
    }

    /// Whether the server has not yet sent its limit.
    pub(crate) fn is_unsaid(&self) -> bool {
        self.allowance() == Allowance::Unsaid
    }

    fn allowance(&self) -> Allowance {
        match &self.sender {
            // A connection is ready when its last response has been read completely.
            Sender::Http1(sender) => Allowance::Streams(usize::from(sender.lock().is_ready())),
            Sender::Http2(_, peer) => peer.allowance(),
        }
    }

    /// Reserves room for one request, if there is any.
    pub(crate) fn reserve(self: &Arc<Self>) -> Option<Reservation> {
        let mut usage = self.usage.lock();
        self.allowance().has_room(usage.in_use).then(|| {
            usage.in_use += 1;
            Reservation { connection: self.clone() }
        })
    }
}

async fn drive(mut connection: http1::Connection<Box<dyn Io>, Body>, changed: Arc<Notify>) {
    let ended = std::future::poll_fn(|context| {
        let polled = Pin::new(&mut connection).poll(context);
        // It may have become ready for the next request, and no other event reports that.
        changed.notify_waiters();
        polled
    });
    // The request that waits for a response gets the error.
    let _ = ended.await;
    drop(connection);
    changed.notify_waiters();
}

/// The peer's side of an HTTP/2 connection. Only the connection itself knows the current limit.
struct Peer {
    state: Mutex<PeerState>,
}

struct PeerState {
    connection: Option<http2::Connection<Box<dyn Io>, Body, TokioExecutor>>,
    heard: bool,
}

impl Peer {
    fn allowance(&self) -> Allowance {
        let state = self.state.lock();
        let streams = state.connection.as_ref().map_or(0, http2::Connection::current_max_send_streams);
        // Only `drive` sets it, and then notifies all waiting requests.
        if state.heard || streams > 0 { Allowance::Streams(streams) } else { Allowance::Unsaid }
    }

    async fn drive(self: Arc<Self>, changed: Arc<Notify>) {
        let mut late = std::pin::pin!(sleep(SETTINGS_TIMEOUT));
        std::future::poll_fn(|context| {
            let mut state = self.state.lock();
            let state = &mut *state;
            let Some(connection) = &mut state.connection else { return Poll::Ready(()) };
            let ended = Pin::new(&mut *connection).poll(context).is_ready();
            let heard = connection.current_max_send_streams() > 0;
            if heard && !state.heard {
                state.heard = true;
                changed.notify_waiters();
            }
            if ended || (!state.heard && late.as_mut().poll(context).is_ready()) {
                state.connection = None;
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        changed.notify_waiters();
    }
}

/// Room for one request on a connection, until it is dropped.
pub(crate) struct Reservation {
    connection: Arc<Connection>,
}

/// Why there is no response.
pub(crate) struct SendFailure {
    pub(crate) error: BoxError,
    /// Whether the server certainly did not process the request, so that it may be retried.
    pub(crate) unprocessed: bool,
}

impl Reservation {
    /// Sends a request with an absolute URI.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, SendFailure> {
        let answer = match &self.connection.sender {
            Sender::Http1(sender) => {
                let sending = sender.lock().try_send_request(with_host(request));
                sending.await
            }
            Sender::Http2(sender, _) => sender.clone().try_send_request(request).await,
        };
        // Nothing was sent before the server's settings; the error of the connection is then the best explanation.
        answer.map_err(|error| {
            if self.connection.is_unsaid() {
                SendFailure { error: "the server said nothing on the connection".into(), unprocessed: false }
            } else {
                SendFailure::of(error)
            }
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut usage = self.connection.usage.lock();
        usage.in_use -= 1;
        usage.idle_since = Instant::now();
        drop(usage);
        self.connection.changed.notify_waiters();
    }
}

impl SendFailure {
    fn of(error: TrySendError<Request<Body>>) -> Self {
        let unsent = error.message().is_some();
        let error = error.into_error();
        Self { unprocessed: unsent || is_disclaimed(&error), error: error.into() }
    }
}

/// Whether the server states that it did not process the request: it refused the stream, or sent a GOAWAY with an
/// earlier stream as the last one it processes (RFC 9113, 8.7). In Kubernetes: `http2.canRetryError`.
fn is_disclaimed(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<h2::Error>());
    cause.is_some_and(|cause| {
        cause.is_remote() && (cause.is_go_away() || cause.reason() == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// The request in HTTP/1.1 form: the host in a header, the path in the request line.
fn with_host(mut request: Request<Body>) -> Request<Body> {
    let host = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_not_spoken_is_given_one_request_and_then_what_it_allows() {
        assert!(Allowance::Unsaid.has_room(0));
        assert!(!Allowance::Unsaid.has_room(1));
        assert!(Allowance::Streams(10).has_room(9));
        assert!(!Allowance::Streams(10).has_room(10));
        assert!(!Allowance::Streams(0).has_room(0));
    }

    #[test]
    fn over_http1_the_host_is_a_header_and_the_path_stands_alone() {
        let request = Request::get("https://host:6443/api?watch=true").body(Body::default()).unwrap();
        let request = with_host(request);
        assert_eq!(request.headers()[HOST], "host:6443");
        assert_eq!(request.uri(), "/api?watch=true");
    }
}
