use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use coracle_meta::{Object, Status};
use coracle_store::{
    Error, Event, EventKind, KeyRange, RangeRequest, Revision, Store, WatchBatch, WatchRequest, Watcher,
};
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::entry::{Entry, Objects, Selectable};
use crate::errors;
use crate::interest::Interests;
use crate::relay::{Relay, Turn};
use crate::ring::{Change, HistoryLimits, Ring};
use crate::{Resource, Stored};

/// How long a read waits for a revision that has not happened yet. In Kubernetes: `blockTimeout`.
const WAIT_FOR_REVISION: Duration = Duration::from_secs(3);
/// How often a store in another process is asked how far it is, while somebody waits to know.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// After how many writes of this process a writer brings the cache up to date, if nobody else does.
const AHEAD: usize = 64;
/// How many objects one read of the first fill takes.
const PAGE: i64 = 10_000;

/// The objects of one resource as of a revision, and the changes that led there.
///
/// There is no task behind it: the feed is a cursor of the store, and those who wait for news pull it together; what
/// comes serves all.
pub(crate) struct Cache {
    pub(crate) resource: Arc<Resource>,
    store: Arc<dyn Store>,
    limits: HistoryLimits,
    state: Mutex<State>,
    feed: tokio::sync::Mutex<Option<Box<dyn Watcher>>>,
    sentinel: tokio::sync::Mutex<Sentinel>,
    /// Pulls the feed, by whoever is polled.
    relay: Relay,
    /// Somebody wants to know how far the cache is: whoever pulls asks the store.
    ask: Notify,
    /// The revision of the state moved.
    moved: Notify,
}

/// A cursor of its own, which says whether anything has changed at all without anybody pulling the feed.
#[derive(Default)]
struct Sentinel {
    watcher: Option<Box<dyn Watcher>>,
    /// The last change that it saw.
    seen: Revision,
}

pub(crate) struct State {
    /// All changes up to here are in.
    pub(crate) revision: Revision,
    /// Counts fills: a watch of an earlier one has missed something.
    pub(crate) epoch: u64,
    /// What is cached is served no longer: watches end.
    pub(crate) closed: bool,
    /// The revision of the last change of an object.
    pub(crate) last_change: Revision,
    pub(crate) objects: Objects,
    pub(crate) ring: Ring,
    pub(crate) interests: Interests,
    /// Objects that this process writes and whose events have not come yet, so that nobody reads them again.
    announced: VecDeque<Announced>,
}

/// An object on its way into the store.
struct Announced {
    /// As it was laid out before it had a revision.
    stored: Stored,
    selectable: Arc<Selectable>,
    /// With its revision, once the store has said which.
    written: Option<Stored>,
}

impl Cache {
    pub(crate) fn new(resource: Arc<Resource>, store: Arc<dyn Store>, limits: HistoryLimits) -> Self {
        let state = State {
            revision: 0,
            epoch: 0,
            closed: false,
            last_change: 0,
            objects: Objects::new(),
            ring: Ring::new(Revision::MAX, 0, limits),
            interests: Interests::default(),
            announced: VecDeque::new(),
        };
        Self {
            resource,
            store,
            limits,
            state: Mutex::new(state),
            feed: tokio::sync::Mutex::new(None),
            sentinel: tokio::sync::Mutex::default(),
            relay: Relay::default(),
            ask: Notify::new(),
            moved: Notify::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that there is a state: reads all objects if this is the first use.
    pub(crate) async fn ready(&self) -> Result<(), Status> {
        if self.state().revision > 0 {
            return Ok(());
        }
        let mut feed = self.feed.lock().await;
        if self.state().revision == 0 {
            self.fill(&mut feed).await.map_err(errors::status)?;
        }
        Ok(())
    }

    /// Makes sure that the objects are those of now, and returns the newest revision at which they are: it may be newer than
    /// the state's, if nothing of this resource has changed since. So a read need not wait for the feed.
    ///
    /// Nobody may have pulled for long, and then the state is as old as that. In Kubernetes, caches are fed all the time and
    /// lag by milliseconds; programs such as `kubectl wait` count on that.
    pub(crate) async fn current(self: &Arc<Self>) -> Result<Revision, Status> {
        self.ready().await?;
        let newest = newest(&self.store, &self.resource).await?;
        if self.state().revision < newest {
            let changed = self.changed_before(newest).await;
            self.reach(changed.unwrap_or(newest)).await?;
        }
        Ok(newest)
    }

    /// Brings the state up to date if this process has written much that it has not seen.
    pub(crate) async fn keep_up(self: &Arc<Self>) {
        if self.state().announced.len() >= AHEAD {
            // A store that does not answer now is no reason to hold up what was written.
            let _ = tokio::time::timeout(ASK_AGAIN, self.catch_up()).await;
        }
    }

    /// Waits until the state is at least as new as the store is now; returns how new that was.
    pub(crate) async fn catch_up(self: &Arc<Self>) -> Result<Revision, Status> {
        self.ready().await?;
        let newest = newest(&self.store, &self.resource).await?;
        self.reach(newest).await?;
        Ok(newest)
    }

    /// The revision of the last change of any object, as of now. Asked often, and nearly always nothing has changed.
    pub(crate) async fn last_change(self: &Arc<Self>) -> Result<Revision, Status> {
        self.current().await?;
        Ok(self.state().last_change)
    }

    /// The last change up to `newest`, by the sentinel; `None` if it cannot say.
    async fn changed_before(&self, newest: Revision) -> Option<Revision> {
        let mut sentinel = self.sentinel.lock().await;
        let Sentinel { watcher, seen } = &mut *sentinel;
        let mut cursor = match watcher.take() {
            Some(cursor) => cursor,
            None => {
                let since = self.state().revision;
                *seen = since;
                self.open(since + 1).await.ok()?
            }
        };
        // Whoever stops waiting here leaves no cursor behind, and the next one opens another.
        while cursor.progress().await.ok()? < newest {
            let Ok(batch) = tokio::time::timeout(ASK_AGAIN, cursor.next()).await else { continue };
            let batch = batch.ok()?;
            *seen = batch.events.iter().map(|event| event.kv.mod_revision).fold(*seen, Revision::max);
        }
        *watcher = Some(cursor);
        Some(*seen)
    }

    /// Waits until the state has reached `revision`; 504 if that does not happen in time.
    pub(crate) async fn wait_for(self: &Arc<Self>, revision: Revision) -> Result<(), Status> {
        self.ready().await?;
        if self.state().revision >= revision {
            return Ok(());
        }
        match tokio::time::timeout(WAIT_FOR_REVISION, self.reach(revision)).await {
            Ok(reached) => reached,
            Err(_elapsed) => Err(errors::too_large(revision, self.state().revision)),
        }
    }

    async fn reach(self: &Arc<Self>, revision: Revision) -> Result<(), Status> {
        loop {
            self.ask.notify_one();
            let mut again = pin!(tokio::time::sleep(ASK_AGAIN));
            loop {
                let moved = self.moved.notified();
                if self.state().revision >= revision {
                    return Ok(());
                }
                let pull = pin!(self.pull());
                let news = match select(pin!(moved), select(pull, &mut again)).await {
                    Either::Left(_) => Some(Ok(())),
                    Either::Right((Either::Left((pulled, _)), _)) => Some(pulled),
                    Either::Right((Either::Right(_), _)) => None,
                };
                match news {
                    Some(news) => news?,
                    None => break,
                }
            }
        }
    }

    /// Pulls the feed once: when this returns, something has come in, if only the news that nothing has happened.
    pub(crate) async fn pull(self: &Arc<Self>) -> Result<(), Status> {
        let turn = || -> Turn {
            let cache = Arc::clone(self);
            Box::pin(async move { cache.pull_once().await })
        };
        self.relay.join(turn).await
    }

    async fn pull_once(&self) -> Result<(), Status> {
        let mut feed = self.feed.lock().await;
        let Some(watcher) = feed.as_mut() else {
            return self.reopen(&mut feed).await;
        };
        let next = watcher.next();
        let asked = match select(next, pin!(self.ask.notified())).await {
            Either::Left((batch, _)) => Some(batch),
            Either::Right(_) => None,
        };
        let pulled = match asked {
            Some(batch) => batch,
            None => watcher.progress().await.map(|revision| WatchBatch { revision, events: Vec::new() }),
        };
        match pulled {
            Ok(batch) => {
                self.apply(batch.revision, batch.events);
                Ok(())
            }
            Err(Error::Compacted { .. }) => {
                *feed = None;
                self.fill(&mut feed).await.map_err(errors::status)
            }
            Err(Error::Unavailable(_)) => {
                *feed = None;
                self.reopen(&mut feed).await
            }
            Err(error) => Err(errors::status(error)),
        }
    }

    /// Opens the feed again where it was.
    async fn reopen(&self, feed: &mut Option<Box<dyn Watcher>>) -> Result<(), Status> {
        let since = self.state().revision;
        match self.open(since + 1).await {
            Ok(watcher) => {
                *feed = Some(watcher);
                Ok(())
            }
            Err(error) => {
                // Whoever waits tries again; a store that is away must not be asked without pause.
                tokio::time::sleep(ASK_AGAIN).await;
                Err(errors::status(error))
            }
        }
    }

    async fn open(&self, start_revision: Revision) -> Result<Box<dyn Watcher>, Error> {
        let range = KeyRange::prefix(self.resource.prefix());
        self.store.watch(WatchRequest { range, start_revision, prev_kv: true }).await
    }

    /// Reads all objects at one revision. Watches that have not seen everything before it end as expired.
    async fn fill(&self, feed: &mut Option<Box<dyn Watcher>>) -> Result<(), Error> {
        let mut objects = Objects::new();
        let mut revision = 0;
        let mut range = KeyRange::prefix(self.resource.prefix());
        loop {
            let request = RangeRequest { range: range.clone(), revision, limit: PAGE, ..RangeRequest::default() };
            let page = self.store.range(request).await?;
            if revision == 0 {
                revision = page.revision;
            }
            if let Some(last) = page.kvs.last() {
                let mut next = last.key.to_vec();
                next.push(0);
                range.start = next.into();
            }
            for kv in page.kvs {
                // An object that cannot be read is as good as absent here; reading it by name says what is wrong.
                if let Some(key) = self.short_key(&kv.key)
                    && let Ok(stored) = Stored::from_value(kv.value, kv.mod_revision)
                {
                    objects.insert(key, Entry::new(&self.resource, stored));
                }
            }
            if !page.more {
                break;
            }
        }
        *feed = Some(self.open(revision + 1).await?);
        let mut state = self.state();
        state.epoch += 1;
        state.ring = Ring::new(revision, 0, self.limits);
        state.objects = objects;
        state.revision = revision;
        state.last_change = revision;
        state.interests.wake_all();
        drop(state);
        self.moved.notify_waiters();
        Ok(())
    }

    /// Says that an object is about to be written, so that its event finds it laid out and read.
    pub(crate) fn announce<'a>(&'a self, stored: &'a Stored, object: &Object) -> Announcement<'a> {
        let selectable = Arc::new(Selectable::of(&self.resource, object));
        let announced = Announced { stored: stored.clone(), selectable, written: None };
        self.state().announced.push_back(announced);
        Announcement { cache: self, stored }
    }

    /// Ends all watches: what they watch is served no longer.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.interests.wake_all();
    }

    fn short_key(&self, key: &[u8]) -> Option<Arc<str>> {
        let text = std::str::from_utf8(key).ok()?;
        Some(text.strip_prefix(&self.resource.prefix())?.into())
    }

    fn apply(&self, revision: Revision, events: Vec<Event>) {
        let now = Instant::now();
        let mut guard = self.state();
        let state = &mut *guard;
        for event in events {
            if event.kv.mod_revision <= state.revision {
                continue;
            }
            let Some(key) = self.short_key(&event.kv.key) else { continue };
            let old = state.objects.get(&key).cloned();
            let new = self.entry_after(&event, &mut state.announced);
            if old.is_none() && new.is_none() {
                continue;
            }
            match &new {
                Some(entry) => drop(state.objects.insert(Arc::clone(&key), entry.clone())),
                None => drop(state.objects.remove(&key)),
            }
            let at = event.kv.mod_revision;
            state.last_change = at;
            let number = state.ring.push(Change {
                revision: at,
                key: Arc::clone(&key),
                old: old.clone(),
                new: new.clone(),
                at: now,
            });
            state.interests.touch(&self.resource, number, &key, old.as_ref(), new.as_ref());
        }
        if revision > state.revision {
            state.revision = revision;
            // An event that was not seen, because it came with a fill, is waited for no longer.
            let is_ahead =
                |announced: &Announced| announced.written.as_ref().is_none_or(|written| written.revision() > revision);
            state.announced.retain(is_ahead);
        }
        drop(guard);
        self.moved.notify_waiters();
    }

    fn entry_after(&self, event: &Event, announced: &mut VecDeque<Announced>) -> Option<Entry> {
        if event.kind == EventKind::Delete {
            return None;
        }
        let at = event.kv.mod_revision;
        let own = announced.iter().position(|announced| announced.stored.value() == &event.kv.value);
        match own.and_then(|index| announced.remove(index)) {
            Some(Announced { stored, selectable, written }) => {
                let written = written.filter(|written| written.revision() == at);
                Some(Entry::with(written.unwrap_or_else(|| stored.at(at)), selectable))
            }
            None => Some(Entry::new(&self.resource, Stored::from_value(event.kv.value.clone(), at).ok()?)),
        }
    }
}

/// What was announced is waited for until this is dropped, or for its event if it is settled.
pub(crate) struct Announcement<'a> {
    cache: &'a Cache,
    stored: &'a Stored,
}

impl Announcement<'_> {
    /// The object was written at `revision`: as it is then, shared with the cache.
    pub(crate) fn settle(self, key: &str, revision: Revision) -> Stored {
        let mut guard = self.cache.state();
        let state = &mut *guard;
        let waiting = state.announced.iter_mut().rfind(|announced| announced.stored.is_same(self.stored));
        if let Some(announced) = waiting {
            return announced.written.insert(self.stored.at(revision)).clone();
        }
        let cached = state.objects.get(key).map(|entry| &entry.stored);
        cached.filter(|cached| cached.revision() == revision).cloned().unwrap_or_else(|| self.stored.at(revision))
    }
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        let is_over = |announced: &Announced| announced.written.is_none() && announced.stored.is_same(self.stored);
        self.cache.state().announced.retain(|announced| !is_over(announced));
    }
}

/// The store's newest revision. In Kubernetes: `GetCurrentResourceVersion`, a read of a key that does not exist.
pub(crate) async fn newest(store: &Arc<dyn Store>, resource: &Resource) -> Result<Revision, Status> {
    let range = KeyRange::key(format!("/registry/{}", resource.directory));
    let request = RangeRequest { range, limit: 1, count_only: true, ..RangeRequest::default() };
    Ok(store.range(request).await.map_err(errors::status)?.revision)
}
