//! A connection pool for one server, which grows with its requests.
//!
//! ```text
//! request --reserve--> the first Connection that has room --Reservation::send--> response, whose body keeps the room
//!             |  none has: wait for room, and                                      (until it ended or was dropped)
//!             \--dial----> another Connection (one at a time; over HTTP/1 one for each waiting request)
//! ```
//! An HTTP/2 connection takes as many concurrent requests as the server allows (`SETTINGS_MAX_CONCURRENT_STREAMS`:
//! 100 for a kube-apiserver, and each watch uses one as long as it lasts), an HTTP/1 connection one. A request is
//! retried only if the server certainly did not process it: it was never sent, was refused, or came after a GOAWAY.
//! In Kubernetes: `golang.org/x/net/http2` `Transport` (`clientConnPool`, `ReserveNewRequest`, `canRetryError`).

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Request, Response};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::{Body, BoxError, ResponseBody};
use connection::{Connection, Reservation, SendFailure};
use held_body::HeldBody;

pub(crate) use connection::{Io, Protocol};

mod connection;
mod held_body;
#[cfg(test)]
mod tests;

/// In Kubernetes: `net.Dialer.Timeout` of client-go's transport.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// In Kubernetes: `http.Transport.IdleConnTimeout`.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The maximum number of retries of an unprocessed request. In Kubernetes: `http2.Transport.RoundTripOpt`.
const MAX_RETRIES: u32 = 6;

/// A connection attempt.
pub(crate) type Dialing = Pin<Box<dyn Future<Output = Result<(Box<dyn Io>, Protocol), BoxError>> + Send>>;

/// The connections to one server; clones share them.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Pool>);

struct Pool {
    dial: Box<dyn Fn() -> Dialing + Send + Sync>,
    state: Mutex<State>,
    /// Notified when a connection may have room, and when an attempt failed.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    open: Vec<Arc<Connection>>,
    /// The protocol that the server used last.
    spoken: Option<Protocol>,
    attempts: Vec<Arc<Attempt>>,
    waiting: usize,
}

/// A connection attempt: in progress, or its result.
type Attempt = OnceLock<Result<(), DialError>>;

/// Why the connection attempt failed. All requests that waited for it get the same error.
#[derive(Clone, Debug)]
struct DialError(Arc<BoxError>);

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot connect")
    }
}

impl std::error::Error for DialError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&**self.0)
    }
}

impl Connections {
    /// An empty pool; `dial` opens connections.
    pub(crate) fn new(dial: impl Fn() -> Dialing + Send + Sync + 'static) -> Self {
        Self(Arc::new(Pool { dial: Box::new(dial), state: Mutex::default(), changed: Arc::default() }))
    }

    /// Sends a request with an absolute URI on a connection that has room for it.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<ResponseBody>, BoxError> {
        let mut retries = 0;
        loop {
            let reservation = self.reserve().await?;
            match reservation.send(request.clone()).await {
                Ok(response) => return Ok(response.map(|body| ResponseBody::new(HeldBody::new(body, reservation)))),
                Err(SendFailure { unprocessed: true, .. }) if retries < MAX_RETRIES => retries += 1,
                Err(failure) => return Err(failure.error),
            }
        }
    }

    async fn reserve(&self) -> Result<Reservation, BoxError> {
        let mut waiting = None;
        let mut awaited: Option<Arc<Attempt>> = None;
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            {
                let mut state = self.0.state.lock();
                if let Some(reservation) = state.reserve() {
                    return Ok(reservation);
                }
                if let Some(Err(error)) = awaited.as_ref().and_then(|attempt| attempt.get()) {
                    return Err(error.clone().into());
                }
                awaited = awaited.filter(|attempt| attempt.get().is_none());
                waiting.get_or_insert_with(|| {
                    state.waiting += 1;
                    Waiting(self)
                });
                if state.may_dial() {
                    awaited = Some(self.dial(&mut state));
                } else if awaited.is_none() {
                    awaited = state.attempts.last().cloned();
                }
            }
            changed.await;
        }
    }

    fn dial(&self, state: &mut State) -> Arc<Attempt> {
        let attempt = Arc::new(Attempt::new());
        state.attempts.push(attempt.clone());
        // A task of its own: the request that started it may be cancelled, and others wait for it too.
        tokio::spawn(self.clone().connect(attempt.clone()));
        attempt
    }

    async fn connect(self, attempt: Arc<Attempt>) {
        let pool = &self.0;
        let dialed = timeout(DIAL_TIMEOUT, async {
            let (io, protocol) = (pool.dial)().await?;
            let connection = Connection::open(io, protocol, pool.changed.clone()).await?;
            Ok::<_, BoxError>((Arc::new(connection), protocol))
        });
        let dialed = dialed.await.unwrap_or_else(|elapsed| Err(elapsed.into()));
        let mut state = pool.state.lock();
        state.attempts.retain(|other| !Arc::ptr_eq(other, &attempt));
        let outcome = dialed.map(|(connection, protocol)| {
            state.open.push(connection);
            state.spoken = Some(protocol);
        });
        let _ = attempt.set(outcome.map_err(|error| DialError(Arc::new(error))));
        drop(state);
        pool.changed.notify_waiters();
    }
}

impl State {
    /// Room on the first connection that has any, so that the last connections become idle when there are fewer
    /// requests.
    fn reserve(&mut self) -> Option<Reservation> {
        self.open.retain(|connection| !connection.is_closed() && !connection.is_idle_for(IDLE_TIMEOUT));
        self.open.iter().find_map(Connection::reserve)
    }

    fn may_dial(&self) -> bool {
        let unsaid = self.open.iter().any(|connection| connection.is_unsaid());
        may_dial(self.spoken, self.attempts.len(), self.waiting, unsaid)
    }
}

/// Whether to open another connection when none has room. `unsaid`: there is a connection whose server has not yet
/// sent its limit, which may suffice for all waiting requests.
fn may_dial(spoken: Option<Protocol>, dialing: usize, waiting: usize, unsaid: bool) -> bool {
    match spoken {
        Some(Protocol::Http1) => dialing < waiting,
        Some(Protocol::Http2) | None => dialing == 0 && !unsaid,
    }
}

/// A request without room.
struct Waiting<'a>(&'a Connections);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.0.state.lock().waiting -= 1;
    }
}
