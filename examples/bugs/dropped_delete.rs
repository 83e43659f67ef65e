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

use coracle::ControllerCheck;
use coracle::meta::{Object, WatchEvent};
use coracle::runtime::controller::Process;
use coracle::runtime::{Api, Client, Error, ListParams, Patch, WatchParams};
use coracle::simulation::faults::Fault;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, Program, SECOND, Searched, Trial, Twin, USER, check, first, key, object, objects, watches, when,
};

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
            self.process_one();
        }
    }

    fn process_one(&self) {
        let delta = self.queue.lock().pop_front();
        match delta {
            Some(Delta::Set(object)) => drop(self.cache.lock().insert(object.name().to_owned(), object)),
            Some(Delta::Gone(name)) => drop(self.cache.lock().remove(&name)),
            None => {}
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

impl Searched for Example {
    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        const SHORT: &str = "{apiVersion: example.com/v1, kind: Note, metadata: {name: short}}";
        let check = check.given("{apiVersion: v1, kind: ConfigMap, metadata: {name: index, namespace: default}}");
        check.workload(async |user| {
            user.settled().await?;
            for name in ["a", "b", "c"] {
                user.create(&object("Note", name, json!({})).to_value().to_string()).await?;
            }
            user.create(SHORT).await?;
            sleep(Duration::from_millis(100)).await;
            user.delete(SHORT).await
        })
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let api = objects(&process.client, "Note");
        let reader = Reader { api, queue: Arc::default(), cache: Arc::default(), twin };
        let indexing = index(process.client, reader.clone());
        async move {
            let ((), ()) = tokio::join!(biased; reader.read_for_ever(), indexing);
        }
    }
}

/// Processes the queue, and writes the names in the cache into an index, which users read, when the queue is empty.
async fn index(client: Client, reader: Reader) {
    let (maps, mut written) = (objects(&client, "ConfigMap"), None);
    loop {
        sleep(SECOND).await;
        reader.process_one();
        if !reader.queue.lock().is_empty() {
            continue;
        }
        let names = reader.cache.lock().keys().cloned().collect::<Vec<_>>().join(",");
        if written.as_ref() != Some(&names) {
            let index = Patch::Merge(json!({"data": {"names": names}}));
            // It is tried again in the next second.
            let is_written = maps.patch(&key("index"), &index).await.is_ok();
            written = is_written.then_some(names);
        }
    }
}
