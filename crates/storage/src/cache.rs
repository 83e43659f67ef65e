use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{Object, Status};
use coracle_store::{KeyRange, Position, RangeRequest, Revision, Store};
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::announced::Announced;
use crate::entry::Objects;
use crate::errors;
use crate::interest::Interests;
use crate::ring::{HistoryLimits, Ring};
use crate::unreadable::Unreadable;
use crate::unreadable_reports::UnreadableReports;
use crate::{Resource, Stored};

/// How long a read waits for a future revision. In Kubernetes: `blockTimeout`.
const WAIT_FOR_REVISION: Duration = Duration::from_secs(3);
/// How many writes of this process may be pending before they are applied, even without a reader.
const MANY: usize = 64;
/// How often the store is asked for its revision, while a reader waits for one.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The objects of one resource at a revision, and the changes before it. In Kubernetes: `cacher.watchCache`.
///
/// A task feeds it (`feed.rs`); readers wait until it is recent enough. Readers do not block each other. While there
/// are no watches and no waiting readers, changes are applied later in batches.
pub(crate) struct Cache {
    pub(crate) resource: Arc<Resource>,
    pub(crate) store: Arc<dyn Store>,
    /// Whether fills are read as streams where the store offers them.
    pub(crate) streams_ranges: bool,
    pub(crate) limits: HistoryLimits,
    pub(crate) reports: UnreadableReports,
    state: Mutex<CacheState>,
    /// Notified when the state has changed, or could not be changed.
    pub(crate) moved: Notify,
    /// Notified when a reader waits for changes that are not applied yet, when the last one has left, or when many are
    /// pending.
    pub(crate) asked: Notify,
}

pub(crate) struct CacheState {
    /// All changes up to this revision are applied; 0 before the first fill.
    pub(crate) revision: Revision,
    /// The number of fills: a watch of an earlier fill has missed changes.
    pub(crate) epoch: u64,
    /// The revision of the last change of an object.
    pub(crate) last_change: Revision,
    pub(crate) objects: Objects,
    /// Objects that the first fill need not decode if the store has the same values.
    pub(crate) decoded: Objects,
    pub(crate) unreadable: Unreadable,
    pub(crate) ring: Ring,
    pub(crate) interests: Interests,
    pub(crate) announced: Announced,
    /// How many readers wait for the state to change.
    waiting: usize,
    /// Whether a reader has found a value in the store whose change is pending: the next one should find it here.
    pub(crate) is_missed: bool,
    /// The position of the cursor that feeds this, if it can be read from here.
    pub(crate) position: Option<Arc<dyn Position>>,
    /// Why the last attempts to feed this failed, and how many there were.
    pub(crate) failure: Option<Status>,
    pub(crate) failures: u64,
    /// The task that feeds this, once it runs.
    pub(crate) task: Option<AbortHandle>,
    /// Whether it is no longer fed: watches end.
    pub(crate) closed: bool,
}

impl CacheState {
    /// Whether changes may stay pending: no reader or watch needs them, they are few, and the position shows whether the
    /// state is outdated.
    pub(crate) fn is_quiet(&self) -> bool {
        let is_needed = self.waiting > 0 || self.is_missed || !self.interests.is_empty();
        !is_needed && self.announced.len() < MANY && self.position.is_some()
    }

    /// Moves to the store's newest revision, if the store reports without a round trip that nothing has changed.
    fn advance(&mut self) -> bool {
        let newest = self.position.as_ref().and_then(|position| position.unchanged_since(self.revision));
        self.reach(newest.unwrap_or(0));
        newest.is_some()
    }

    pub(crate) fn reach(&mut self, revision: Revision) {
        if revision > self.revision {
            self.revision = revision;
            self.announced.reach(revision);
        }
    }
}

/// Waits as long as a cache waits for a revision, and returns the error of a cache that has only reached `current`.
pub async fn unreached(wanted: Revision, current: Revision) -> Status {
    tokio::time::sleep(WAIT_FOR_REVISION).await;
    errors::too_large(wanted, current)
}

impl Cache {
    pub(crate) fn new(
        resource: Arc<Resource>,
        store: Arc<dyn Store>,
        streams_ranges: bool,
        limits: HistoryLimits,
        reports: UnreadableReports,
        decoded: Objects,
    ) -> Self {
        let state = CacheState {
            revision: 0,
            epoch: 0,
            last_change: 0,
            objects: Objects::new(),
            decoded,
            unreadable: Unreadable::default(),
            ring: Ring::new(Revision::MAX, 0, 0, limits),
            interests: Interests::default(),
            announced: Announced::default(),
            waiting: 0,
            is_missed: false,
            position: None,
            failure: None,
            failures: 0,
            task: None,
            closed: false,
        };
        let (state, moved, asked) = (Mutex::new(state), Notify::new(), Notify::new());
        Self { resource, store, streams_ranges, limits, reports, state, moved, asked }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock()
    }

    /// Waits for the first fill.
    pub(crate) async fn ready(&self) -> Result<(), Status> {
        if self.state().revision > 0 { Ok(()) } else { self.reach(1).await }
    }

    /// Waits until the state is at least as new as the store at the time of this call.
    ///
    /// In Kubernetes: `ConsistentListFromCache`.
    pub(crate) async fn fresh(&self) -> Result<(), Status> {
        if self.state().advance() {
            return Ok(());
        }
        self.reach(newest(&self.store, &self.resource).await?).await
    }

    /// Waits until the state has reached `revision`; 504 on a timeout.
    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), Status> {
        self.ready().await?;
        match tokio::time::timeout(WAIT_FOR_REVISION, self.reach(revision)).await {
            Ok(reached) => reached,
            Err(_elapsed) => Err(errors::too_large(revision, self.state().revision)),
        }
    }

    /// The revision of the last change of any object, as of now. Called often, and usually nothing has changed.
    pub(crate) async fn last_change(&self) -> Result<Revision, Status> {
        self.fresh().await?;
        Ok(self.state().last_change)
    }

    /// Waits until an object has changed after `revision`, or the cache is no longer fed.
    pub(crate) async fn changed_after(&self, revision: Revision) {
        let _waiting = self.wait();
        loop {
            let moved = self.moved.notified();
            {
                let state = self.state();
                if state.last_change > revision || state.closed {
                    return;
                }
            }
            moved.await;
        }
    }

    /// A reader has found a value of this revision in the store, and not here.
    pub(crate) fn missed(&self, revision: Revision) {
        let mut state = self.state();
        if state.revision < revision {
            state.is_missed = true;
            self.asked.notify_one();
        }
    }

    /// Until the result is dropped, changes are applied as they arrive.
    fn wait(&self) -> Waiting<'_> {
        self.state().waiting += 1;
        self.asked.notify_one();
        Waiting { cache: self }
    }

    fn reach(&self, revision: Revision) -> BoxFuture<'_, Result<(), Status>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            let (since, failures, mut ask) = (Instant::now(), self.state().failures, true);
            let _waiting = self.wait();
            loop {
                // Registered before the check, so that a change between the check and the wait is not lost.
                let moved = self.moved.notified();
                let is_seen = {
                    let mut state = self.state();
                    state.advance();
                    let was_never_fed = state.task.is_none() && since.elapsed() >= WAIT_FOR_REVISION;
                    if state.closed || was_never_fed {
                        return Err(errors::not_fed(&self.resource));
                    }
                    if state.revision >= revision {
                        return Ok(());
                    }
                    match &state.failure {
                        Some(failure) if state.failures > failures => return Err(failure.clone()),
                        _ => state.position.is_some(),
                    }
                };
                if ask && !is_seen {
                    self.asked.notify_one();
                }
                ask = tokio::time::timeout(ASK_AGAIN, moved).await.is_err();
            }
        })
    }

    /// Announces that an object is about to be written, so that its event finds it already laid out and decoded.
    pub(crate) fn announce<'a>(&'a self, stored: &'a Stored, object: &Object) -> Announcement<'a> {
        self.state().announced.add(stored, object, &self.resource);
        Announcement { cache: self, stored }
    }

    /// Sets the task that feeds this.
    pub(crate) fn fed_by(&self, task: AbortHandle) {
        let mut state = self.state();
        if state.closed {
            task.abort();
        } else {
            state.task = Some(task);
        }
    }

    /// Ends all watches and the task: the cache is not used any more.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.position = None;
        state.interests.wake_all();
        let task = state.task.take();
        drop(state);
        self.moved.notify_waiters();
        task.iter().for_each(AbortHandle::abort);
    }
}

/// A reader that waits for the state to change.
struct Waiting<'a> {
    cache: &'a Cache,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let is_last = {
            let mut state = self.cache.state();
            state.waiting -= 1;
            state.waiting == 0
        };
        if is_last {
            self.cache.asked.notify_one();
        }
    }
}

/// The announcement of a write; it ends when this is dropped, or with the event if it is settled.
pub(crate) struct Announcement<'a> {
    cache: &'a Cache,
    stored: &'a Stored,
}

impl Announcement<'_> {
    /// The object was written at `revision`: returns it with its revision, shared with the cache.
    pub(crate) fn settle(self, key: &str, revision: Revision) -> Stored {
        let mut state = self.cache.state();
        if let Some(stored) = state.announced.settle(self.stored, revision) {
            if state.announced.len() >= MANY {
                self.cache.asked.notify_one();
            }
            return stored;
        }
        let cached = state.objects.get(key).map(|entry| &entry.stored);
        cached.filter(|cached| cached.revision() == revision).cloned().unwrap_or_else(|| self.stored.at(revision))
    }
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        self.cache.state().announced.withdraw(self.stored);
    }
}

/// The store's newest revision. In Kubernetes: `GetCurrentResourceVersion`, a read of a key that does not exist.
pub(crate) async fn newest(store: &Arc<dyn Store>, resource: &Resource) -> Result<Revision, Status> {
    let range = KeyRange::key(format!("{}/{}", resource.root, resource.directory));
    let request = RangeRequest { range, limit: 1, count_only: true, ..RangeRequest::default() };
    Ok(store.range(request).await.map_err(errors::status)?.revision)
}
