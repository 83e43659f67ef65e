//! The page behind a socket: of a run that is over, or of a cluster that runs, entry by entry.
//!
//! ```text
//! GET /SECRET/         viewer.html, with a run in it or with the word that there are events
//! GET /SECRET/events   server-sent events: `hello`, then entries as lines of an events file, after the Last-Event-ID
//! anything else        404, or 405 for another method than GET
//! by anybody else      403, and nothing said
//! ```

mod follow;
mod guard;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use coracle_journal::{EntryId, Events, Header, Recorder};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use guard::Secret;

use crate::html;
use crate::read::Beside;
use crate::serve::follow::Followed;
use crate::serve::guard::Guard;

/// How long a browser may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many connections there are at once.
const MOST: usize = 64;
/// How long to wait when the system gives no connection: out of file descriptors, say.
const PAUSE: Duration = Duration::from_millis(10);

/// A page to be served.
#[derive(Clone)]
pub struct Site {
    page: String,
    live: Option<Followed>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("live", &self.live).finish_non_exhaustive()
    }
}

impl Site {
    /// The page of a run that is over; `cut` says where its file ends too early.
    pub fn of_run(events: &Events, cut: Option<&str>) -> Self {
        Self { page: html::render(events, cut), live: None }
    }

    /// The page of all that a page holds which was read: two runs, or a lesson.
    pub fn of_page(beside: &Beside) -> Self {
        Self { page: html::render_again(&beside.packed), live: None }
    }

    /// The page of a cluster that runs and records into `recorder`. What was recorded up to `begins` is what the cluster started with,
    /// and is folded away.
    ///
    /// # Panics
    /// If the recorder keeps nothing.
    pub fn of_cluster(recorder: Recorder, header: Header, begins: EntryId) -> Self {
        assert!(recorder.capacity() > 0, "a log that keeps nothing cannot be followed");
        Self { page: html::live(), live: Some(Followed::new(recorder, header, begins)) }
    }

    /// Serves who shows the secret, and asks at the listener's own address, until it is dropped.
    ///
    /// The log is read as fast as a browser takes it, so that one that is slow, or asleep, holds no memory; it finds then that the ring
    /// has forgotten some of what it did not take.
    ///
    /// # Errors
    /// If the system does not know where the listener listens.
    pub async fn serve(self, listener: TcpListener, secret: Secret) -> std::io::Result<Infallible> {
        let guard = Guard { secret, address: listener.local_addr()? };
        let door = Arc::new((self, guard));
        let answer = move |request: Request| {
            let door = Arc::clone(&door);
            async move { answer(&door.0, &door.1, &request) }
        };
        let router = Router::new().fallback(answer);
        let mut browsers = JoinSet::new();
        loop {
            while browsers.len() >= MOST {
                browsers.join_next().await;
            }
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // What is small and due now is not held back to be sent with what comes later.
            let _ = stream.set_nodelay(true);
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
            let served = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
            browsers.spawn(async move { drop(served.await) });
        }
    }
}

fn answer(site: &Site, guard: &Guard, request: &Request) -> Response {
    let Some(path) = guard.admitted(request.uri(), request.headers()) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let mut response = match (request.method(), path, &site.live) {
        (&Method::GET, "", _) => page(&site.page),
        (&Method::GET, "events", Some(live)) => events(live, request.headers()),
        (&Method::GET, ..) => StatusCode::NOT_FOUND.into_response(),
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    };
    response.headers_mut().extend(kept_to_itself());
    response
}

fn page(text: &str) -> Response {
    let mut response = text.to_owned().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = format!("{}; frame-ancestors 'none'", html::policy(text));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.parse().expect("a policy is visible ASCII"));
    response
}

fn events(live: &Followed, headers: &HeaderMap) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let mut response = live.clone().stream(EntryId(last.unwrap_or(0))).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// What keeps a page to the browser that asked for it.
fn kept_to_itself() -> [(HeaderName, HeaderValue); 5] {
    [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ]
}
