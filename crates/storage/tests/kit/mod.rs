//! Objects for tests, and a client's mirror of them.

#![allow(dead_code, clippy::allow_attributes, reason = "every test uses a part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{GroupResource, LabelSelector, Object, ObjectKey, Status, WatchEvent, reason};
use coracle_storage::{
    Attempt, Draft, Freshness, HistoryLimits, ListQuery, Resource, Selection, Storage, Stored, Watch, WatchQuery,
    WatchStart, Write,
};
use coracle_store::{Error, Store};
use proptest::prelude::*;
use serde_json::json;

/// Storage whose caches are fed for as long as the test's runtime lives.
pub(crate) fn fed(storage: Storage) -> Storage {
    tokio::spawn(storage.run());
    storage
}

pub(crate) fn things() -> Arc<Resource> {
    let mut resource = Resource::new(GroupResource::new("", "things"), "things", true);
    resource.selectable = vec!["spec.node".to_owned()];
    resource.indexed = resource.selectable.clone();
    resource.field = Box::new(|object, field| match field {
        "spec.node" => object.text("spec.node").to_owned(),
        _ => String::new(),
    });
    Arc::new(resource)
}

pub(crate) fn thing(name: &str, color: &str, node: &str) -> Object {
    Object::from_value(json!({
        "apiVersion": "v1", "kind": "Thing",
        "metadata": {"name": name, "namespace": "ns", "labels": {"color": color}},
        "spec": {"node": node},
    }))
    .unwrap()
}

/// Forgets all history, as soon as the store can be reached.
pub(crate) async fn compact(storage: &Storage) {
    let store = storage.store();
    loop {
        let done = match store.status().await {
            Ok(status) => store.compact(status.revision).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(()) | Err(Error::Compacted { .. }) => return,
            Err(Error::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}

/// Writes until nobody else came between; nothing comes of deleting what is not there.
pub(crate) async fn write(
    storage: &Storage,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    write: Write<'_>,
) -> Result<Option<Stored>, Status> {
    let mut current = storage.get(resource, key, Freshness::Newest).await?;
    loop {
        if matches!((write, &current), (Write::Delete, None)) {
            return Ok(None);
        }
        match storage.write(resource, key, current.as_ref(), write, None).await? {
            Attempt::Done(stored) => return Ok(Some(stored)),
            Attempt::Stale(now) => current = now,
        }
    }
}

/// Writes; while the store is away, again and again.
pub(crate) async fn put(storage: &Storage, object: Object) -> Stored {
    loop {
        let draft = Draft::new(object.clone());
        let written = write(storage, &things(), &object.key(), Write::Put { draft: &draft, ttl_seconds: None }).await;
        if let Some(written) = unless_away(written).await {
            return written.unwrap();
        }
    }
}

/// Deletes; while the store is away, again and again. Returns what was deleted, as of its deletion.
pub(crate) async fn delete(storage: &Storage, name: &str) -> Option<Stored> {
    loop {
        let deleted = write(storage, &things(), &key(name), Write::Delete).await;
        if let Some(deleted) = unless_away(deleted).await {
            return deleted;
        }
    }
}

/// What came of a request; nothing, after a while, if the store is away.
pub(crate) async fn unless_away<T>(outcome: Result<T, Status>) -> Option<T> {
    match outcome {
        Ok(outcome) => Some(outcome),
        Err(status) if status.reason == reason::SERVICE_UNAVAILABLE => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
        Err(status) => panic!("{status}"),
    }
}

pub(crate) async fn list(storage: &Storage, query: ListQuery) -> Result<coracle_storage::StoredList, Status> {
    storage.list(&things(), &query).await
}

pub(crate) async fn watch(storage: &Storage, query: WatchQuery) -> Watch {
    storage.watch(&things(), &query).await.unwrap()
}

pub(crate) async fn event(watch: &mut Watch) -> String {
    match tokio::time::timeout(Duration::from_secs(600), watch.next()).await {
        Ok(Some(event)) => text(&event),
        Ok(None) => "end".to_owned(),
        Err(_) => "silence".to_owned(),
    }
}

pub(crate) fn text(event: &WatchEvent<Stored>) -> String {
    let word = event.event_type().as_str();
    match event {
        WatchEvent::Bookmark { resource_version, initial_events_end } => {
            format!("{word} {resource_version}{}", if *initial_events_end { " end" } else { "" })
        }
        WatchEvent::Error(status) => format!("{word} {} {}", status.code, status.message),
        event => {
            let stored = event.object().unwrap();
            format!("{word} {} {}", stored.object().name(), stored.revision())
        }
    }
}

pub(crate) fn names(list: &coracle_storage::StoredList) -> Vec<String> {
    list.items.iter().map(|stored| stored.object().name().to_owned()).collect()
}

pub(crate) fn labelled(text: &str) -> Selection {
    Selection { labels: LabelSelector::parse(text).unwrap(), ..Selection::namespace("ns") }
}

/// What a client does in the property test.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Put(u8, u8),
    Delete(u8),
    Compact,
    /// Lets the mirror take at most so many events.
    Take(u8),
    /// The connection breaks: the watch starts again where it was, or with a list if that is gone.
    Reconnect,
    /// Another reader keeps the cache going.
    List,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..6_u8, 0..3_u8).prop_map(|(name, color)| Step::Put(name, color)),
        2 => (0..6_u8).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        3 => (0..5_u8).prop_map(Step::Take),
        2 => Just(Step::Reconnect),
        1 => Just(Step::List),
    ];
    prop::collection::vec(step, 0..60)
}

/// A client's copy of the objects of a selection, kept as informers keep theirs.
pub(crate) struct Mirror {
    pub(crate) selection: Selection,
    pub(crate) objects: BTreeMap<String, i64>,
    /// Everything up to here is in `objects`. It never goes back.
    pub(crate) seen: i64,
    /// What it was not told event by event, because it had to list: after the first, up to the second.
    pub(crate) gaps: Vec<(i64, i64)>,
    /// The revisions of the events that it was told.
    pub(crate) told: Vec<i64>,
    watch: Option<Watch>,
    has_to_list: bool,
}

impl Mirror {
    pub(crate) async fn new(storage: &Storage, selection: Selection) -> Self {
        let (objects, gaps, told) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut mirror = Self { selection, objects, seen: 0, gaps, told, watch: None, has_to_list: true };
        mirror.connect(storage).await;
        mirror
    }

    pub(crate) async fn connect(&mut self, storage: &Storage) {
        loop {
            let query = WatchQuery {
                selection: self.selection.clone(),
                start: WatchStart::After(self.seen),
                bookmarks: true,
                ..WatchQuery::default()
            };
            if self.has_to_list {
                self.list(storage).await;
            } else if let Ok(watch) = storage.watch(&things(), &query).await {
                self.watch = Some(watch);
                return;
            } else {
                self.has_to_list = true;
            }
        }
    }

    async fn list(&mut self, storage: &Storage) {
        let everything = ListQuery { selection: self.selection.clone(), ..ListQuery::default() };
        if let Some(list) = unless_away(storage.list(&things(), &everything).await).await {
            assert!(list.revision >= self.seen, "a list went back");
            let entry = |stored: &Stored| (stored.object().name().to_owned(), stored.revision());
            self.objects = list.items.iter().map(entry).collect();
            self.gaps.push((self.seen, list.revision));
            self.seen = list.revision;
            self.has_to_list = false;
        }
    }

    /// Takes events for as long as there are some at once; with a bound, at most so many.
    pub(crate) async fn take(&mut self, storage: &Storage, most: usize) {
        for _ in 0..most {
            let watch = self.watch.as_mut().unwrap();
            let Ok(event) = tokio::time::timeout(Duration::from_millis(10), watch.next()).await else { return };
            self.take_event(storage, event).await;
        }
    }

    async fn take_event(&mut self, storage: &Storage, event: Option<WatchEvent<Stored>>) {
        if let Some(revision) = event.as_ref().and_then(WatchEvent::object).map(Stored::revision) {
            assert!(revision > self.seen, "an event came twice or out of order");
            self.seen = revision;
            self.told.push(revision);
        }
        match event {
            Some(WatchEvent::Added(stored)) => {
                let before = self.objects.insert(stored.object().name().to_owned(), stored.revision());
                assert_eq!(before, None, "added twice");
            }
            Some(WatchEvent::Modified(stored)) => {
                let before = self.objects.insert(stored.object().name().to_owned(), stored.revision());
                assert!(before.is_some(), "modified before it was added");
            }
            Some(WatchEvent::Deleted(stored)) => {
                assert!(self.objects.remove(stored.object().name()).is_some(), "deleted before it was added");
            }
            Some(WatchEvent::Bookmark { resource_version, .. }) => {
                self.seen = self.seen.max(resource_version.parse().unwrap());
            }
            Some(WatchEvent::Error(_)) | None => {
                self.has_to_list = true;
                self.connect(storage).await;
            }
        }
    }

    /// Waits until it is equal to a list.
    pub(crate) async fn settle(&mut self, storage: &Storage) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        let query = ListQuery { selection: self.selection.clone(), ..ListQuery::default() };
        let list = loop {
            if let Some(list) = unless_away(storage.list(&things(), &query).await).await {
                break list;
            }
        };
        let entry = |stored: &Stored| (stored.object().name().to_owned(), stored.revision());
        let listed: BTreeMap<_, _> = list.items.iter().map(entry).collect();
        while self.objects != listed {
            assert!(tokio::time::Instant::now() < deadline, "{:?} is not {listed:?}", self.objects);
            self.take(storage, 1).await;
        }
    }
}

/// Any interleaving leaves the mirrors equal to the store.
pub(crate) async fn mirrors_stay_equal(store: Arc<dyn Store>, limits: HistoryLimits, steps: &[Step]) {
    let storage = fed(Storage::with_history(store, limits));
    let mut mirrors = Vec::new();
    for selection in [Selection::default(), labelled("color=c1")] {
        mirrors.push(Mirror::new(&storage, selection).await);
    }
    for step in steps {
        match step {
            Step::Put(name, color) => {
                put(&storage, thing(&format!("t{name}"), &format!("c{color}"), "")).await;
            }
            Step::Delete(name) => drop(delete(&storage, &format!("t{name}")).await),
            Step::Compact => compact(&storage).await,
            Step::Take(most) => {
                for mirror in &mut mirrors {
                    mirror.take(&storage, usize::from(*most)).await;
                }
            }
            Step::Reconnect => {
                for mirror in &mut mirrors {
                    mirror.connect(&storage).await;
                }
            }
            Step::List => drop(list(&storage, ListQuery::default()).await.unwrap()),
        }
    }
    for mirror in &mut mirrors {
        mirror.settle(&storage).await;
    }
}
