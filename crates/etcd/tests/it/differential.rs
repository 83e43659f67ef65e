//! Random operations sent to our face and to a real etcd: the same answers, errors, revisions, events and hashes.
//!
//! `CORACLE_OPERATIONS` sets how many; `CORACLE_SEED` repeats a run.

use std::time::Duration;

use bytes::Bytes;
use coracle_ambient::Random;
use coracle_etcd::EtcdStore;
use coracle_store::{
    Compare, CompareOperator, CompareTarget, Error, Event, KeyRange, KeyValue, Operation, OperationResult,
    RangeRequest, RangeResponse, SortField, SortOrder, Store, Txn, TxnResponse, WatchRequest, Watcher,
};

use crate::common::{connect, real_etcd, serve};

const KEYS: u64 = 12;
const LEASES: u64 = 3;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What is sent to both.
#[derive(Clone, Debug)]
enum Request {
    Range(RangeRequest),
    Txn(Txn),
    Compact(i64),
    Grant(i64),
    Revoke(i64),
    Hash(i64),
}

struct Generator {
    random: Random,
    /// The newest revision, to choose old ones from.
    revision: i64,
}

impl Generator {
    fn below(&self, bound: u64) -> i64 {
        self.random.below(bound) as i64
    }

    fn once_in(&self, bound: u64) -> bool {
        self.random.below(bound) == 0
    }

    fn key(&self) -> Bytes {
        if self.once_in(200) { Bytes::new() } else { format!("k/{:02}", self.below(KEYS)).into() }
    }

    fn range(&self) -> KeyRange {
        match self.below(6) {
            0 => KeyRange { start: self.key(), end: self.key() },
            1 => KeyRange { start: self.key(), end: Bytes::from_static(&[0]) },
            2 => KeyRange::prefix("k/"),
            _ => KeyRange::key(self.key()),
        }
    }

    /// Not one without an upper bound: etcd does not see that such a deletion and a put of one transaction overlap, and
    /// some of these end its process.
    fn bounded_range(&self) -> KeyRange {
        let range = self.range();
        if range.end[..] == [0] { KeyRange::key(range.start) } else { range }
    }

    fn past(&self) -> i64 {
        match self.below(8) {
            0 => self.revision - self.below(60),
            1 => self.revision + self.below(3),
            _ => 0,
        }
    }

    fn range_request(&self) -> RangeRequest {
        let sort_field = match self.below(8) {
            0 => SortField::Mod,
            1 => SortField::Create,
            _ => SortField::Key,
        };
        let sort_order = match self.below(4) {
            0 => SortOrder::Descend,
            1 => SortOrder::Ascend,
            _ => SortOrder::None,
        };
        // Keys of one transaction have equal revisions, and etcd does not say in which order those come.
        let limit = if sort_field == SortField::Key { self.below(6) } else { 0 };
        RangeRequest {
            range: self.range(),
            revision: self.past(),
            limit,
            keys_only: self.once_in(6),
            count_only: self.once_in(8),
            sort_field,
            sort_order,
            min_mod_revision: if self.once_in(10) { self.revision - self.below(30) } else { 0 },
            max_mod_revision: if self.once_in(10) { self.revision - self.below(30) } else { 0 },
            min_create_revision: if self.once_in(12) { self.revision - self.below(50) } else { 0 },
            max_create_revision: if self.once_in(12) { self.revision - self.below(50) } else { 0 },
        }
    }

    fn compare(&self) -> Compare {
        let operator = match self.below(4) {
            0 => CompareOperator::Equal,
            1 => CompareOperator::NotEqual,
            2 => CompareOperator::Less,
            _ => CompareOperator::Greater,
        };
        let target = match self.below(5) {
            0 => CompareTarget::Value(vec![self.below(4) as u8].into()),
            1 => CompareTarget::Version(self.below(4)),
            2 => CompareTarget::Create(self.revision - self.below(20)),
            3 => CompareTarget::Mod(if self.once_in(2) { 0 } else { self.revision - self.below(20) }),
            _ => CompareTarget::Lease(self.below(LEASES + 1)),
        };
        Compare { range: self.range(), operator, target }
    }

    fn operation(&self, depth: u64) -> Operation {
        match self.below(10) {
            0 | 1 => Operation::Range(self.range_request()),
            2 | 3 => Operation::Delete { range: self.bounded_range(), prev_kv: self.once_in(2) },
            4 if depth > 0 => Operation::Txn(Box::new(self.txn(depth - 1))),
            _ => self.put(),
        }
    }

    fn put(&self) -> Operation {
        let (ignore_value, ignore_lease) = (self.once_in(10), self.once_in(10));
        Operation::Put {
            key: self.key(),
            value: if ignore_value && !self.once_in(5) { Bytes::new() } else { vec![self.below(4) as u8].into() },
            lease: if self.once_in(3) && !ignore_lease { self.below(LEASES + 2) } else { 0 },
            prev_kv: self.once_in(2),
            ignore_value,
            ignore_lease,
        }
    }

    fn txn(&self, depth: u64) -> Txn {
        let operations = |most| (0..self.below(most)).map(|_| self.operation(depth)).collect::<Vec<_>>();
        Txn {
            compare: (0..self.below(3)).map(|_| self.compare()).collect(),
            success: operations(5),
            failure: operations(4),
            cause: None,
        }
    }

    fn request(&self) -> Request {
        match self.below(100) {
            0..25 => Request::Range(self.range_request()),
            25..40 => Request::Txn(Txn { success: vec![self.put()], ..Txn::default() }),
            40..90 => Request::Txn(self.txn(2)),
            90..92 => Request::Compact(self.revision - self.below(40)),
            92..95 => Request::Grant(self.below(LEASES) + 1),
            95..98 => Request::Revoke(self.below(LEASES + 1) + 1),
            _ => Request::Hash(self.past().max(0)),
        }
    }
}

/// The answer as text, without what a remote store does not tell.
async fn ask(store: &EtcdStore, request: Request) -> String {
    match request {
        Request::Range(request) => {
            let answer = store.range(request.clone()).await;
            format!("{:?}", answer.map(|response| settled(&request, response)))
        }
        Request::Txn(txn) => {
            let answer = store.txn(txn.clone()).await;
            format!("{:?}", answer.map(|response| settled_all(&txn, response)))
        }
        Request::Compact(revision) => format!("{:?}", store.compact(revision).await),
        Request::Grant(id) => format!("{:?}", store.lease_grant(id, 3600).await),
        Request::Revoke(id) => format!("{:?}", store.lease_revoke(id).await),
        Request::Hash(revision) => format!("{:?}", store.history_hash(revision).await),
    }
}

/// Keys that are sorted by something that is equal for them come in any order: here, in that of the keys.
fn settled(request: &RangeRequest, mut response: RangeResponse) -> RangeResponse {
    let by = |kv: &KeyValue| match request.sort_field {
        SortField::Mod => kv.mod_revision,
        SortField::Create => kv.create_revision,
        _ => 0,
    };
    if matches!(request.sort_field, SortField::Mod | SortField::Create) {
        let equal = response.kvs.chunk_by_mut(|left, right| by(left) == by(right));
        equal.for_each(|kvs| kvs.sort_by(|left, right| left.key.cmp(&right.key)));
    }
    response
}

fn settled_all(txn: &Txn, mut response: TxnResponse) -> TxnResponse {
    let branch = if response.succeeded { &txn.success } else { &txn.failure };
    let settle = |(operation, result): (&Operation, OperationResult)| match (operation, result) {
        (Operation::Range(request), OperationResult::Range(answer)) => OperationResult::Range(settled(request, answer)),
        (Operation::Txn(txn), OperationResult::Txn(answer)) => OperationResult::Txn(settled_all(txn, answer)),
        (_, result) => result,
    };
    response.results = branch.iter().zip(std::mem::take(&mut response.results)).map(settle).collect();
    response
}

async fn collect(watcher: &mut dyn Watcher, upto: i64) -> Result<Vec<Event>, Error> {
    let mut events: Vec<Event> = Vec::new();
    while events.last().is_none_or(|event| event.kv.mod_revision < upto) {
        let batch = tokio::time::timeout(Duration::from_secs(20), watcher.next()).await.expect("events in time")?;
        events.extend(batch.events);
    }
    Ok(events)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_have_the_same_effect_on_both() {
    let Some(etcd) = real_etcd().await else { return };
    let served = serve().await;
    let (theirs, ours) = (connect(&etcd.url).await, connect(&served.url).await);
    let seed = number("CORACLE_SEED", 7);
    let mut generator = Generator { random: Random::from_seed(seed), revision: 1 };
    // A store in which nothing is left hashes what compaction has left over, which differs between versions of etcd.
    let kept = Txn { success: vec![Operation::put("z", "kept")], ..Txn::default() };
    assert_eq!(theirs.txn(kept.clone()).await, ours.txn(kept).await);
    // From what comes next: etcd catches up with the past only ten times a second, and may be overtaken by compaction.
    let all = WatchRequest { range: KeyRange::prefix("k/"), start_revision: 3, prev_kv: true };
    let mut watchers = [theirs.watch(all.clone()).await.unwrap(), ours.watch(all).await.unwrap()];
    let operations = number("CORACLE_OPERATIONS", 4000);
    for step in 0..operations {
        let request = generator.request();
        // Whether the compacted revision itself can be hashed differs between versions of etcd.
        if matches!(request, Request::Hash(revision) if revision == served.engine.compacted()) {
            continue;
        }
        let (expected, found) = tokio::join!(ask(&theirs, request.clone()), ask(&ours, request.clone()));
        assert_eq!(expected, found, "seed {seed}, step {step}: {request:?}");
        if step % 16 == 0 {
            generator.revision = served.engine.revision();
        }
        if step % 1000 == 999 {
            // A key of its own marks the end of the events.
            let mark = Txn { success: vec![Operation::put("k/mark", "x")], ..Txn::default() };
            let upto = ours.txn(mark.clone()).await.unwrap().revision;
            assert_eq!(theirs.txn(mark).await.unwrap().revision, upto);
            let expected = collect(&mut *watchers[0], upto).await.unwrap();
            let found = collect(&mut *watchers[1], upto).await.unwrap();
            for (expected, found) in expected.iter().zip(&found) {
                assert_eq!(expected, found, "seed {seed}, events up to {upto}");
            }
            assert_eq!(expected.len(), found.len(), "seed {seed}, events up to {upto}");
        }
    }
    assert_eq!(theirs.history_hash(0).await.unwrap().hash, ours.history_hash(0).await.unwrap().hash);
}
