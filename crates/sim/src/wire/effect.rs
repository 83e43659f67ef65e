use std::time::Duration;

use tokio::time::Instant;

/// What happens to the requests and watches that a rule selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A request arrives after `there`, and its answer `back` after it was given.
    Slow {
        /// The way to the API server.
        there: Duration,
        /// The way back.
        back: Duration,
    },
    /// Each event of a watch is delivered this long after its commit. Several lags add up.
    Lag(Duration),
    /// Requests fail, because there is no route to the API server. Open watches stay open, and deliver nothing.
    Cut,
    /// Watches deliver nothing, and stay open as long as the API server lets them: what they hold at their end is lost.
    Hang,
    /// Watches deliver no events, and stay open as for `Hang`. Bookmarks are delivered: with the revision of the last
    /// event that was delivered, because a client resumes after the revision of a bookmark.
    BookmarkOnly,
    /// A message is lost, and the sender's request fails.
    Lose(Leg),
    /// The watches that were opened before this instant end.
    Close(Instant),
    /// The watches that were opened before this instant end with the error 410 Expired.
    Gone(Instant),
    /// Requests do not reach the API server, and are answered with a failure of this status code.
    Refuse(u16),
    /// Just before a write with a resource version is carried out, another writer changes its object, so that the API
    /// server answers 409 Conflict. Other requests are not selected.
    Conflict,
    /// Nothing. The observer of the wire is informed of the requests.
    Observe,
    /// Reads are answered as of this revision, and watches deliver nothing that is newer. A read of the newest state
    /// gets it after three seconds, and a read of a newer revision is refused after as long.
    Stale(i64),
}

impl Effect {
    /// Whether it acts on watches that are open.
    pub(super) fn acts_on_watches(self) -> bool {
        match self {
            Self::Lag(_)
            | Self::Cut
            | Self::Hang
            | Self::BookmarkOnly
            | Self::Close(_)
            | Self::Gone(_)
            | Self::Stale(_) => true,
            Self::Slow { .. } | Self::Lose(_) | Self::Refuse(_) | Self::Conflict | Self::Observe => false,
        }
    }
}

/// The two messages of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// The request: it does not land.
    Request,
    /// The answer: the request has landed.
    Answer,
}
