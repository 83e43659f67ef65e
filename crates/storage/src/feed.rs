//! The task that keeps a cache in sync with the store. In Kubernetes: the reflector of `cacher.Cacher`.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_store::{Error, Event, EventKind, KeyRange, RangeRequest, WatchBatch, WatchRequest, Watcher};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::time::Instant;

use crate::cache::{Cache, CacheState};
use crate::decoded_objects::decoded_before;
use crate::entry::{Entry, Objects};
use crate::errors;
use crate::parts::Parts;
use crate::ring::{Change, Ring};
use crate::unreadable::Unreadable;

/// The delay before an unreachable store is retried, if no reader requests it earlier.
const PAUSE: Duration = Duration::from_millis(100);

/// Feeds a cache, and retries after errors of the store. Dropping the future closes the cache.
pub(crate) async fn run(cache: Arc<Cache>) -> Infallible {
    let feed = Feed { cache };
    let mut must_fill = true;
    loop {
        let failed = match feed.open(&mut must_fill).await {
            Err(error) => Some(error),
            Ok(cursor) => match feed.follow(cursor).await {
                Error::Compacted { .. } => {
                    must_fill = true;
                    None
                }
                // The cursor has ended, and a new one can continue from its position.
                Error::Unavailable(_) => None,
                error => Some(error),
            },
        };
        if let Some(error) = failed {
            feed.pause(error).await;
        }
    }
}

struct Feed {
    cache: Arc<Cache>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.cache.close();
    }
}

impl Feed {
    /// Opens a cursor that continues from the cache's revision, after a fill if changes were missed.
    async fn open(&self, must_fill: &mut bool) -> Result<Box<dyn Watcher>, Error> {
        let cache = &self.cache;
        if *must_fill {
            self.fill().await?;
            *must_fill = false;
        }
        let start_revision = cache.state().revision + 1;
        let range = KeyRange::prefix(cache.resource.prefix());
        let cursor = cache.store.watch(WatchRequest { range, start_revision, prev_kv: true }).await?;
        cache.state().position = cursor.position();
        cache.moved.notify_waiters();
        Ok(cursor)
    }

    /// Applies changes in batches, until the cursor ends. A write wakes this task only if a reader or a watch needs
    /// it.
    async fn follow(&self, mut cursor: Box<dyn Watcher>) -> Error {
        let error = loop {
            // A notification may be for a reader that has found what it needs in the meantime.
            while self.cache.state().is_quiet() {
                self.cache.asked.notified().await;
            }
            // The notification comes first, so that changes stay pending if the last reader has left.
            let next = match select(pin!(self.cache.asked.notified()), cursor.next()).await {
                Either::Left(_) => None,
                Either::Right((batch, _)) => Some(batch),
            };
            let next = match next {
                None if self.cache.state().is_quiet() => continue,
                None => cursor.next().now_or_never(),
                next => next,
            };
            let batch = match next {
                Some(batch) => batch,
                None => cursor.progress().await.map(|revision| WatchBatch { revision, events: Vec::new() }),
            };
            match batch {
                Ok(batch) => self.apply(batch),
                Err(error) => break error,
            }
        };
        self.cache.state().position = None;
        error
    }

    /// Reports the error to waiting readers, and pauses.
    async fn pause(&self, error: Error) {
        {
            let mut state = self.cache.state();
            state.failures += 1;
            state.failure = Some(errors::status(error));
        }
        self.cache.moved.notify_waiters();
        select(pin!(tokio::time::sleep(PAUSE)), pin!(self.cache.asked.notified())).await;
    }

    /// Reads all objects at one revision. Watches that have not seen all changes before it end as expired.
    async fn fill(&self) -> Result<(), Error> {
        let cache = &self.cache;
        let (mut objects, mut unreadable) = (Objects::new(), Unreadable::default());
        let decoded = cache.state().decoded.clone();
        let mut revision = 0;
        let request = RangeRequest { range: KeyRange::prefix(cache.resource.prefix()), ..RangeRequest::default() };
        let mut parts = Parts::open(&*cache.store, request, cache.streams_ranges).await?;
        while let Some(part) = parts.next().await? {
            if revision == 0 {
                revision = part.revision;
            }
            for kv in part.kvs {
                let Some(key) = self.short_key(&kv.key) else { continue };
                let entry = match decoded_before(&decoded, &key, &kv.value, kv.mod_revision) {
                    Some(entry) => Ok(entry),
                    None => Entry::read(&cache.resource, kv.value, kv.mod_revision),
                };
                match entry {
                    Ok(entry) => drop(objects.insert(key, entry)),
                    Err(why) => unreadable.insert(key, why),
                }
            }
        }
        let mut state = cache.state();
        state.epoch += 1;
        let live_bytes = objects.values().map(|entry| entry.stored.len()).sum();
        state.ring = Ring::new(revision, 0, live_bytes, cache.limits);
        state.objects = objects;
        state.decoded = Objects::new();
        state.unreadable = unreadable;
        state.is_missed = false;
        state.revision = revision;
        state.announced.reach(revision);
        state.last_change = revision;
        state.interests.wake_all();
        let found = state.unreadable.all(&cache.resource);
        drop(state);
        cache.reports.tell(&found);
        Ok(())
    }

    fn apply(&self, batch: WatchBatch) {
        let now = Instant::now();
        let mut state = self.cache.state();
        state.is_missed = false;
        let seen = state.revision;
        for event in batch.events.iter().filter(|event| event.kv.mod_revision > seen) {
            self.apply_event(&mut state, event, now);
        }
        state.reach(batch.revision);
        drop(state);
        self.cache.moved.notify_waiters();
    }

    fn apply_event(&self, state: &mut CacheState, event: &Event, now: Instant) {
        let resource = &self.cache.resource;
        let Some(key) = self.short_key(&event.kv.key) else { return };
        let was_unreadable = state.unreadable.remove(&key);
        let new = match event.kind {
            EventKind::Put => match state.announced.entry_after(event, resource) {
                Ok(entry) => Some(entry),
                Err(why) => {
                    let found = (String::from_utf8_lossy(&event.kv.key).into_owned(), why.clone());
                    state.unreadable.insert(Arc::clone(&key), why);
                    self.cache.reports.tell(&[found]);
                    None
                }
            },
            EventKind::Delete => None,
        };
        let old = match &new {
            Some(entry) => state.objects.insert(Arc::clone(&key), entry.clone()),
            None => state.objects.remove(&key),
        };
        let revision = event.kv.mod_revision;
        let is_unreadable = new.is_none() && event.kind == EventKind::Put;
        if old.is_some() || new.is_some() || was_unreadable || is_unreadable {
            state.last_change = revision;
        }
        if old.is_none() && new.is_none() {
            return;
        }
        let change = Change::new(revision, Arc::clone(&key), old.clone(), new.clone(), now);
        let number = state.ring.push(change);
        state.interests.touch(resource, number, &key, old.as_ref(), new.as_ref());
    }

    fn short_key(&self, key: &[u8]) -> Option<Arc<str>> {
        Some(self.cache.resource.below_prefix(std::str::from_utf8(key).ok()?)?.into())
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
    use crate::{Attempt, Draft, Freshness, Resource, Storage, Write, render};

    fn thing(number: usize) -> Arc<Object> {
        let metadata =
            json!({"name": format!("t{number}"), "namespace": "ns", "labels": {"number": number.to_string()}});
        Arc::new(Object::from_value(json!({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})).unwrap())
    }

    async fn put(storage: &Storage, resource: &Arc<Resource>, number: usize, draft: &Draft) {
        let write = Write::Put { draft, ttl_seconds: None };
        let written = storage.write(resource, &thing(number).key(), None, write, None).await.unwrap();
        assert!(matches!(written, Attempt::Done(stored) if stored.value() == draft.value()));
    }

    fn storage() -> (Storage, Arc<Resource>) {
        let storage = Storage::new(Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()))));
        tokio::spawn(storage.run());
        (storage, Arc::new(Resource::new(GroupResource::new("", "things"), "things", true)))
    }

    #[tokio::test(start_paused = true)]
    async fn changes_stay_pending_from_the_first_write_on_until_a_reader_needs_them() {
        let (storage, resource) = storage();
        let cache = storage.cache(&resource);
        cache.ready().await.unwrap();
        let empty = cache.state().revision;
        for number in 0..10 {
            put(&storage, &resource, number, &Draft::new(thing(number))).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(cache.state().revision, empty, "no reader needs the changes");
        let read = storage.get(&resource, &thing(7).key(), Freshness::Any).await.unwrap().unwrap();
        assert_eq!(read.object().name(), "t7");
        assert_eq!(cache.state().objects.len(), 10, "a reader does");
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_that_a_reader_has_found_in_the_store_is_found_by_the_next_one_in_the_cache() {
        let (storage, resource) = storage();
        put(&storage, &resource, 0, &Draft::laid_out(render(&thing(0))).unwrap()).await;
        let key = thing(0).key();
        let read = || storage.get(&resource, &key, Freshness::Newest);
        let first = read().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (second, third) = (read().await.unwrap().unwrap(), read().await.unwrap().unwrap());
        assert!(first.value() == second.value() && !first.is_same(&second), "the first one has read the store");
        assert!(second.is_same(&third), "the others share an object");
    }

    #[tokio::test(start_paused = true)]
    async fn many_changes_are_applied_without_a_reader() {
        let (storage, resource) = storage();
        let cache = storage.cache(&resource);
        for number in 0..70 {
            put(&storage, &resource, number, &Draft::new(thing(number))).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(cache.state().objects.len() >= 64);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_was_laid_out_is_stored_and_read_as_one_that_was_parsed() {
        let (storage, resource) = storage();
        put(&storage, &resource, 0, &Draft::new(thing(0))).await;
        put(&storage, &resource, 1, &Draft::laid_out(render(&thing(1))).unwrap()).await;
        let cache = storage.cache(&resource);
        assert_eq!(cache.state().announced.len(), 1, "the other is not parsed by its write");
        for (number, revision) in [(0, 2), (1, 3)] {
            let read = storage.get(&resource, &thing(number).key(), Freshness::Any).await.unwrap().unwrap();
            let mut expected = Object::clone(&thing(number));
            expected.set_resource_version(revision.to_string());
            assert_eq!(*read.object(), expected);
        }
        assert!(Draft::laid_out("[]".into()).is_err());
    }
}
