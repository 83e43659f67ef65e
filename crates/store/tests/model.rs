//! Random operations on the engine and on an obvious model of it, which keeps every version of every key in a map.

use std::collections::BTreeMap;

use bytes::Bytes;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_store::{
    Compare, Engine, Error, Event, EventKind, KeyRange, KeyValue, Operation, OperationResult, Options, RangeRequest,
    Revision, Store, Txn, WatchRequest, Watcher,
};
use proptest::prelude::*;

/// One step of a run.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    DeleteRange(u8, u8),
    Guarded { key: u8, stale: bool, value: u8 },
    Batch(Vec<(u8, Option<u8>)>),
    RangeAt { from: u8, to: u8, back: i64, limit: i64 },
    Compact { back: i64 },
    Watch { from: u8, to: u8, back: i64 },
    Drain,
}

fn key(number: u8) -> Bytes {
    Bytes::from(format!("/{}/{number}", number % 3))
}

/// From one key to another, or all that is under a prefix.
fn range(from: u8, to: u8) -> KeyRange {
    match to {
        8 => KeyRange::prefix(format!("/{}/", from % 3)),
        7 if from == 0 => KeyRange::prefix("/"),
        _ => KeyRange { start: key(from), end: key(to) },
    }
}

fn step() -> impl Strategy<Value = Step> {
    let k = 0_u8..8;
    prop_oneof![
        4 => (k.clone(), any::<u8>()).prop_map(|(k, v)| Step::Put(k, v)),
        2 => (k.clone(), 0_u8..9).prop_map(|(from, to)| Step::DeleteRange(from, to)),
        2 => (k.clone(), any::<bool>(), any::<u8>()).prop_map(|(key, stale, value)| Step::Guarded { key, stale, value }),
        2 => proptest::collection::btree_map(k.clone(), proptest::option::of(any::<u8>()), 1..5)
            .prop_map(|writes| Step::Batch(writes.into_iter().collect())),
        3 => (k.clone(), 0_u8..9, -1_i64..12, 0_i64..4)
            .prop_map(|(from, to, back, limit)| Step::RangeAt { from, to, back, limit }),
        1 => (0_i64..8).prop_map(|back| Step::Compact { back }),
        1 => (k, 0_u8..9, -2_i64..12).prop_map(|(from, to, back)| Step::Watch { from, to, back }),
        1 => Just(Step::Drain),
    ]
}

#[derive(Default)]
struct Model {
    revision: Revision,
    compacted: Revision,
    /// Every version ever, with `None` for deletions.
    versions: BTreeMap<Bytes, BTreeMap<Revision, Option<KeyValue>>>,
    events: Vec<Event>,
}

impl Model {
    fn at(&self, key: &Bytes, revision: Revision) -> Option<KeyValue> {
        self.versions.get(key)?.range(..=revision).next_back()?.1.clone()
    }

    fn live(&self, range: &KeyRange, revision: Revision) -> Vec<KeyValue> {
        let keys = self.versions.keys().filter(|key| range.contains(key));
        keys.filter_map(|key| self.at(key, revision)).collect()
    }

    fn change(&mut self, at: Revision, key: &Bytes, value: Option<Bytes>) {
        let before = self.at(key, at - 1);
        let deleted = KeyValue { key: key.clone(), mod_revision: at, ..KeyValue::default() };
        let after = value.map(|value| KeyValue {
            value,
            create_revision: before.as_ref().map_or(at, |kv| kv.create_revision),
            version: before.as_ref().map_or(1, |kv| kv.version + 1),
            ..deleted.clone()
        });
        let kind = if after.is_some() { EventKind::Put } else { EventKind::Delete };
        self.events.push(Event { kind, kv: after.clone().unwrap_or(deleted), prev_kv: before });
        self.versions.entry(key.clone()).or_default().insert(at, after);
        self.revision = at;
    }

    fn write(&mut self, writes: &[(Bytes, Option<Bytes>)]) -> i64 {
        let at = self.revision + 1;
        let mut deleted = 0;
        for (key, value) in writes {
            if value.is_some() || self.at(key, at).is_some() {
                deleted += i64::from(value.is_none());
                self.change(at, key, value.clone());
            }
        }
        deleted
    }

    fn check_readable(&self, revision: Revision) -> Result<(), Error> {
        if revision > self.revision {
            Err(Error::FutureRevision { current: self.revision })
        } else if revision > 0 && revision < self.compacted {
            Err(Error::Compacted { compacted: self.compacted })
        } else {
            Ok(())
        }
    }
}

/// A watch and what it has to deliver.
struct Followed {
    watcher: Box<dyn Watcher>,
    range: KeyRange,
    next: Revision,
}

struct Run {
    engine: Engine,
    model: Model,
    watches: Vec<Followed>,
}

impl Run {
    fn new() -> Self {
        let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
        let model = Model { revision: 1, compacted: -1, ..Model::default() };
        Self { engine, model, watches: Vec::new() }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Put(number, value) => self.batch(vec![(number, Some(value))]).await,
            Step::Batch(writes) => self.batch(writes).await,
            Step::DeleteRange(from, to) => {
                let doomed = self.model.live(&range(from, to), self.model.revision);
                let writes: Vec<_> = doomed.into_iter().map(|kv| (kv.key, None)).collect();
                let expected = self.model.write(&writes);
                let operation = Operation::Delete { range: range(from, to), prev_kv: false };
                let response = self.txn(Txn { success: vec![operation], ..Txn::default() }).await;
                assert_eq!(response.results, [OperationResult::Delete { deleted: expected, prev_kvs: vec![] }]);
            }
            Step::Guarded { key: number, stale, value } => {
                let current = self.model.at(&key(number), self.model.revision).map_or(0, |kv| kv.mod_revision);
                let expected = if stale { current + 1 } else { current };
                if !stale {
                    self.model.write(&[(key(number), Some(vec![value].into()))]);
                }
                let txn = Txn {
                    compare: vec![Compare::mod_revision(key(number), expected)],
                    success: vec![Operation::put(key(number), vec![value])],
                    failure: vec![Operation::get(key(number))],
                    cause: None,
                };
                assert_eq!(self.txn(txn).await.succeeded, !stale);
            }
            Step::RangeAt { from, to, back, limit } => self.range(from, to, back, limit).await,
            Step::Compact { back } => {
                let revision = self.model.revision - back;
                let expected = match revision {
                    revision if revision <= self.model.compacted => {
                        Err(Error::Compacted { compacted: self.model.compacted })
                    }
                    _ => Ok(()),
                };
                assert_eq!(self.engine.compact(revision).await, expected);
                self.model.compacted = self.model.compacted.max(revision);
            }
            Step::Watch { from, to, back } => {
                let next = (self.model.revision - back).max(1);
                let request = WatchRequest { range: range(from, to), start_revision: next, prev_kv: true };
                let watcher = self.engine.watch(request).await.unwrap();
                self.watches.push(Followed { watcher, range: range(from, to), next });
            }
            Step::Drain => self.drain().await,
        }
    }

    async fn batch(&mut self, writes: Vec<(u8, Option<u8>)>) {
        let writes: Vec<(Bytes, Option<Bytes>)> = writes
            .into_iter()
            .map(|(number, value)| (key(number), value.map(|value| Bytes::from(vec![value]))))
            .collect();
        self.model.write(&writes);
        let operations = writes.into_iter().map(|(key, value)| match value {
            Some(value) => Operation::put(key, value),
            None => Operation::delete(key),
        });
        self.txn(Txn { success: operations.collect(), ..Txn::default() }).await;
    }

    async fn txn(&self, txn: Txn) -> coracle_store::TxnResponse {
        let response = self.engine.txn(txn).await.unwrap();
        assert_eq!(response.revision, self.model.revision);
        response
    }

    /// Reads a range, page after page, at one revision.
    async fn range(&self, from: u8, to: u8, back: i64, limit: i64) {
        let revision = (self.model.revision - back).max(1);
        let mut request = RangeRequest { range: range(from, to), revision, limit, ..RangeRequest::default() };
        while let Some(last) = self.page(&request).await {
            request.range.start = [&last[..], &[0]].concat().into();
        }
    }

    /// Reads a range; returns the last key if there are more.
    async fn page(&self, request: &RangeRequest) -> Option<Bytes> {
        let RangeRequest { revision, limit, ref range, .. } = *request;
        let answer = self.engine.range(request.clone()).await;
        if let Err(error) = self.model.check_readable(revision) {
            assert_eq!(answer, Err(error));
            return None;
        }
        let all = self.model.live(range, revision);
        let count = all.len();
        let kvs: Vec<KeyValue> = all.into_iter().take(if limit == 0 { usize::MAX } else { limit as usize }).collect();
        let answer = answer.unwrap();
        assert_eq!((answer.count as usize, answer.more), (count, kvs.len() < count));
        let last = kvs.last().map(|kv| kv.key.clone()).filter(|_| answer.more);
        assert_eq!((answer.kvs, answer.revision), (kvs, self.model.revision));
        last
    }

    /// Fetches from every watch all that it owes.
    async fn drain(&mut self) {
        let mut kept = Vec::new();
        for mut followed in std::mem::take(&mut self.watches) {
            let owed = |next: Revision| {
                let range = &followed.range;
                let wanted = move |event: &&Event| event.kv.mod_revision >= next && range.contains(&event.kv.key);
                self.model.events.iter().filter(wanted).cloned().collect::<Vec<_>>()
            };
            let mut got = Vec::new();
            let expected = owed(followed.next);
            let lost = followed.next < self.model.compacted && !expected.is_empty();
            while !expected.is_empty() && got.len() < expected.len() {
                match followed.watcher.next().await {
                    Ok(batch) => {
                        assert!(batch.events.iter().all(|event| event.kv.mod_revision <= batch.revision));
                        got.extend(batch.events);
                    }
                    Err(error) => {
                        assert_eq!(error, Error::Compacted { compacted: self.model.compacted });
                        assert!(lost, "a watch ends only where its history is gone");
                        break;
                    }
                }
            }
            if got.len() < expected.len() {
                continue;
            }
            assert_eq!(got, expected);
            if followed.next <= self.model.revision + 1 {
                let progress = followed.watcher.progress().await.unwrap();
                assert!(progress <= self.model.revision);
            }
            if !got.is_empty() {
                followed.next = followed.next.max(self.model.revision + 1);
            }
            kept.push(followed);
        }
        self.watches = kept;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_engine_answers_as_the_model_does(steps in proptest::collection::vec(step(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new();
            for step in steps {
                run.step(step).await;
            }
            run.drain().await;
        });
    }
}
