use bytes::Bytes;
use coracle_journal::EntryId;

use crate::Latency;

/// A point in the store's history. A new store is at 1; each transaction that changes something creates the next.
pub type Revision = i64;

/// The id of a lease; 0 means no lease.
pub type LeaseId = i64;

/// A key with its value and its history numbers. In Kubernetes: etcd's `mvccpb.KeyValue`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
    /// The revision at which the current generation of the key started.
    pub create_revision: Revision,
    /// The revision of the last put.
    pub mod_revision: Revision,
    /// The number of puts in the current generation, from 1.
    pub version: i64,
    /// The lease of the key, or 0.
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

/// A request for a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeRequest {
    /// The keys.
    pub range: KeyRange,
    /// The revision; 0 for the newest.
    pub revision: Revision,
    /// The maximum number of keys; 0 for all.
    pub limit: i64,
    /// Whether to leave out the values.
    pub keys_only: bool,
    /// Whether to leave out the keys too: only `count` is returned.
    pub count_only: bool,
    /// The sort field.
    pub sort_field: SortField,
    /// The sort order.
    pub sort_order: SortOrder,
    /// Leaves out keys last put before this revision; 0 for no limit. The same for the following three.
    pub min_mod_revision: Revision,
    /// Leaves out keys last put after this revision.
    pub max_mod_revision: Revision,
    /// Leaves out keys created before this revision.
    pub min_create_revision: Revision,
    /// Leaves out keys created after this revision.
    pub max_create_revision: Revision,
}

impl RangeRequest {
    /// Whether the result is the first keys of the range, in order.
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

/// The field that a range is sorted by.
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

/// The order in which a range is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortOrder {
    /// The order of the keys; ascending if another field is set.
    #[default]
    None,
    /// Smallest first.
    Ascend,
    /// Largest first.
    Descend,
}

/// The result of a [`RangeRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeResponse {
    /// The store's newest revision when it answered, whatever revision was requested.
    pub revision: Revision,
    /// The keys found.
    pub kvs: Vec<KeyValue>,
    /// Whether the limit cut off keys.
    pub more: bool,
    /// The number of keys in the range, regardless of the limit.
    pub count: i64,
}

/// Compares, then performs one of two lists of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    /// The conditions for `success`: all must hold.
    pub compare: Vec<Compare>,
    /// Performed if all comparisons hold.
    pub success: Vec<Operation>,
    /// Performed otherwise.
    pub failure: Vec<Operation>,
    /// The cause for the event log. It is not part of the etcd protocol.
    pub cause: Option<Cause>,
}

/// The event log's information about the commit of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The entry that caused it.
    pub entry: EntryId,
    /// The subject of its one key, if it differs from the key.
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

/// A condition on the keys of a range; it holds if every key in the range fulfils it. A missing key compares as
/// zeros, but never fulfils a comparison of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The keys; usually one.
    pub range: KeyRange,
    /// The relation.
    pub operator: CompareOperator,
    /// The field, and the value to compare with.
    pub target: CompareTarget,
}

impl Compare {
    /// Holds if the key was last put at `revision`; 0 requires that it does not exist.
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

/// The field, and the value to compare with.
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
    /// Reads, including the effects of earlier operations of the same transaction.
    Range(RangeRequest),
    /// Writes a key.
    Put {
        /// The key.
        key: Bytes,
        /// The value.
        value: Bytes,
        /// The lease of the key; 0 for none.
        lease: LeaseId,
        /// Whether to return the previous version.
        prev_kv: bool,
        /// Whether to keep the existing value.
        ignore_value: bool,
        /// Whether to keep the existing lease.
        ignore_lease: bool,
    },
    /// Deletes the keys of a range.
    Delete {
        /// The keys.
        range: KeyRange,
        /// Whether to return the previous versions.
        prev_kv: bool,
    },
    /// A nested transaction, in the same revision.
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

/// The result of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationResult {
    /// The result of a range.
    Range(RangeResponse),
    /// The version that a put replaced, if requested.
    Put {
        /// The previous version.
        prev_kv: Option<KeyValue>,
    },
    /// How many keys a delete removed, and which, if requested.
    Delete {
        /// The number.
        deleted: i64,
        /// The previous versions.
        prev_kvs: Vec<KeyValue>,
    },
    /// The result of a nested transaction.
    Txn(TxnResponse),
}

/// The result of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnResponse {
    /// The store's revision afterwards: the transaction's own if it changed something.
    pub revision: Revision,
    /// Whether all comparisons held.
    pub succeeded: bool,
    /// The results of the performed branch.
    pub results: Vec<OperationResult>,
}

/// A request for a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// The keys.
    pub range: KeyRange,
    /// The first revision; 0 for the next one.
    pub start_revision: Revision,
    /// Whether events include the previous version.
    pub prev_kv: bool,
}

/// Events of one or more complete revisions, in order.
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
    /// Before the change, if requested and if the key existed.
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

/// The status of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// The newest revision.
    pub revision: Revision,
    /// The revision up to which history is compacted; -1 for none.
    pub compacted: Revision,
    /// The size of the data in bytes.
    pub size_bytes: i64,
    /// The size of the live data; compaction and `defragment` free the rest.
    pub size_in_use_bytes: i64,
    /// Whether writes are rejected because the disk is full or failed; reads continue. In etcd: the `NOSPACE` alarm.
    pub no_space: bool,
    /// Why writes are rejected, in a sentence; an etcd does not report it.
    pub refusal: Option<String>,
    /// The number of open cursors.
    pub watchers: usize,
    /// The number of cursors with events to fetch.
    pub lagging_watchers: usize,
    /// How long groups of commits took to become durable; empty in memory.
    pub disk_writes: Latency,
    /// The part of it that waits for syncs.
    pub disk_syncs: Latency,
    /// The etcd version of its protocol.
    pub version: String,
}

/// The status of a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseStatus {
    /// The lease.
    pub id: LeaseId,
    /// The granted time to live, in seconds.
    pub granted_ttl_seconds: i64,
    /// The remaining time, in seconds, unless it is kept alive.
    pub remaining_seconds: i64,
    /// The keys of the lease, sorted.
    pub keys: Vec<Bytes>,
}

/// A checksum of the history, for comparing two stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryHash {
    /// CRC-32C of the records in order.
    pub hash: u32,
    /// The revision up to which the records were hashed.
    pub hash_revision: Revision,
    /// The revision up to which history was compacted at that moment.
    pub compacted: Revision,
    /// The newest revision at that moment.
    pub revision: Revision,
}
