use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use coracle_journal::{EntryId, Header, Recorder};
use futures_util::stream::{Stream, unfold};
use serde_json::{Value, json};

use crate::page::{FORM, sentences, stages};
use crate::serve::Sent;

/// How long entries are gathered before they are sent: a page draws no faster.
const GATHERED: Duration = Duration::from_millis(50);
/// How long a browser waits before it asks again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The log of a cluster that runs, for whoever follows it.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    recorder: Recorder,
    header: Arc<Header>,
    begins: EntryId,
}

/// Where a stream is.
struct Place {
    followed: Followed,
    next: EntryId,
    is_greeted: bool,
    /// Whether there was more to send than fits into a batch.
    is_behind: bool,
}

impl Followed {
    pub(super) fn new(recorder: Recorder, header: Header, begins: EntryId) -> Self {
        Self { recorder, header: Arc::new(header), begins }
    }

    /// The entries after `last`, as they come to be: first `hello`, then some an event, as lines of an events file; its id is the
    /// number of the last of them. Nothing is read from the log before what was read is taken.
    pub(super) fn stream(self, last: EntryId) -> impl Stream<Item = Sent> + Send + 'static {
        let place =
            Place { followed: self, next: EntryId(last.0.saturating_add(1)), is_greeted: false, is_behind: true };
        unfold(place, |mut place| async move {
            let event = place.event().await;
            Some((Ok(event), place))
        })
    }

    /// What a page has to know before the first entry.
    fn hello(&self) -> Value {
        json!({
            "form": FORM,
            "run": *self.header,
            "sentences": sentences(),
            "stages": stages(),
            "begins": self.begins,
            "newest": self.recorder.last(),
            "ring": self.recorder.capacity(),
        })
    }
}

impl Place {
    async fn event(&mut self) -> Event {
        let recorder = &self.followed.recorder;
        if !self.is_greeted {
            self.is_greeted = true;
            return Event::default().event("hello").retry(ASK_AGAIN).data(self.followed.hello().to_string());
        }
        recorder.written(self.next).await;
        if !self.is_behind {
            tokio::time::sleep(GATHERED).await;
        }
        let (last, lines) = recorder.lines(self.next).expect("an entry that was written is there, or a later one");
        self.next = EntryId(last.0 + 1);
        self.is_behind = last < recorder.last();
        Event::default().id(last.0.to_string()).data(lines)
    }
}
