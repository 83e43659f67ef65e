//! A reader keeps the events that it has not processed in a queue. Its watch ends, and it lists again. It compares
//! the list with its cache only: an object whose creation is in the queue, and that is gone now, is in neither. So
//! the reader makes no deletion of it. Then it processes the creation, and keeps the object for ever.
//!
//! Found in: client-go (kubernetes#115658, `DeltaFIFO.Replace`).
//! The fault: `gone` (410) for the watch while an object is deleted.
//! The fix: the list is compared with the queue, too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use coracle::meta::{Object, WatchEvent};
use coracle::runtime::{Api, Error, ListParams, WatchParams};
use coracle::simulation::faults::Fault;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{Bug, OPERATOR, Program, SECOND, Trial, Twin, USER, check, first, object, objects, watches, when};

enum Delta {
    Set(Object),
    Gone(String),
}

#[derive(Clone)]
struct Reader {
    api: Api<Object>,
    queue: Arc<Mutex<VecDeque<Delta>>>,
    cache: Arc<Mutex<BTreeMap<String, Object>>>,
    twin: Twin,
}

impl Reader {
    /// Takes a list: what is known and not in it is gone.
    fn replace(&self, listed: Vec<Object>) {
        let mut queue = self.queue.lock();
        let mut known: Vec<String> = self.cache.lock().keys().cloned().collect();
        if self.twin == Twin::Fixed {
            known.extend(queue.iter().filter_map(|delta| match delta {
                Delta::Set(object) => Some(object.name().to_owned()),
                Delta::Gone(_) => None,
            }));
        }
        known.retain(|name| listed.iter().all(|object| object.name() != name));
        queue.extend(known.into_iter().map(Delta::Gone));
        queue.extend(listed.into_iter().map(Delta::Set));
    }

    async fn read(&self) -> Result<(), Error> {
        let list = self.api.list(&ListParams::default()).await?;
        self.replace(list.items);
        let resource_version = Some(list.metadata.resource_version);
        let mut watch = self.api.watch(&WatchParams { resource_version, ..WatchParams::default() }).await?;
        while let Some(event) = watch.next().await? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.queue.lock().push_back(Delta::Set(object));
                }
                WatchEvent::Deleted(object) => self.queue.lock().push_back(Delta::Gone(object.name().to_owned())),
                WatchEvent::Bookmark { .. } | WatchEvent::Error(_) => {}
            }
        }
        Ok(())
    }

    async fn read_for_ever(self) {
        loop {
            // However a watch ends, the reader waits and lists again.
            let _ = self.read().await;
            sleep(Duration::from_millis(800)).await;
        }
    }

    /// Processes the queue: one object each second.
    async fn process(self) {
        loop {
            sleep(SECOND).await;
            let delta = self.queue.lock().pop_front();
            match delta {
                Some(Delta::Set(object)) => drop(self.cache.lock().insert(object.name().to_owned(), object)),
                Some(Delta::Gone(name)) => drop(self.cache.lock().remove(&name)),
                None => {}
            }
        }
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Note"];
    const WRONG: &'static str = "the cache holds a note that is gone";

    fn faults() -> Vec<Fault> {
        vec![when(first(USER, "delete", "Note"), watches("Note", "gone", json!({})))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let api = objects(&trial.operator(OPERATOR), "Note");
        let reader = Reader { api, queue: Arc::default(), cache: Arc::default(), twin };
        let cache = Arc::clone(&reader.cache);
        let _reading = Program::start(reader.clone().read_for_ever());
        let _processing = Program::start(reader.process());

        sleep(SECOND).await;
        for name in ["a", "b", "c", "short"] {
            trial.create(object("Note", name, json!({}))).await;
        }
        sleep(Duration::from_millis(100)).await;
        trial.delete("Note", "short").await;
        sleep(60 * SECOND).await;
        let cached: Vec<String> = cache.lock().keys().cloned().collect();
        check(cached == ["a", "b", "c"], Self::WRONG)
    }
}
