use bytes::Bytes;
use coracle_journal::EntryId;

use crate::Latency;

/// A point in the store's history. A fresh store is at 1; each transaction that changes something makes the next.
pub type Revision = i64;

/// Names a lease; 0 is no lease.
pub type LeaseId = i64;

/// A key with its value and its history numbers. In Kubernetes: etcd's `mvccpb.KeyValue`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
    /// The revision at which this lifetime of the key began.
    pub create_revision: Revision,
    /// The revision of the last put.
    pub mod_revision: Revision,
    /// How often the key was put in this lifetime, from 1.
    pub version: i64,
    /// The lease that the key hangs on, or 0.
    pub lease: LeaseId,
}

/// The keys `start <= key < end`. An empty `end` means `start` alone; an `end` of one zero byte means no upper bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// The first key.
    pub start: Bytes,
    /// The key after the last one; see the type.
    pub end: Bytes,
}

impl KeyRange {
    /// One key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        Self { start: key.into(), end: Bytes::new() }
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let start = prefix.into();
        let mut end = start.to_vec();
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                return Self { start, end: end.into() };
            }
        }
        Self { start, end: Bytes::from_static(&[0]) }
    }

    /// Whether `key` is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.end[..] {
            [] => key == &self.start[..],
            [0] => key >= &self.start[..],
            end => key >= &self.start[..] && key < end,
        }
    }
}

/// Asks for a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeRequest {
    /// Which keys.
    pub range: KeyRange,
    /// At which revision; 0 for the newest.
    pub revision: Revision,
    /// How many at the most; 0 for all.
    pub limit: i64,
    /// Leave the values out.
    pub keys_only: bool,
    /// Leave the keys out too: only `count` is wanted.
    pub count_only: bool,
    /// By what to sort.
    pub sort_field: SortField,
    /// In which order to sort.
    pub sort_order: SortOrder,
    /// Leave out keys put last before this revision; 0 for no bound. The same for the three that follow.
    pub min_mod_revision: Revision,
    /// Leave out keys put last after this revision.
    pub max_mod_revision: Revision,
    /// Leave out keys created before this revision.
    pub min_create_revision: Revision,
    /// Leave out keys created after this revision.
    pub max_create_revision: Revision,
}

impl RangeRequest {
    /// Whether the answer is the first keys of the range, in order.
    pub(crate) fn is_plain(&self) -> bool {
        let unbounded = Self {
            range: KeyRange::default(),
            revision: 0,
            limit: 0,
            keys_only: false,
            sort_order: if self.sort_order == SortOrder::Ascend { SortOrder::None } else { self.sort_order },
            ..self.clone()
        };
        unbounded == Self::default()
    }
}

/// By what a range is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortField {
    /// The key.
    #[default]
    Key,
    /// [`KeyValue::version`]
    Version,
    /// [`KeyValue::create_revision`]
    Create,
    /// [`KeyValue::mod_revision`]
    Mod,
    /// The value.
    Value,
}

/// In which order a range is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortOrder {
    /// As the keys are; ascending if another field is named.
    #[default]
    None,
    /// Smallest first.
    Ascend,
    /// Largest first.
    Descend,
}

/// Answers a [`RangeRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeResponse {
    /// The store's newest revision when it answered, whatever revision was asked for.
    pub revision: Revision,
    /// The keys found.
    pub kvs: Vec<KeyValue>,
    /// Whether the limit cut keys off.
    pub more: bool,
    /// How many keys are in the range, whatever the limit.
    pub count: i64,
}

/// Compare, then perform one of two lists of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    /// All have to hold for `success` to be performed.
    pub compare: Vec<Compare>,
    /// Performed if all comparisons hold.
    pub success: Vec<Operation>,
    /// Performed otherwise.
    pub failure: Vec<Operation>,
    /// Who asked for this, for the event log. Does not cross the etcd protocol.
    pub cause: Option<Cause>,
}

/// What the event log says of the commit of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The entry that asked for it.
    pub entry: EntryId,
    /// What its one key stands for, where others name that otherwise.
    pub subject: Option<String>,
}

impl Txn {
    /// Whether neither branch can change anything.
    pub fn is_read_only(&self) -> bool {
        self.success.iter().chain(&self.failure).all(|operation| match operation {
            Operation::Range(_) => true,
            Operation::Put { .. } | Operation::Delete { .. } => false,
            Operation::Txn(inner) => inner.is_read_only(),
        })
    }
}

/// A condition on the keys of a range; holds if every key in the range fulfils it. A missing key compares as zeros,
/// but never fulfils a comparison of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// Which keys; usually one.
    pub range: KeyRange,
    /// The relation.
    pub operator: CompareOperator,
    /// What is compared, and with what.
    pub target: CompareTarget,
}

impl Compare {
    /// Holds if the key was put last at `revision`; 0 demands that it does not exist.
    pub fn mod_revision(key: impl Into<Bytes>, revision: Revision) -> Self {
        Self { range: KeyRange::key(key), operator: CompareOperator::Equal, target: CompareTarget::Mod(revision) }
    }
}

/// A relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOperator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
}

/// What is compared, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompareTarget {
    /// [`KeyValue::value`]
    Value(Bytes),
    /// [`KeyValue::version`]
    Version(i64),
    /// [`KeyValue::create_revision`]
    Create(Revision),
    /// [`KeyValue::mod_revision`]
    Mod(Revision),
    /// [`KeyValue::lease`]
    Lease(LeaseId),
}

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads, seeing what earlier operations of the same transaction wrote.
    Range(RangeRequest),
    /// Writes a key.
    Put {
        /// The key.
        key: Bytes,
        /// The value.
        value: Bytes,
        /// The lease to hang the key on; 0 for none.
        lease: LeaseId,
        /// Return what was there before.
        prev_kv: bool,
        /// Keep the value that is there.
        ignore_value: bool,
        /// Keep the lease that is there.
        ignore_lease: bool,
    },
    /// Deletes the keys of a range.
    Delete {
        /// Which keys.
        range: KeyRange,
        /// Return what was there before.
        prev_kv: bool,
    },
    /// A transaction in the transaction, in the same revision.
    Txn(Box<Txn>),
}

impl Operation {
    /// Writes `value` under `key`, without a lease.
    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self::Put {
            key: key.into(),
            value: value.into(),
            lease: 0,
            prev_kv: false,
            ignore_value: false,
            ignore_lease: false,
        }
    }

    /// Deletes one key.
    pub fn delete(key: impl Into<Bytes>) -> Self {
        Self::Delete { range: KeyRange::key(key), prev_kv: false }
    }

    /// Reads one key.
    pub fn get(key: impl Into<Bytes>) -> Self {
        Self::Range(RangeRequest { range: KeyRange::key(key), ..RangeRequest::default() })
    }
}

/// What one operation of a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationResult {
    /// What a range found.
    Range(RangeResponse),
    /// What a put replaced, if that was asked for.
    Put {
        /// The value before.
        prev_kv: Option<KeyValue>,
    },
    /// How many keys a delete removed, and which, if that was asked for.
    Delete {
        /// How many.
        deleted: i64,
        /// The values before.
        prev_kvs: Vec<KeyValue>,
    },
    /// What an inner transaction did.
    Txn(TxnResponse),
}

/// What a transaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnResponse {
    /// The store's revision afterwards: the transaction's own if it changed something.
    pub revision: Revision,
    /// Whether all comparisons held.
    pub succeeded: bool,
    /// The results of the branch that was performed.
    pub results: Vec<OperationResult>,
}

/// Asks for a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// Which keys.
    pub range: KeyRange,
    /// The first revision wanted; 0 for the next one to come.
    pub start_revision: Revision,
    /// Whether events carry what was there before.
    pub prev_kv: bool,
}

/// Events of one or more whole revisions, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchBatch {
    /// Everything up to this revision has been delivered with this batch.
    pub revision: Revision,
    /// The events; empty for progress alone.
    pub events: Vec<Event>,
}

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Put or delete.
    pub kind: EventKind,
    /// After the change; of a deletion only the key and the revision are set.
    pub kv: KeyValue,
    /// Before the change, if that was asked for and the key existed.
    pub prev_kv: Option<KeyValue>,
}

/// Put or delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The key was written.
    Put,
    /// The key was deleted.
    Delete,
}

/// What a store says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// The newest revision.
    pub revision: Revision,
    /// Up to where history is gone; -1 for nowhere.
    pub compacted: Revision,
    /// How many bytes the data takes.
    pub size_bytes: i64,
    /// How many of them are live; the rest is freed by compaction and `defragment`.
    pub size_in_use_bytes: i64,
    /// Writes are refused because the disk is full or failed; reads go on. In etcd: the `NOSPACE` alarm.
    pub no_space: bool,
    /// Why nothing can be written, in a sentence; an etcd does not say it.
    pub refusal: Option<String>,
    /// How many cursors are open.
    pub watchers: usize,
    /// How many of them have events to fetch.
    pub lagging_watchers: usize,
    /// How long the disk took to make groups of commits survive; empty in memory.
    pub disk_writes: Latency,
    /// The part of it that is waiting for the disk to confirm.
    pub disk_syncs: Latency,
    /// The version of the protocol that it speaks, as etcd counts.
    pub version: String,
}

/// What a store says of a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseStatus {
    /// The lease.
    pub id: LeaseId,
    /// For how many seconds it was granted.
    pub granted_ttl_seconds: i64,
    /// In how many seconds it ends unless it is kept alive.
    pub remaining_seconds: i64,
    /// The keys that hang on it, sorted.
    pub keys: Vec<Bytes>,
}

/// A checksum over the history, for comparing two stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryHash {
    /// CRC-32C over the records in order.
    pub hash: u32,
    /// Up to which revision the records were hashed.
    pub hash_revision: Revision,
    /// Up to where history was gone at that moment.
    pub compacted: Revision,
    /// The newest revision at that moment.
    pub revision: Revision,
}
