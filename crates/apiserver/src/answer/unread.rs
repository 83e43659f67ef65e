use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::Status;
use coracle_registry::User;
use http::Response;
use http_body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::budget::{Budget, Held};
use crate::limits::fairness::too_many_requests;

/// How long a response waits for its client to continue reading. In Kubernetes: the timeout of the request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How long a response waits if the user has no room for another response.
const SHORT_PATIENCE: Duration = Duration::from_secs(10);
/// How often stalled responses are checked.
const INTERVAL: Duration = Duration::from_secs(5);
/// A complete response up to this size is not counted: a request uses as much memory.
const SMALL: u64 = 16 * 1024;
/// The memory of a watch whose client does not read, in addition to its frames: a batch of events.
const WATCH: usize = 256 * 1024;
/// The divisor of the budget for the maximum that one list counts. Most of its objects are shared with the cache.
const PARTS: usize = 16;

/// A response that is written while the client reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Streamed {
    /// A list with objects of this number of bytes. It is aborted if its client does not read it.
    List(usize),
    /// A watch. It ends if its client does not read it, as after its timeout.
    Watch,
}

/// The responses that clients have not read completely. Their memory is limited for each user and in total.
#[derive(Debug)]
pub(crate) struct Unread {
    budget: Budget,
    most_of_list: usize,
    answers: Mutex<Answers>,
}

#[derive(Debug)]
struct Answers {
    open: Vec<Weak<Mutex<Answer>>>,
    /// When the responses were last checked.
    looked: Option<Instant>,
}

impl Unread {
    pub(crate) fn new(most: usize) -> Self {
        let answers = Mutex::new(Answers { open: Vec::new(), looked: None });
        Self { budget: Budget::new(most), most_of_list: most / PARTS, answers }
    }

    /// Admits a request.
    ///
    /// # Errors
    /// 429 if its user has too many unread bytes.
    pub(crate) fn admit(&self, user: &User) -> Result<(), Status> {
        let now = Instant::now();
        let is_due = self.answers.lock().looked.is_none_or(|looked| now.duration_since(looked) >= INTERVAL);
        if is_due {
            self.cut(now, PATIENCE);
        }
        let account = self.budget.account(user);
        if !account.is_over() {
            return Ok(());
        }
        self.cut(now, SHORT_PATIENCE);
        if account.is_over() { Err(too_many_requests()) } else { Ok(()) }
    }

    /// Counts the memory of a response until it is read.
    pub(crate) fn count(&self, mut response: Response<Body>, user: &User) -> Response<Body> {
        let streamed = response.extensions_mut().remove::<Streamed>();
        let whole = response.body().size_hint().exact().filter(|size| *size > SMALL);
        let bytes = match (streamed, whole) {
            (Some(Streamed::List(bytes)), _) => bytes.min(self.most_of_list),
            (Some(Streamed::Watch), _) => 0,
            (None, Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
            (None, None) => return response,
        };
        let mut held = self.budget.account(user);
        held.add(bytes);
        response.map(|body| {
            let answer = Answer { body, held, streamed, stalled: None, is_cut: false };
            let answer = Arc::new(Mutex::new(answer));
            self.answers.lock().open.push(Arc::downgrade(&answer));
            Body::new(Reading(answer))
        })
    }

    /// Aborts the responses whose clients have not read for `patience`.
    fn cut(&self, now: Instant, patience: Duration) {
        let mut answers = self.answers.lock();
        answers.looked = Some(now);
        answers.open.retain(|answer| {
            let Some(answer) = answer.upgrade() else { return false };
            // A locked response is being read.
            let Some(mut answer) = answer.try_lock() else { return true };
            if answer.stalled.is_some_and(|since| now.duration_since(since) >= patience) {
                answer.cut();
            }
            !answer.is_cut
        });
    }
}

#[derive(Debug)]
struct Answer {
    body: Body,
    held: Held,
    /// How the response is written; `None` if it was complete from the beginning.
    streamed: Option<Streamed>,
    /// Since when the client has not requested more data; `None` while the client waits for data.
    stalled: Option<Instant>,
    is_cut: bool,
}

impl Answer {
    fn is_watch(&self) -> bool {
        matches!(self.streamed, Some(Streamed::Watch))
    }

    /// The client requests more data.
    fn asked(&mut self) {
        if self.stalled.take().is_some() && self.is_watch() {
            self.held.give_back(WATCH);
        }
    }

    /// Counts the bytes for the client until the connection has sent them.
    fn give(&mut self, bytes: Bytes) -> Bytes {
        self.stalled = Some(Instant::now());
        match self.streamed {
            Some(Streamed::Watch) => self.held.add(bytes.len() + WATCH),
            Some(Streamed::List(_)) => self.held.add(bytes.len()),
            None => {}
        }
        let held = self.held.take(bytes.len());
        Bytes::from_owner(Given { bytes, _held: held })
    }

    fn cut(&mut self) {
        self.asked();
        self.body = Body::empty();
        drop(self.held.take(usize::MAX));
        self.is_cut = true;
    }
}

/// A part of a response.
struct Given {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body of a counted response.
struct Reading(Arc<Mutex<Answer>>);

impl http_body::Body for Reading {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut answer = self.0.lock();
        if answer.is_cut {
            let why = || io::Error::new(io::ErrorKind::TimedOut, "the client did not read the answer in time");
            return Poll::Ready((!answer.is_watch()).then(|| Err(axum::Error::new(why()))));
        }
        answer.asked();
        let frame = Pin::new(&mut answer.body).poll_frame(context);
        frame.map_ok(|frame| frame.map_data(|data| answer.give(data)))
    }

    fn is_end_stream(&self) -> bool {
        let answer = self.0.lock();
        !answer.is_cut && answer.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().body.size_hint()
    }
}
