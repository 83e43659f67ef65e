use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{Status, WatchEvent};
use coracle_store::Revision;
use tokio::time::Instant;

use crate::cache::{Cache, CacheState};
use crate::entry::{Objects, candidates};
use crate::errors;
use crate::interest::{Interest, Waiter};
use crate::ring::Change;
use crate::{Freshness, Selection, Stored, WatchQuery, WatchStart};

/// How often a watch with bookmarks gets one.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// How long before its end a watch gets its last bookmark.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How long a bookmark waits for the store to return its revision.
const BOOKMARK_PATIENCE: Duration = Duration::from_millis(500);
/// The maximum duration of a watch: an instant cannot be moved without limit.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
/// How many changes are processed at a time.
const BATCH: usize = 256;
/// From how many bytes of objects on no more are taken in one go, so that a watch that is not read holds few of them.
const BATCH_BYTES: usize = 256 * 1024;

/// A watch: a cursor over the changes of the selected objects.
///
/// It buffers only the events of one short pass over the cache's ring. A watch that is so slow that the ring has
/// dropped its next changes ends with the error `Expired`.
pub struct Watch {
    cache: Arc<Cache>,
    selection: Selection,
    interest: Interest,
    id: u64,
    waiter: Arc<Waiter>,
    epoch: u64,
    /// Changes up to this revision are not for this watch.
    after: Revision,
    initial: Option<Initial>,
    ready: VecDeque<WatchEvent<Stored>>,
    bookmarks: Option<Bookmarks>,
    ended: bool,
}

/// The objects at the start of a watch.
struct Initial {
    objects: Objects,
    revision: Revision,
    sent: Option<Arc<str>>,
    marked_end: bool,
}

/// The objects of a resource at a revision.
pub(crate) struct PastObjects {
    pub(crate) objects: Objects,
    pub(crate) revision: Revision,
}

#[derive(Clone, Copy, Debug)]
struct Bookmarks {
    due: Instant,
    end: Option<Instant>,
}

impl Bookmarks {
    fn new(now: Instant, end: Option<Instant>) -> Self {
        let last = end.and_then(|end| end.checked_sub(BOOKMARK_BEFORE_END)).filter(|last| *last > now);
        let regular = now + BOOKMARK_INTERVAL;
        let due = match (last, end) {
            (Some(last), _) => regular.min(last),
            (None, Some(end)) => regular.max(end + BOOKMARK_INTERVAL),
            (None, None) => regular,
        };
        Self { due, end }
    }
}

impl Watch {
    /// Opens a watch; with `past`, its initial objects are those, and the changes since then follow.
    pub(crate) async fn open(cache: Arc<Cache>, query: &WatchQuery, past: Option<PastObjects>) -> Result<Self, Status> {
        match (query.start, query.freshness) {
            (WatchStart::After(_), _) => cache.ready().await?,
            (_, Freshness::NotOlderThan(revision) | Freshness::Exact(revision) | Freshness::AsOf(revision)) => {
                cache.wait_for(revision).await?;
            }
            (_, Freshness::Newest | Freshness::Any) => cache.fresh().await?,
        }
        let interest = Interest::of(&cache.resource, &query.selection);
        let waiter = Arc::new(Waiter::default());
        let mut guard = cache.state();
        let state = &mut *guard;
        if !matches!(query.start, WatchStart::After(_)) {
            state.unreadable.check(&cache.resource, &query.selection)?;
        }
        let epoch = state.epoch;
        let missed_since = |revision| {
            let oldest = state.ring.complete_after();
            let number = state.ring.number_after(revision).ok_or_else(|| errors::too_old(revision, oldest))?;
            Ok((number < state.ring.end()).then_some(number))
        };
        let (after, missed, snapshot) = match (query.start, past) {
            (WatchStart::After(revision), _) => (revision, missed_since(revision)?, None),
            (WatchStart::Now, _) => (state.revision, None, None),
            (WatchStart::Snapshot, Some(past)) => (past.revision, missed_since(past.revision)?, Some(past)),
            (WatchStart::Snapshot, None) => {
                let now = PastObjects { objects: state.objects.clone(), revision: state.revision };
                (state.revision, None, Some(now))
            }
        };
        let initial = snapshot.map(|PastObjects { objects, revision }| Initial {
            objects,
            revision,
            sent: None,
            marked_end: query.initial_events_end,
        });
        let id = state.interests.add(interest.clone(), &waiter, missed);
        drop(guard);
        // Pending changes may not have been applied, because no reader needed them.
        cache.asked.notify_one();
        let now = Instant::now();
        let end = (query.timeout_seconds > 0).then(|| now + Duration::from_secs(query.timeout_seconds).min(LONGEST));
        let bookmarks = query.bookmarks.then(|| Bookmarks::new(now, end));
        let selection = query.selection.clone();
        let ready = VecDeque::new();
        Ok(Self { cache, selection, interest, id, waiter, epoch, after, initial, ready, bookmarks, ended: false })
    }

    /// Waits for the next event. `None`: the watch has ended, after an error or because its resource is gone.
    ///
    /// Events are in the order of their revisions, without duplicates or gaps. Cancel-safe.
    pub async fn next(&mut self) -> Option<WatchEvent<Stored>> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            let changed = self.waiter.changed.notified();
            match self.bookmarks {
                None => changed.await,
                Some(Bookmarks { due, .. }) => {
                    if tokio::time::timeout_at(due, changed).await.is_err() {
                        self.bookmark().await;
                    }
                }
            }
        }
    }

    /// The next event, if it is available.
    pub fn try_next(&mut self) -> Option<WatchEvent<Stored>> {
        while self.ready.is_empty() && !self.ended {
            let more = if self.initial.is_some() { self.take_initial() } else { self.take_changes() };
            if !more {
                break;
            }
        }
        self.ready.pop_front()
    }

    /// The revision up to which all events have been returned, after synchronizing with the store; `None` while
    /// events are pending. Cancel-safe.
    pub async fn progress(&mut self) -> Option<Revision> {
        // If the store does not answer, an older revision is still valid.
        let _ = tokio::time::timeout(BOOKMARK_PATIENCE, self.cache.fresh()).await;
        self.position()
    }

    fn position(&self) -> Option<Revision> {
        if self.initial.is_some() || !self.ready.is_empty() || self.ended {
            return None;
        }
        let mut state = self.cache.state();
        let is_behind = state.interests.missed(&self.interest, self.id).is_none_or(|missed| missed.is_some());
        (!is_behind && state.epoch == self.epoch).then(|| state.revision.max(self.after))
    }

    /// Sends no more bookmarks.
    pub fn stop_bookmarks(&mut self) {
        self.bookmarks = None;
    }

    /// Moves the next initial objects to `ready`.
    fn take_initial(&mut self) -> bool {
        let Some(initial) = &mut self.initial else { return false };
        let resource = &self.cache.resource;
        let sent = initial.sent.clone();
        let rest = candidates(resource, &initial.objects, &self.selection, sent.as_deref());
        let (mut last, mut bytes) = (None, 0);
        for (key, entry) in rest.filter(|(key, _)| Some(*key) != sent.as_ref()).take(BATCH) {
            if entry.matches(resource, key, &self.selection) {
                bytes += entry.stored.len();
                self.ready.push_back(WatchEvent::Added(entry.stored.clone()));
            }
            last = Some(Arc::clone(key));
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        if last.is_some() {
            initial.sent = last;
            return true;
        }
        if initial.marked_end {
            let resource_version = initial.revision.to_string();
            self.ready.push_back(WatchEvent::Bookmark { resource_version, initial_events_end: true });
        }
        self.initial = None;
        true
    }

    /// Moves the events of the next changes to `ready`; false if there are no relevant changes.
    fn take_changes(&mut self) -> bool {
        let cache = Arc::clone(&self.cache);
        let mut guard = cache.state();
        let CacheState { epoch, closed, ring, interests, .. } = &mut *guard;
        if *closed {
            self.ended = true;
            return false;
        }
        if *epoch != self.epoch {
            let oldest = ring.complete_after();
            drop(guard);
            self.expire(oldest);
            return true;
        }
        let Some(missed) = interests.missed(&self.interest, self.id) else { return false };
        let Some(from) = missed.take() else { return false };
        let end = ring.end();
        let Some(changes) = ring.from(from) else {
            let oldest = ring.complete_after();
            drop(guard);
            self.expire(oldest);
            return true;
        };
        let (mut next, mut bytes) = (from, 0);
        for change in changes.take(BATCH) {
            next += 1;
            if change.revision > self.after
                && let Some(event) = event_of(&cache, change, &self.selection)
            {
                bytes += event.object().map_or(0, Stored::len);
                self.ready.push_back(event);
            }
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        if next < end {
            *missed = Some(next);
        }
        true
    }

    fn expire(&mut self, oldest: Revision) {
        self.ready.push_back(WatchEvent::Error(errors::too_old(self.after, oldest)));
        self.ended = true;
    }

    /// Sends a bookmark, unless events must be sent first.
    async fn bookmark(&mut self) {
        // A store that does not answer delays no bookmark: an older revision is still valid.
        let _ = tokio::time::timeout(BOOKMARK_PATIENCE, self.cache.fresh()).await;
        let cache = Arc::clone(&self.cache);
        let mut state = cache.state();
        let revision = state.revision;
        let behind = state.interests.missed(&self.interest, self.id).is_none_or(|missed| missed.is_some());
        if behind || state.epoch != self.epoch || self.initial.is_some() || !self.ready.is_empty() {
            return;
        }
        drop(state);
        if let Some(bookmarks) = &mut self.bookmarks {
            *bookmarks = Bookmarks::new(Instant::now(), bookmarks.end);
        }
        let resource_version = revision.max(self.after).to_string();
        self.ready.push_back(WatchEvent::Bookmark { resource_version, initial_events_end: false });
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.cache.state().interests.remove(&self.interest, self.id);
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("resource", &self.cache.resource.name).field("interest", &self.interest).finish()
    }
}

/// The event of a change for a watch: an object that starts to match is added, one that stops matching is deleted.
fn event_of(cache: &Cache, change: &Change, selection: &Selection) -> Option<WatchEvent<Stored>> {
    let matching = |entry: &&crate::entry::Entry| entry.matches(&cache.resource, &change.key, selection);
    let old = change.old.as_ref().filter(matching);
    let new = change.new.as_ref().filter(matching);
    match (old, new) {
        (None, None) => None,
        (None, Some(new)) => Some(WatchEvent::Added(new.stored.clone())),
        (Some(_), Some(new)) => Some(WatchEvent::Modified(new.stored.clone())),
        (Some(old), None) => Some(WatchEvent::Deleted(change.deleted(old))),
    }
}

#[cfg(test)]
mod tests {
    use coracle_ambient::Ambient;
    use coracle_journal::Recorder;
    use coracle_meta::{GroupResource, Object};
    use coracle_store::{Engine, Options};
    use serde_json::json;

    use super::*;
    use crate::{Attempt, Draft, Resource, Storage, Write};

    async fn put(storage: &Storage, resource: &Arc<Resource>, number: usize) {
        let object = json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": {"name": format!("t{number:02}"), "namespace": "ns"},
            "spec": {"large": "x".repeat(100_000)},
        });
        let object = Object::from_value(object).unwrap();
        let (key, draft) = (object.key(), Draft::new(object));
        let write = Write::Put { draft: &draft, ttl_seconds: None };
        assert!(matches!(storage.write(resource, &key, None, write, None).await.unwrap(), Attempt::Done(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_holds_few_large_events_and_gives_all_in_order() {
        let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
        let storage = Storage::new(Arc::new(engine));
        tokio::spawn(storage.run());
        let resource = Arc::new(Resource::new(GroupResource::new("", "things"), "things", true));
        for number in 0..10 {
            put(&storage, &resource, number).await;
        }
        let query = WatchQuery { start: WatchStart::Snapshot, freshness: Freshness::Newest, ..WatchQuery::default() };
        let mut watch = storage.watch(&resource, &query).await.unwrap();
        for number in 10..20 {
            put(&storage, &resource, number).await;
        }
        for number in 0..20 {
            let Some(WatchEvent::Added(stored)) = watch.next().await else { panic!("event {number} is missing") };
            assert_eq!(stored.object().name(), format!("t{number:02}"));
            assert!(watch.ready.len() <= 2, "{} events are held", watch.ready.len());
        }
        assert!(watch.try_next().is_none());
    }
}
