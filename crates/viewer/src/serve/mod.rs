//! An HTTP server for pages: of a completed run, of a running cluster, or of a [`PageHandler`] with several pages.
//!
//! ```text
//! GET /SECRET/         viewer.html, with a run in it or with a note that events follow
//! GET /SECRET/events   server-sent events: `hello`, then entries as lines of an events file, after the Last-Event-ID
//! anything else        404, or 405 for a method other than GET
//! without the secret   403, without a body
//! ```

mod follow;
mod guard;
mod page_handler;

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
pub use page_handler::{PageAnswer, PageHandler, PageRequest, serve_pages};

use crate::html;
use crate::read::OtherContent;
use crate::serve::follow::Followed;
use crate::serve::guard::Guard;

/// How long a browser may take to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many connections are served concurrently.
const MOST: usize = 64;
/// How long to wait when no connection can be accepted, for example without free file descriptors.
const PAUSE: Duration = Duration::from_millis(10);

/// A page to be served.
#[derive(Clone)]
pub struct ServedPage {
    page: String,
    live: Option<Followed>,
}

impl fmt::Debug for ServedPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedPage").field("live", &self.live).finish_non_exhaustive()
    }
}

impl ServedPage {
    /// The page of a completed run; `cut` says where its file was truncated.
    pub fn of_run(events: &Events, cut: Option<&str>) -> Self {
        Self { page: html::render(events, cut), live: None }
    }

    /// A page with the content of a page that was read: two runs, or a lesson.
    pub fn of_page(content: &OtherContent) -> Self {
        Self { page: html::render_again(&content.packed), live: None }
    }

    /// The page of a running cluster that records into `recorder`. Entries up to `begins` are the start of the cluster,
    /// and are folded.
    ///
    /// # Panics
    /// If the recorder keeps no entries.
    pub fn of_cluster(recorder: Recorder, header: Header, begins: EntryId) -> Self {
        assert!(recorder.capacity() > 0, "a log that keeps nothing cannot be followed");
        Self { page: html::live(), live: Some(Followed::new(recorder, header, begins)) }
    }

    /// Serves clients that have the secret and use the listener's own address, until the future is dropped.
    ///
    /// The log is read only as fast as a browser receives it, so that a slow browser uses no memory. Such a browser
    /// finds that the ring has evicted entries that it did not receive.
    /// has forgotten some of what it did not take.
    ///
    /// # Errors
    /// If the address of the listener cannot be determined.
    pub async fn serve(self, listener: TcpListener, secret: Secret) -> std::io::Result<Infallible> {
        let guard = Guard { secret, address: listener.local_addr()? };
        let door = Arc::new((self, guard));
        let answer = move |request: Request| {
            let door = Arc::clone(&door);
            async move { answer(&door.0, &door.1, &request) }
        };
        Ok(accept(listener, Router::new().fallback(answer)).await)
    }
}

/// Serves each connection until the future is dropped.
async fn accept(listener: TcpListener, router: Router) -> Infallible {
    let mut browsers = JoinSet::new();
    loop {
        while browsers.len() >= MOST {
            browsers.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Small messages are sent immediately.
        let _ = stream.set_nodelay(true);
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
        let served = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        browsers.spawn(async move { drop(served.await) });
    }
}

fn answer(site: &ServedPage, guard: &Guard, request: &Request) -> Response {
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

/// Headers that keep the page private to the browser that requested it.
fn kept_to_itself() -> [(HeaderName, HeaderValue); 5] {
    [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ]
}
