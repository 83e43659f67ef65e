use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::commit::Commit;
use crate::history_limit::HistoryLimit;
use crate::interest::{CursorId, Interests};
use crate::log::{Log, Slice};
use crate::snapshot::Snapshot;
use crate::{Error, KeyRange, Revision};

/// Publishes commits: the snapshot that readers load, and the log that cursors follow.
///
/// Invariant: a revision that is in the log is also in the snapshot, because both change under one lock.
#[derive(Debug)]
pub(crate) struct Hub {
    published: ArcSwap<Snapshot>,
    feed: Mutex<Feed>,
    /// Notified when the history exceeds its limit.
    pub(crate) overgrown: Notify,
}

#[derive(Debug)]
struct Feed {
    log: Log,
    head: Revision,
    compacted: Revision,
    interests: Interests,
    history_limit: Option<HistoryLimit>,
}

/// The position of a cursor whose start revision was already compacted. No log reaches that far back.
const NOWHERE: Revision = 0;

/// The result of a cursor's pull.
pub(crate) enum Pull {
    /// Nothing yet; the cursor will be woken.
    Idle,
    /// Changes to filter. If none follow them, the cursor is already idle and will be woken.
    Slice { slice: Slice, idle: bool },
}

impl Hub {
    pub(crate) fn new(snapshot: Snapshot, log: Log) -> Self {
        let feed = Feed {
            log,
            head: snapshot.revision,
            compacted: snapshot.compacted,
            interests: Interests::default(),
            history_limit: None,
        };
        Self { published: ArcSwap::from_pointee(snapshot), feed: Mutex::new(feed), overgrown: Notify::new() }
    }

    /// The newest visible snapshot. Never waits for a writer.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    /// Makes `commits`, which resulted in `snapshot`, visible to readers and cursors.
    pub(crate) fn publish<'a>(&self, snapshot: Snapshot, commits: impl Iterator<Item = &'a Commit>) {
        let mut woken: Vec<Arc<Notify>> = Vec::new();
        let mut feed = self.feed.lock();
        let overgrown = feed.history_limit.is_some_and(|limit| limit.is_exceeded(&snapshot));
        feed.head = snapshot.revision;
        let before = self.published.swap(Arc::new(snapshot));
        for change in commits.flat_map(|commit| &commit.changes) {
            feed.interests.touch(&change.version.kv.key, change.revision(), &mut woken);
            feed.log.push(change.clone());
        }
        drop(feed);
        woken.iter().for_each(|cursor| cursor.notify_one());
        if overgrown {
            self.overgrown.notify_one();
        }
        drop(before);
    }

    /// Makes a compacted snapshot visible; cursors that need older history end.
    pub(crate) fn publish_compacted(&self, snapshot: Snapshot) {
        let mut feed = self.feed.lock();
        feed.compacted = snapshot.compacted;
        feed.log.trim(snapshot.compacted);
        let before = self.published.swap(Arc::new(snapshot));
        drop(feed);
        drop(before);
    }

    /// Sets the maximum size of the history, beyond which `overgrown` is notified.
    pub(crate) fn limit_history(&self, limit: HistoryLimit) {
        self.feed.lock().history_limit = Some(limit);
    }

    /// The changes of the revisions from `from` to `to`.
    pub(crate) fn changes(&self, from: Revision, to: Revision) -> Slice {
        self.feed.lock().log.all(from, to)
    }

    /// Opens a cursor; returns its start. A cursor whose start is compacted ends at its first pull.
    pub(crate) fn open_cursor(&self, range: KeyRange, start: Revision, wake: Arc<Notify>) -> (CursorId, Revision) {
        let mut feed = self.feed.lock();
        let id = feed.interests.add(range, wake);
        let next = if start > 0 { start } else { feed.head + 1 };
        if next < feed.compacted {
            return (id, NOWHERE);
        }
        if next > feed.head {
            feed.interests.park(id, next - 1);
        }
        (id, next)
    }

    pub(crate) fn close_cursor(&self, id: CursorId) {
        self.feed.lock().interests.remove(id);
    }

    /// Moves a cursor at `next` over changes that do not concern it, and returns those that may.
    pub(crate) fn pull(&self, id: CursorId, next: &mut Revision) -> Result<Pull, Error> {
        let mut feed = self.feed.lock();
        let feed = &mut *feed;
        if feed.interests.is_idle(id) {
            *next = (*next).max(feed.head + 1);
            return Ok(Pull::Idle);
        }
        if let Some(revision) = feed.interests.woken_by(id) {
            *next = (*next).max(revision);
        }
        // A cursor slightly behind compaction is served from the log: its revisions were not compacted when it
        // opened.
        if *next < feed.compacted && !feed.log.reaches(*next) {
            return Err(Error::Compacted { compacted: feed.compacted });
        }
        if *next > feed.head {
            feed.interests.park(id, *next - 1);
            return Ok(Pull::Idle);
        }
        let slice = feed.log.slice(*next, feed.head);
        let idle = slice.to() == feed.head;
        if idle {
            feed.interests.park(id, slice.to());
        }
        Ok(Pull::Slice { slice, idle })
    }

    /// The revision up to which a cursor at `next` has all changes.
    pub(crate) fn progress(&self, id: CursorId, next: &mut Revision) -> Revision {
        let mut feed = self.feed.lock();
        if feed.interests.is_idle(id) {
            *next = (*next).max(feed.head + 1);
            return feed.head;
        }
        // `woken_by` forgets the revision that woke the cursor, so it becomes the cursor's position.
        if let Some(revision) = feed.interests.woken_by(id) {
            *next = (*next).max(revision);
        }
        (*next - 1).max(0)
    }

    /// The newest revision, if a cursor has had no changes after `seen`; works without the cursor itself.
    pub(crate) fn unchanged_since(&self, id: CursorId, seen: Revision) -> Option<Revision> {
        let feed = self.feed.lock();
        feed.interests.delivered(id).filter(|delivered| *delivered <= seen).map(|_| feed.head)
    }

    /// The number of cursors, and of those with changes to fetch.
    pub(crate) fn cursors(&self) -> (usize, usize) {
        self.feed.lock().interests.counts()
    }
}
