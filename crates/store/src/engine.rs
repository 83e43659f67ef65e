use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use tokio::time::Instant;

use crate::commit_loop::{self, CommitLoop};
use crate::counts::PageCounts;
use crate::cursor::Cursor;
use crate::durable::Durable;
use crate::hub::Hub;
use crate::latency::DiskStatistics;
use crate::log::Log;
use crate::request::{Limits, check_range, check_txn};
use crate::snapshot::Snapshot;
use crate::writer::Writer;
use crate::{
    Error, HistoryHash, LeaseId, LeaseStatus, RangeRequest, RangeResponse, Revision, Store, StoreStatus, Txn,
    TxnResponse, WatchRequest, Watcher, apply, hash,
};

/// The version of etcd whose protocol and semantics the store has.
pub const ETCD_VERSION: &str = "3.6.6";

/// The shortest lease, in seconds. In Kubernetes: etcd's minimum with its default election time-out.
const MIN_LEASE_TTL: i64 = 2;
/// The longest lease, in seconds, as in etcd.
const MAX_LEASE_TTL: i64 = 9_000_000_000;

/// The dependencies and settings of an engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// The event log for commits.
    pub recorder: Recorder,
    /// The source of lease ids.
    pub ambient: Ambient,
    /// The maximum size of a request.
    pub limits: Limits,
}

impl Options {
    /// With etcd's limits.
    pub fn new(ambient: Ambient, recorder: Recorder) -> Self {
        Self { recorder, ambient, limits: Limits::default() }
    }
}

/// The store of this crate, in this process. Clones are handles to one engine; dropping the last one closes it.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    hub: Arc<Hub>,
    writer: Arc<Writer>,
    options: Options,
    disk: Option<Arc<DiskStatistics>>,
    pages: PageCounts,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.writer.close();
    }
}

impl Engine {
    /// A new store in memory.
    pub fn in_memory(options: Options) -> Self {
        Self::with_state(Snapshot::empty(), Log::default(), options)
    }

    /// A durable store. The [`CommitLoop`] must run, on a thread of its own, for writes to return.
    ///
    /// # Errors
    /// The error of `durable` about its data.
    pub fn open(durable: Box<dyn Durable>, options: Options) -> Result<(Self, CommitLoop), Error> {
        commit_loop::open(durable, options.recorder.clone()).map(|(writer, commit_loop, disk)| {
            let (hub, pages) = (writer.hub.clone(), PageCounts::default());
            let shared = Shared { hub, writer, options, disk: Some(disk), pages };
            (Self { shared: Arc::new(shared) }, commit_loop)
        })
    }

    fn with_state(snapshot: Snapshot, log: Log, options: Options) -> Self {
        let hub = Arc::new(Hub::new(snapshot, log));
        let writer = Arc::new(Writer::new(hub.clone(), None, options.recorder.clone()));
        Self { shared: Arc::new(Shared { hub, writer, options, disk: None, pages: PageCounts::default() }) }
    }

    /// A second store, in memory, that starts with the state of this one at `revision` (0 for the newest) and shares
    /// all common data with it. Leases start again with their full time.
    ///
    /// # Errors
    /// [`Error::Compacted`] or [`Error::FutureRevision`] if history at `revision` cannot be read.
    pub fn fork(&self, revision: Revision, options: Options) -> Result<Self, Error> {
        let snapshot = self.shared.hub.snapshot();
        snapshot.check_readable(revision)?;
        let revision = if revision > 0 { revision } else { snapshot.revision };
        let changes = self.shared.hub.changes(snapshot.compacted, snapshot.revision);
        let (snapshot, log) = crate::fork::rewind(&snapshot, &changes, revision);
        Ok(Self::with_state(snapshot, log, options))
    }

    /// A second store with the newest state of this one, whose history begins after `revision`: reads and watches of
    /// that revision and of earlier ones get [`Error::Compacted`], even if a client saw them in another store.
    ///
    /// In Kubernetes: `etcdutl snapshot restore --bump-revision --mark-compacted`.
    #[must_use]
    pub fn fork_after(&self, revision: Revision, options: Options) -> Self {
        let (snapshot, log) = crate::fork::continued_after(&self.shared.hub.snapshot(), revision);
        Self::with_state(snapshot, log, options)
    }

    /// Ends expired leases, each in a revision of its own. Runs until the future is dropped.
    pub async fn expire_leases(&self) {
        let writer = &self.shared.writer;
        loop {
            let next = writer.lock().deadlines.next();
            let changed = writer.deadlines_changed.notified();
            let Some((at, id)) = next else {
                changed.await;
                continue;
            };
            if at > Instant::now() {
                // Both results lead to another look at the deadlines.
                let _ = tokio::time::timeout_at(at, changed).await;
                continue;
            }
            if self.lease_revoke(id).await.is_err() {
                // The lease has ended already, or the disk rejects writes: retried after the lease's time to live.
                let mut state = writer.lock();
                match state.working.leases.get(&id).map(|lease| lease.ttl_seconds) {
                    Some(ttl) => state.deadlines.renew(id, ttl),
                    None => state.deadlines.forget(id),
                }
            }
        }
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.shared.hub
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.shared.hub.snapshot().revision
    }

    /// The revision up to which history is compacted; -1 for none.
    pub fn compacted(&self) -> Revision {
        self.shared.hub.snapshot().compacted
    }

    /// Rejects further writes. Cursors and readers continue; with a disk, the [`CommitLoop`] completes its queue and
    /// returns.
    pub fn close(&self) {
        self.shared.writer.close();
    }

    /// Waits until a closed engine has released its disk, which can then be opened again.
    pub async fn closed(&self) {
        self.shared.writer.finished().await;
    }
}

#[async_trait]
impl Store for Engine {
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error> {
        check_range(&request)?;
        let pages = &self.shared.pages;
        let response = self.shared.hub.snapshot().range_of(&request, pages.of(&request))?;
        let revision = if request.revision > 0 { request.revision } else { response.revision };
        pages.remember(&request, revision, &response);
        Ok(response)
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        check_txn(&txn, self.shared.options.limits)?;
        if txn.is_read_only() {
            let mut snapshot = Snapshot::clone(&self.shared.hub.snapshot());
            return apply::apply(&mut snapshot, &txn).map(|(response, _)| response);
        }
        self.shared.writer.write(|snapshot| apply::apply(snapshot, &txn)).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error> {
        Ok(Box::new(Cursor::open(self.shared.hub.clone(), request)))
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.shared.writer.compact(revision).await
    }

    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error> {
        if ttl_seconds > MAX_LEASE_TTL {
            return Err(Error::LeaseTtlTooLarge);
        }
        let random = &self.shared.options.ambient.random;
        let ttl_seconds = ttl_seconds.max(MIN_LEASE_TTL);
        self.shared
            .writer
            .write(|snapshot| {
                let mut id = id;
                while id == 0 || (id < 0 && snapshot.leases.contains_key(&id)) {
                    id = random.bits().cast_signed() & i64::MAX;
                }
                Ok((id, apply::grant_lease(snapshot, id, ttl_seconds)?))
            })
            .await
    }

    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error> {
        self.shared.writer.write(|snapshot| Ok(((), apply::end_lease(snapshot, id)?))).await
    }

    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error> {
        let writer = &self.shared.writer;
        let mut state = writer.lock();
        let ttl_seconds = state.working.leases.get(&id).ok_or(Error::LeaseNotFound)?.ttl_seconds;
        state.deadlines.renew(id, ttl_seconds);
        writer.deadlines_changed.notify_one();
        Ok(ttl_seconds)
    }

    async fn lease_status(&self, id: LeaseId) -> Result<LeaseStatus, Error> {
        let remaining = self.shared.writer.lock().deadlines.remaining_seconds(id);
        let snapshot = self.shared.hub.snapshot();
        let lease = snapshot.leases.get(&id).ok_or(Error::LeaseNotFound)?;
        Ok(LeaseStatus {
            id,
            granted_ttl_seconds: lease.ttl_seconds,
            remaining_seconds: remaining.unwrap_or(lease.ttl_seconds),
            keys: lease.keys.iter().cloned().collect(),
        })
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, Error> {
        Ok(self.shared.hub.snapshot().leases.keys().copied().collect())
    }

    async fn history_hash(&self, revision: Revision) -> Result<HistoryHash, Error> {
        hash::history_hash(&self.shared.hub.snapshot(), revision)
    }

    async fn defragment(&self) -> Result<(), Error> {
        self.shared.writer.defragment().await
    }

    async fn status(&self) -> Result<StoreStatus, Error> {
        let snapshot = self.shared.hub.snapshot();
        let (watchers, lagging_watchers) = self.shared.hub.cursors();
        let disk = self.shared.disk.as_deref();
        let refusal = self.shared.writer.lock().refusal.clone();
        Ok(StoreStatus {
            revision: snapshot.revision,
            compacted: snapshot.compacted,
            size_bytes: disk.map_or(snapshot.size, DiskStatistics::size),
            size_in_use_bytes: snapshot.live_size,
            no_space: refusal.is_some(),
            refusal: refusal.map(|why| why.to_string()),
            watchers,
            lagging_watchers,
            disk_writes: disk.map(|disk| disk.writes.latency()).unwrap_or_default(),
            disk_syncs: disk.map(|disk| disk.syncs.latency()).unwrap_or_default(),
            version: ETCD_VERSION.to_owned(),
        })
    }
}
