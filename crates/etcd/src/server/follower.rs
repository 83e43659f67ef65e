use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use coracle_store::{Error, Event, EventKind, Revision, WatchBatch, Watcher};
use futures_util::future::{Either, poll_fn, select};
use futures_util::stream::{self, BoxStream, StreamExt};
use prost::Message;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

use super::header;
use crate::convert::to_event;
use crate::proto::etcdserverpb::{self as pb, watch_create_request::FilterType};

/// A larger response is ended at the next revision.
const RESPONSE_BYTES: usize = 1 << 20;

/// Converts the batches of one watch to messages.
pub(super) struct Follower {
    id: i64,
    watcher: Box<dyn Watcher>,
    start: Revision,
    commands: mpsc::UnboundedReceiver<u64>,
    puts: bool,
    deletes: bool,
    /// How long the watch may be idle before it reports progress.
    progress_interval: Option<Duration>,
    /// Since when it is idle.
    idle_since: Instant,
    /// Fires when it may have been idle for that long. It is not reset with every event, which would be most of the
    /// work.
    alarm: Pin<Box<Sleep>>,
    /// The maximum message size, if the client supports fragments.
    fragment_bytes: Option<usize>,
    ready: VecDeque<pb::WatchResponse>,
    ended: bool,
}

/// A message of a follower.
pub(super) enum FollowerMessage {
    /// Events of complete revisions, or a fragment of them.
    Events(pb::WatchResponse),
    /// Progress without events.
    Idle(pb::WatchResponse),
    /// The last message of the watch.
    Ended(pb::WatchResponse),
    /// The response to a progress request; `None` if the watch starts at a future revision.
    Progress { id: i64, round: u64, revision: Option<Revision> },
}

enum Happened {
    Batch(Result<WatchBatch, Error>),
    Command(Option<u64>),
    Alarm,
}

impl Follower {
    pub(super) fn new(
        id: i64,
        watcher: Box<dyn Watcher>,
        start: Revision,
        commands: mpsc::UnboundedReceiver<u64>,
        filters: &[i32],
        progress_interval: Option<Duration>,
    ) -> Self {
        let filtered = |filter: FilterType| filters.contains(&filter.into());
        Self {
            id,
            watcher,
            start,
            commands,
            puts: !filtered(FilterType::Noput),
            deletes: !filtered(FilterType::Nodelete),
            progress_interval,
            idle_since: Instant::now(),
            alarm: Box::pin(sleep(progress_interval.unwrap_or_default())),
            fragment_bytes: None,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    pub(super) fn in_fragments(self, fragment_bytes: Option<usize>) -> Self {
        Self { fragment_bytes, ..self }
    }

    pub(super) fn follow(self) -> BoxStream<'static, FollowerMessage> {
        stream::unfold(self, |mut follower| async move {
            let told = follower.next().await?;
            Some((told, follower))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<FollowerMessage> {
        loop {
            if let Some(response) = self.ready.pop_front() {
                return Some(FollowerMessage::Events(response));
            }
            if self.ended {
                return None;
            }
            match self.happened().await {
                Happened::Batch(Ok(batch)) => self.take(batch),
                Happened::Batch(Err(error)) => return Some(self.end(Some(&error)).await),
                Happened::Command(None) => return Some(self.end(None).await),
                Happened::Command(Some(round)) => {
                    let revision = self.progress().await;
                    return Some(FollowerMessage::Progress { id: self.id, round, revision });
                }
                Happened::Alarm => {
                    let due = self.idle_since + self.progress_interval.unwrap_or_default();
                    if due > Instant::now() {
                        self.alarm.as_mut().reset(due);
                        continue;
                    }
                    self.begin_idling();
                    self.alarm.as_mut().reset(self.idle_since + self.progress_interval.unwrap_or_default());
                    if let Some(revision) = self.progress().await {
                        let header = Some(header(revision));
                        return Some(FollowerMessage::Idle(pb::WatchResponse {
                            header,
                            watch_id: self.id,
                            ..Default::default()
                        }));
                    }
                }
            }
        }
    }

    async fn happened(&mut self) -> Happened {
        let wants_progress = self.progress_interval.is_some();
        let alarm = &mut self.alarm;
        let alarm = poll_fn(|context| if wants_progress { alarm.as_mut().poll(context) } else { Poll::Pending });
        // In this order if several are ready.
        match select(pin!(self.commands.recv()), select(self.watcher.next(), alarm)).await {
            Either::Left((command, _)) => Happened::Command(command),
            Either::Right((Either::Left((batch, _)), _)) => Happened::Batch(batch),
            Either::Right((Either::Right(((), _)), _)) => Happened::Alarm,
        }
    }

    fn take(&mut self, batch: WatchBatch) {
        let mut response = self.response();
        let (mut bytes, mut last) = (0, 0);
        let wanted = |event: &Event| match event.kind {
            EventKind::Put => self.puts,
            EventKind::Delete => self.deletes,
        };
        let events: Vec<Event> = batch.events.into_iter().filter(wanted).collect();
        for event in events {
            // A revision is never split between two responses.
            if bytes >= RESPONSE_BYTES && event.kv.mod_revision > last {
                let full = std::mem::replace(&mut response, self.response());
                self.send(full, last);
                bytes = 0;
            }
            last = event.kv.mod_revision;
            let event = to_event(event);
            bytes += event.encoded_len();
            response.events.push(event);
        }
        if !response.events.is_empty() {
            self.send(response, batch.revision);
            self.begin_idling();
        }
    }

    fn response(&self) -> pb::WatchResponse {
        pb::WatchResponse { watch_id: self.id, ..Default::default() }
    }

    fn send(&mut self, mut response: pb::WatchResponse, revision: Revision) {
        response.header = Some(header(revision));
        match self.fragment_bytes.filter(|limit| response.encoded_len() > *limit) {
            None => self.ready.push_back(response),
            Some(limit) => self.ready.extend(fragments(response, limit)),
        }
    }

    fn begin_idling(&mut self) {
        self.idle_since = Instant::now();
    }

    /// The revision up to which everything has been sent; `None` for a watch that starts at a future revision.
    async fn progress(&mut self) -> Option<Revision> {
        self.watcher.progress().await.ok().filter(|revision| *revision >= self.start - 1)
    }

    async fn end(&mut self, error: Option<&Error>) -> FollowerMessage {
        self.ended = true;
        let revision = self.watcher.progress().await.unwrap_or(0);
        FollowerMessage::Ended(canceled(self.id, revision, error))
    }
}

/// Splits a response into fragments of at most `limit` bytes, with at least one event each; all but the last are
/// marked.
fn fragments(response: pb::WatchResponse, limit: usize) -> Vec<pb::WatchResponse> {
    let template = pb::WatchResponse { events: Vec::new(), ..response.clone() };
    let mut pieces = vec![template.clone()];
    let mut bytes = 0;
    for event in response.events {
        let length = event.encoded_len();
        if bytes > 0 && bytes + length > limit {
            pieces.push(template.clone());
            bytes = 0;
        }
        bytes += length;
        pieces.last_mut().expect("there is one from the beginning").events.push(event);
    }
    let last = pieces.len() - 1;
    pieces[..last].iter_mut().for_each(|piece| piece.fragment = true);
    pieces
}

/// The last message of a watch, with the error that ends it.
fn canceled(id: i64, revision: Revision, error: Option<&Error>) -> pb::WatchResponse {
    let (compact_revision, cancel_reason) = match error {
        None => (0, String::new()),
        // Clients read only the revision, and etcd sends no reason with it.
        Some(Error::Compacted { compacted }) => (*compacted, String::new()),
        Some(error) => (0, error.to_string()),
    };
    pb::WatchResponse {
        header: Some(header(revision)),
        watch_id: id,
        canceled: true,
        compact_revision,
        cancel_reason,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::mvccpb;

    #[test]
    fn fragments_keep_every_event_in_order_and_only_the_last_is_unmarked() {
        let event = |version| {
            let value = vec![0; 100].into();
            mvccpb::Event { kv: Some(mvccpb::KeyValue { version, value, ..Default::default() }), ..Default::default() }
        };
        let response = pb::WatchResponse { watch_id: 3, events: (1..=10).map(event).collect(), ..Default::default() };
        let pieces = fragments(response.clone(), 250);
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.events.len() <= 2 && piece.watch_id == 3));
        assert_eq!(pieces.iter().filter(|piece| !piece.fragment).count(), 1);
        assert!(!pieces.last().unwrap().fragment);
        assert_eq!(pieces.into_iter().flat_map(|piece| piece.events).collect::<Vec<_>>(), response.events);
    }
}
