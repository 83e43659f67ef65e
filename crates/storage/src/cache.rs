use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use coracle_meta::Status;
use coracle_store::{
    Error, Event, EventKind, KeyRange, RangeRequest, Revision, Store, WatchBatch, WatchRequest, Watcher,
};
use futures_util::future::{Either, select};
use tokio::sync::Notify;

use crate::entry::{Entry, Objects};
use crate::errors;
use crate::interest::Interests;
use crate::ring::{Change, HistoryLimits, Ring};
use crate::{Resource, Stored};

/// How long a read waits for a revision that has not happened yet. In Kubernetes: `blockTimeout`.
const WAIT_FOR_REVISION: Duration = Duration::from_secs(3);
/// How often a store in another process is asked how far it is, while somebody waits to know.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// How many objects one read of the first fill takes.
const PAGE: i64 = 10_000;

/// The objects of one resource as of a revision, and the changes that led there.
///
/// There is no task behind it: the feed is a cursor of the store, and whoever waits for news pulls it. One does at a
/// time; what it pulls serves all, and when it stops (dropped, or it has what it wanted) the next takes over.
pub(crate) struct Cache {
    pub(crate) resource: Arc<Resource>,
    store: Arc<dyn Store>,
    limits: HistoryLimits,
    state: Mutex<State>,
    feed: tokio::sync::Mutex<Option<Box<dyn Watcher>>>,
    /// Somebody wants to know how far the cache is: whoever pulls asks the store.
    ask: Notify,
    /// The revision of the state moved.
    moved: Notify,
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
    /// Objects that this process wrote and whose events have not come yet, so that nobody parses them again.
    written: Vec<Stored>,
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
            written: Vec::new(),
        };
        Self {
            resource,
            store,
            limits,
            state: Mutex::new(state),
            feed: tokio::sync::Mutex::new(None),
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

    /// Makes the state fresh enough for those who take any.
    ///
    /// Nobody may have pulled for long, and then the state is as old as that. In Kubernetes, caches are fed all the time and
    /// lag by milliseconds; programs such as `kubectl wait` count on that.
    pub(crate) async fn fresh(&self) -> Result<(), Status> {
        self.catch_up().await.map(drop)
    }

    /// Waits until the state is at least as new as the store is now; returns how new that was.
    pub(crate) async fn catch_up(&self) -> Result<Revision, Status> {
        self.ready().await?;
        let newest = newest(&self.store, &self.resource).await?;
        self.reach(newest).await?;
        Ok(newest)
    }

    /// Waits until the state has reached `revision`; 504 if that does not happen in time.
    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), Status> {
        self.ready().await?;
        if self.state().revision >= revision {
            return Ok(());
        }
        match tokio::time::timeout(WAIT_FOR_REVISION, self.reach(revision)).await {
            Ok(reached) => reached,
            Err(_elapsed) => Err(errors::too_large(revision, self.state().revision)),
        }
    }

    async fn reach(&self, revision: Revision) -> Result<(), Status> {
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
    pub(crate) async fn pull(&self) -> Result<(), Status> {
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

    /// Remembers an object that was just written, until its event comes.
    pub(crate) fn remember(&self, stored: &Stored) {
        let mut state = self.state();
        if state.revision > 0 && stored.revision() > state.revision {
            state.written.push(stored.clone());
        }
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
        let mut guard = self.state();
        let state = &mut *guard;
        for event in events {
            let Some(key) = self.short_key(&event.kv.key) else { continue };
            let old = state.objects.get(&key).cloned();
            let new = self.entry_after(&event, &mut state.written);
            if old.is_none() && new.is_none() {
                continue;
            }
            match &new {
                Some(entry) => drop(state.objects.insert(Arc::clone(&key), entry.clone())),
                None => drop(state.objects.remove(&key)),
            }
            let at = event.kv.mod_revision;
            state.last_change = at;
            let number =
                state.ring.push(Change { revision: at, key: Arc::clone(&key), old: old.clone(), new: new.clone() });
            state.interests.touch(&self.resource, number, &key, old.as_ref(), new.as_ref());
        }
        if revision > state.revision {
            state.revision = revision;
            state.written.retain(|stored| stored.revision() > revision);
        }
        drop(guard);
        self.moved.notify_waiters();
    }

    fn entry_after(&self, event: &Event, written: &mut Vec<Stored>) -> Option<Entry> {
        if event.kind == EventKind::Delete {
            return None;
        }
        let at = event.kv.mod_revision;
        let own = written.iter().position(|stored| stored.revision() == at && stored.value() == &event.kv.value);
        let stored = match own {
            Some(index) => written.swap_remove(index),
            None => Stored::from_value(event.kv.value.clone(), at).ok()?,
        };
        Some(Entry::new(&self.resource, stored))
    }
}

/// The store's newest revision. In Kubernetes: `GetCurrentResourceVersion`, a read of a key that does not exist.
pub(crate) async fn newest(store: &Arc<dyn Store>, resource: &Resource) -> Result<Revision, Status> {
    let range = KeyRange::key(format!("/registry/{}", resource.directory));
    let request = RangeRequest { range, limit: 1, count_only: true, ..RangeRequest::default() };
    Ok(store.range(request).await.map_err(errors::status)?.revision)
}
