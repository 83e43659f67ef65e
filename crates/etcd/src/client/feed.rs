use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coracle_store::{Error, Event, KeyRange, Revision, WatchBatch, WatchRequest, Watcher};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::members::Members;
use super::watch::RemoteWatcher;
use crate::proto::etcdserverpb::watch_client::WatchClient;

/// The approximate size of the changes that are kept for watches that are not read for a while.
const LOG_BYTES: usize = 32 << 20;
/// How long to wait for changes before reporting the position of a watch.
const PATIENCE: Duration = Duration::from_millis(500);

/// All changes of an etcd on one stream, for an etcd that cannot report the progress of a watch of some keys.
///
/// Every revision changes some key, so a watch of all keys shows its position by its events. There is no background
/// task: the watch that waits for changes pulls the stream, one at a time, and all watches use the result.
pub(super) struct Feed {
    client: WatchClient<Members>,
    stream: tokio::sync::Mutex<Option<RemoteWatcher>>,
    log: Mutex<Log>,
    moved: Notify,
}

/// The latest changes.
#[derive(Default)]
struct Log {
    batches: VecDeque<Arc<WatchBatch>>,
    bytes: usize,
    /// All received changes after this revision are here; `None` until the stream starts.
    after: Option<Revision>,
}

impl Log {
    fn push(&mut self, batch: WatchBatch) {
        self.bytes += bytes(&batch);
        self.batches.push_back(Arc::new(batch));
        while self.bytes > LOG_BYTES
            && let Some(oldest) = self.batches.pop_front()
        {
            self.bytes -= bytes(&oldest);
            self.after = Some(oldest.revision);
        }
    }
}

/// The approximate memory of a batch.
fn bytes(batch: &WatchBatch) -> usize {
    let of = |event: &Event| {
        let previous = event.prev_kv.as_ref().map_or(0, |kv| kv.key.len() + kv.value.len());
        event.kv.key.len() + event.kv.value.len() + previous + 200
    };
    100 + batch.events.iter().map(of).sum::<usize>()
}

impl Feed {
    pub(super) fn new(client: WatchClient<Members>) -> Self {
        Self { client, stream: tokio::sync::Mutex::default(), log: Mutex::default(), moved: Notify::new() }
    }

    /// A watch of some keys, of everything after `seen`. The stream is open when this returns, so that a compaction
    /// before the first `next` cannot remove anything.
    pub(super) async fn watch(self: &Arc<Self>, request: &WatchRequest, seen: Revision) -> Result<FeedWatcher, Error> {
        let begun = self.log.lock().after.is_some();
        if !begun {
            self.begin(seen).await?;
        }
        let (range, prev_kv) = (request.range.clone(), request.prev_kv);
        Ok(FeedWatcher { feed: Arc::clone(self), range, prev_kv, seen, told: seen, past: None, early: None })
    }

    /// Opens a watch of all keys, starting after `seen`.
    async fn open(&self, seen: Revision) -> Result<RemoteWatcher, Error> {
        let request = WatchRequest { range: KeyRange::prefix(""), start_revision: seen + 1, prev_kv: true };
        RemoteWatcher::open(self.client.clone(), false, request).await
    }

    /// Opens the stream, unless it is open already.
    async fn begin(&self, seen: Revision) -> Result<(), Error> {
        let mut stream = self.stream.lock().await;
        if stream.is_none() {
            *stream = Some(self.open(seen).await?);
            *self.log.lock() = Log { after: Some(seen), ..Log::default() };
        }
        Ok(())
    }

    /// Moves one batch from the stream to the log.
    async fn pull(&self) -> Result<(), Error> {
        let mut stream = self.stream.lock().await;
        let Some(watcher) = stream.as_mut() else { return Ok(()) };
        let pulled = watcher.next().await;
        match pulled {
            Ok(batch) => self.log.lock().push(batch),
            Err(error) => {
                *stream = None;
                *self.log.lock() = Log::default();
                drop(stream);
                self.moved.notify_waiters();
                return Err(error);
            }
        }
        drop(stream);
        self.moved.notify_waiters();
        Ok(())
    }
}

/// A watch of some keys, filtered from the feed of all keys.
pub(super) struct FeedWatcher {
    feed: Arc<Feed>,
    range: KeyRange,
    prev_kv: bool,
    /// All changes up to this revision have been returned, or are in `early`.
    seen: Revision,
    /// The revision up to which the reader knows that it has all changes.
    told: Revision,
    /// Reads history that the feed's log lacks, until the log continues from there.
    past: Option<RemoteWatcher>,
    /// A batch that arrived during a progress request.
    early: Option<WatchBatch>,
}

impl FeedWatcher {
    /// Advances: returns the next batch with events, or `None` if only the position has changed or may change now.
    async fn step(&mut self) -> Result<Option<WatchBatch>, Error> {
        let after = self.feed.log.lock().after;
        let Some(after) = after else {
            return self.feed.begin(self.seen).await.map(|()| None);
        };
        if self.seen < after {
            return self.read_past().await;
        }
        self.past = None;
        let feed = Arc::clone(&self.feed);
        let moved = feed.moved.notified();
        let seen = self.seen;
        let batch = self.read_log();
        if batch.is_some() || self.seen > seen {
            return Ok(batch);
        }
        match select(pin!(moved), pin!(feed.pull())).await {
            // The feed was further behind than this watch, which can continue.
            Either::Right((Err(Error::Compacted { compacted }), _)) if compacted <= self.seen + 1 => {}
            Either::Right((Err(error), _)) => return Err(error),
            Either::Left(_) | Either::Right((Ok(()), _)) => {}
        }
        Ok(self.read_log())
    }

    /// The next batch of the log with events of this watch; skips batches without.
    fn read_log(&mut self) -> Option<WatchBatch> {
        let feed = Arc::clone(&self.feed);
        let log = feed.log.lock();
        if log.after.is_none_or(|after| self.seen < after) {
            return None;
        }
        let from = log.batches.partition_point(|batch| batch.revision <= self.seen);
        log.batches.range(from..).find_map(|batch| self.cut(batch))
    }

    async fn read_past(&mut self) -> Result<Option<WatchBatch>, Error> {
        if self.past.is_none() {
            self.past = Some(self.feed.open(self.seen).await?);
        }
        let Some(past) = &mut self.past else { return Ok(None) };
        let batch = past.next().await?;
        Ok(self.cut(&batch))
    }

    /// The new events of a batch for this watch; moves to the batch's end.
    fn cut(&mut self, batch: &WatchBatch) -> Option<WatchBatch> {
        let ours = |event: &&Event| event.kv.mod_revision > self.seen && self.range.contains(&event.kv.key);
        let mut events: Vec<Event> = batch.events.iter().filter(ours).cloned().collect();
        self.seen = self.seen.max(batch.revision);
        if !self.prev_kv {
            events.iter_mut().for_each(|event| event.prev_kv = None);
        }
        (!events.is_empty()).then_some(WatchBatch { revision: batch.revision, events })
    }
}

#[async_trait]
impl Watcher for FeedWatcher {
    async fn next(&mut self) -> Result<WatchBatch, Error> {
        let batch = match self.early.take() {
            Some(batch) => batch,
            None => loop {
                if let Some(batch) = self.step().await? {
                    break batch;
                }
            },
        };
        self.told = batch.revision;
        Ok(batch)
    }

    async fn progress(&mut self) -> Result<Revision, Error> {
        // `next` skips other events silently, and a progress request need not wait for them.
        if self.early.is_none() && self.seen == self.told {
            match timeout(PATIENCE, self.step()).await {
                Ok(Ok(batch)) => self.early = batch,
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
        }
        let first = self.early.as_ref().and_then(|batch| batch.events.first());
        self.told = first.map_or(self.seen, |event| event.kv.mod_revision - 1);
        Ok(self.told)
    }
}
