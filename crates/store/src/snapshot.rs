use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use imbl::{OrdMap, OrdSet, Vector};

use crate::counts::PrefixCounts;
use crate::version::{History, Version};
use crate::{Error, KeyRange, KeyValue, LeaseId, RangeRequest, RangeResponse, Revision, SortField, SortOrder};

/// The bytes of memory that a kept revision occupies in addition to its keys and values: its places in the log and in
/// the history of its key, and what watch caches keep of it. An estimate from the growth of a process under churn.
pub(crate) const REVISION_OVERHEAD: i64 = 1024;

/// The complete store at one revision, with its history. A clone costs a few reference counts and shares all common
/// data; the writer changes its own clone and publishes it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) revision: Revision,
    pub(crate) compacted: Revision,
    /// The number of the last record.
    pub(crate) sequence: u64,
    pub(crate) keys: OrdMap<Bytes, Arc<History>>,
    /// Of the existing keys.
    pub(crate) counts: PrefixCounts,
    pub(crate) leases: OrdMap<LeaseId, Lease>,
    /// Grant and end records of ended leases: compaction removes them from disk.
    pub(crate) ended_leases: Vector<(u64, u64)>,
    /// Of all versions.
    pub(crate) size: i64,
    /// Of the versions that a reader at the newest revision sees.
    pub(crate) live_size: i64,
}

/// A lease and the keys that are deleted with it.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) ttl_seconds: i64,
    /// The number of the record that granted it.
    pub(crate) sequence: u64,
    pub(crate) keys: OrdSet<Bytes>,
}

impl Snapshot {
    /// A new store. In Kubernetes: etcd starts at revision 1, compacted at -1.
    pub(crate) fn empty() -> Self {
        Self {
            revision: 1,
            compacted: -1,
            sequence: 0,
            keys: OrdMap::new(),
            counts: PrefixCounts::default(),
            leases: OrdMap::new(),
            ended_leases: Vector::new(),
            size: 0,
            live_size: 0,
        }
    }

    /// How much compaction could free: keys, values and [`REVISION_OVERHEAD`].
    pub(crate) fn history_bytes(&self) -> i64 {
        self.size - self.live_size + (self.revision - self.compacted) * REVISION_OVERHEAD
    }

    /// The newest version of an existing key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Arc<Version>> {
        self.keys.get(key).and_then(|history| history.live())
    }

    /// Every key of a range with its history, in order.
    pub(crate) fn histories<'a>(&'a self, range: &'a KeyRange) -> impl Iterator<Item = &'a History> + use<'a> {
        let start = &range.start[..];
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = match &range.end[..] {
            [] => (Bound::Included(start), Bound::Included(start)),
            [0] => (Bound::Included(start), Bound::Unbounded),
            // A range that ends before it starts is empty; the map would panic.
            end if end <= start => (Bound::Included(start), Bound::Excluded(start)),
            end => (Bound::Included(start), Bound::Excluded(end)),
        };
        self.keys.range::<_, [u8]>(bounds).map(|(_, history)| &**history)
    }

    /// The newest versions of the existing keys in a range.
    pub(crate) fn live<'a>(&'a self, range: &'a KeyRange) -> impl Iterator<Item = &'a Arc<Version>> + use<'a> {
        self.histories(range).filter_map(History::live)
    }

    /// Whether the history at `revision` can be read (0 and below mean the newest).
    pub(crate) fn check_readable(&self, revision: Revision) -> Result<(), Error> {
        if revision > self.revision {
            return Err(Error::FutureRevision { current: self.revision });
        }
        if revision > 0 && revision < self.compacted {
            return Err(Error::Compacted { compacted: self.compacted });
        }
        Ok(())
    }

    /// Executes a range request. In Kubernetes: etcd's `txn.executeRange`.
    pub(crate) fn range(&self, request: &RangeRequest) -> Result<RangeResponse, Error> {
        self.range_of(request, None)
    }

    /// Executes a range request whose range is known to have `count` keys.
    pub(crate) fn range_of(&self, request: &RangeRequest, count: Option<i64>) -> Result<RangeResponse, Error> {
        self.check_readable(request.revision)?;
        let revision = if request.revision > 0 { request.revision } else { self.revision };
        let count = count.or_else(|| self.counts.of(&request.range).filter(|_| revision == self.revision));
        match count {
            Some(count) if request.is_plain() || request.count_only => Ok(self.page(request, revision, count)),
            _ => Ok(self.walk(request, revision)),
        }
    }

    /// Returns the first keys without visiting more than requested.
    fn page(&self, request: &RangeRequest, revision: Revision, count: i64) -> RangeResponse {
        let limit = if request.count_only { 0 } else { limit(request) };
        let found = self.histories(&request.range).filter_map(|history| history.at(revision)).take(limit);
        let kvs: Vec<KeyValue> = found.map(|version| answer(&version.kv, request.keys_only)).collect();
        let more = !request.count_only && i64::try_from(kvs.len()).is_ok_and(|found| found < count);
        RangeResponse { revision: self.revision, kvs, more, count }
    }

    /// Visits every key of the range.
    fn walk(&self, request: &RangeRequest, revision: Revision) -> RangeResponse {
        let limit = limit(request);
        let sorts = request.sort_field != SortField::Key || request.sort_order == SortOrder::Descend;
        let mut found: Vec<&Arc<Version>> = Vec::new();
        let mut matching = 0_usize;
        let mut count = 0_i64;
        for history in self.histories(&request.range) {
            let Some(version) = history.at(revision) else { continue };
            count += 1;
            if !request.count_only && passes_bounds(&version.kv, request) {
                matching += 1;
                if sorts || found.len() < limit {
                    found.push(version);
                }
            }
        }
        if sorts {
            sort(&mut found, request);
            found.truncate(limit);
        }
        let more = found.len() < matching;
        let kvs = found.into_iter().map(|version| answer(&version.kv, request.keys_only)).collect();
        RangeResponse { revision: self.revision, kvs, more, count }
    }
}

fn limit(request: &RangeRequest) -> usize {
    usize::try_from(request.limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

fn answer(kv: &KeyValue, keys_only: bool) -> KeyValue {
    let value = if keys_only { Bytes::new() } else { kv.value.clone() };
    KeyValue { key: kv.key.clone(), value, ..*kv }
}

fn passes_bounds(kv: &KeyValue, request: &RangeRequest) -> bool {
    let within = |revision, min, max| (min == 0 || revision >= min) && (max == 0 || revision <= max);
    within(kv.mod_revision, request.min_mod_revision, request.max_mod_revision)
        && within(kv.create_revision, request.min_create_revision, request.max_create_revision)
}

fn sort(versions: &mut [&Arc<Version>], request: &RangeRequest) {
    versions.sort_by(|left, right| {
        let (left, right) = (&left.kv, &right.kv);
        let order = match request.sort_field {
            SortField::Key => left.key.cmp(&right.key),
            SortField::Version => left.version.cmp(&right.version),
            SortField::Create => left.create_revision.cmp(&right.create_revision),
            SortField::Mod => left.mod_revision.cmp(&right.mod_revision),
            SortField::Value => left.value.cmp(&right.value),
        };
        if request.sort_order == SortOrder::Descend { order.reverse() } else { order }
    });
}
