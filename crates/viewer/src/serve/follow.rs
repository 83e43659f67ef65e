use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use coracle_journal::{EntryId, Header, Recorder};
use futures_util::stream::unfold;

use crate::hello;

/// How long entries are collected before they are sent: a page does not draw faster.
const GATHERED: Duration = Duration::from_millis(50);
/// How long a browser waits before it reconnects, in milliseconds.
const ASK_AGAIN: u64 = 1_000;
/// The interval of keep-alive messages on an idle stream.
const STILL_THERE: Duration = Duration::from_secs(15);

/// The log of a running cluster, for clients that follow it.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    recorder: Recorder,
    header: Arc<Header>,
    begins: EntryId,
}

/// The position of a stream.
struct Place {
    followed: Followed,
    next: EntryId,
    is_greeted: bool,
    /// Whether more entries were available than fit into a batch.
    is_behind: bool,
}

impl Followed {
    pub(super) fn new(recorder: Recorder, header: Header, begins: EntryId) -> Self {
        Self { recorder, header: Arc::new(header), begins }
    }

    /// Streams the entries after `last` as server-sent events: first `hello`, then batches of entries as lines of an
    /// events file. The id of an event is the number of its last entry. The log is read only as fast as the client
    /// receives.
    pub(super) fn stream(self, last: EntryId) -> Body {
        let place =
            Place { followed: self, next: EntryId(last.0.saturating_add(1)), is_greeted: false, is_behind: true };
        Body::from_stream(unfold(place, |mut place| async move {
            let event = place.event().await;
            Some((Ok::<_, Infallible>(Bytes::from(event)), place))
        }))
    }
}

impl Place {
    async fn event(&mut self) -> Vec<u8> {
        let recorder = &self.followed.recorder;
        if !self.is_greeted {
            self.is_greeted = true;
            let Followed { header, begins, .. } = &self.followed;
            let hello = hello(recorder, header, *begins);
            return format!("event: hello\nretry: {ASK_AGAIN}\ndata: {hello}\n\n").into_bytes();
        }
        if tokio::time::timeout(STILL_THERE, recorder.written(self.next)).await.is_err() {
            return b":\n\n".to_vec();
        }
        if !self.is_behind {
            tokio::time::sleep(GATHERED).await;
        }
        // Each line of an event's data needs this prefix.
        let lines = recorder.lines(self.next, "data: ");
        let (last, mut event) = lines.expect("an entry that was written is there, or a later one");
        self.next = EntryId(last.0 + 1);
        self.is_behind = last < recorder.last();
        event.extend_from_slice(format!("id: {}\n\n", last.0).as_bytes());
        event
    }
}
