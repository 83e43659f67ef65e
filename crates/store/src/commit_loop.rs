use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_journal::Recorder;
use imbl::OrdMap;
use tokio::time::Instant;

use crate::commit::{Commit, KeyChange};
use crate::counts::PrefixCounts;
use crate::durable::{Base, Content, Durable, LeaseChange, Record};
use crate::hub::Hub;
use crate::latency::DiskStatistics;
use crate::log::Log;
use crate::snapshot::{Lease, Snapshot};
use crate::version::{History, Version};
use crate::writer::{Pending, Work, Writer};
use crate::{Error, LeaseId};

/// The delay before the disk is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Owns the disk: writes all queued commits, syncs once for all of them, makes them visible, and acknowledges them.
pub struct CommitLoop {
    durable: Box<dyn Durable>,
    writer: Arc<Writer>,
    statistics: Arc<DiskStatistics>,
}

/// Loads the data of `durable`.
pub(crate) fn open(
    mut durable: Box<dyn Durable>,
    recorder: Recorder,
) -> Result<(Arc<Writer>, CommitLoop, Arc<DiskStatistics>), Error> {
    let mut loading = Loading::default();
    let base = durable.load(&mut |record| loading.take(record))?;
    let (snapshot, log) = loading.finish(base);
    let hub = Arc::new(Hub::new(snapshot, log));
    let writer = Arc::new(Writer::new(hub, Some(Vec::new()), recorder));
    let statistics = Arc::new(DiskStatistics::default());
    statistics.set_size(durable.size_bytes());
    let commit_loop = CommitLoop { durable, writer: writer.clone(), statistics: statistics.clone() };
    Ok((writer, commit_loop, statistics))
}

impl CommitLoop {
    /// Runs until the engine is closed or dropped and all queued work is done. Blocks its thread.
    pub fn run(mut self) {
        while let Some((batch, snapshot)) = self.take() {
            let outcome = self.write(&batch);
            self.statistics.set_size(self.durable.size_bytes());
            match &outcome {
                Ok(()) => self.publish(snapshot, &batch),
                Err(error) => self.writer.roll_back(&mut self.writer.lock(), error),
            }
            batch.into_iter().for_each(|pending| drop(pending.ack.send(outcome.clone())));
            if outcome.is_err() {
                self.recover();
            }
        }
        let Self { durable, writer, .. } = self;
        drop(durable);
        writer.finish();
    }

    /// The complete queue, with the resulting snapshot; `None` once the engine is closed.
    fn take(&self) -> Option<(Vec<Pending>, Snapshot)> {
        let mut state = self.writer.lock();
        loop {
            let batch = state.queue.as_mut().map(std::mem::take).unwrap_or_default();
            if !batch.is_empty() {
                return Some((batch, state.working.clone()));
            }
            if state.closed {
                return None;
            }
            self.writer.filled.wait(&mut state);
        }
    }

    fn write(&mut self, batch: &[Pending]) -> Result<(), Error> {
        let records: Vec<Record> = commits(batch).flat_map(Commit::records).collect();
        if !records.is_empty() {
            let started = Instant::now();
            self.durable.append(&records)?;
            let appended = Instant::now();
            self.durable.sync()?;
            self.statistics.syncs.record(appended.elapsed());
            self.statistics.writes.record(started.elapsed());
        }
        batch.iter().try_for_each(|pending| match &pending.work {
            Work::Commit(_) => Ok(()),
            Work::Trim(trim) => self.durable.trim(trim),
            Work::Defragment => self.durable.defragment(),
        })
    }

    fn publish(&self, snapshot: Snapshot, batch: &[Pending]) {
        self.writer.record(commits(batch));
        let compacted = batch.iter().any(|pending| matches!(pending.work, Work::Trim(_)));
        let last = compacted.then(|| snapshot.clone());
        self.writer.hub.publish(snapshot, commits(batch));
        if let Some(snapshot) = last {
            self.writer.hub.publish_compacted(snapshot);
        }
    }

    /// Retries until the disk has all acknowledged records and accepts writes again, or the engine is closed.
    fn recover(&mut self) {
        let acknowledged = self.writer.hub.snapshot().sequence;
        loop {
            {
                let mut state = self.writer.lock();
                self.writer.filled.wait_for(&mut state, RETRY);
                if state.closed {
                    return;
                }
            }
            match self.durable.recover(acknowledged) {
                Ok(()) => {
                    self.writer.lock().refusal = None;
                    return;
                }
                Err(error) => self.writer.lock().refusal = Some(error),
            }
        }
    }
}

fn commits(batch: &[Pending]) -> impl Iterator<Item = &Commit> {
    batch.iter().filter_map(|pending| match &pending.work {
        Work::Commit(commit) => Some(commit),
        Work::Trim(_) | Work::Defragment => None,
    })
}

/// Builds the store from its records.
#[derive(Default)]
struct Loading {
    keys: OrdMap<Bytes, Arc<History>>,
    leases: BTreeMap<LeaseId, Lease>,
    ended: Vec<(u64, u64)>,
    log: Vec<KeyChange>,
    sequence: u64,
    revision: i64,
    size: i64,
}

impl Loading {
    fn take(&mut self, record: Record) {
        self.sequence = record.sequence;
        match record.content {
            Content::Version { version, .. } => self.version(version),
            Content::Lease(LeaseChange::Granted { id, ttl_seconds }) => {
                let lease = Lease { ttl_seconds, sequence: record.sequence, keys: imbl::OrdSet::new() };
                self.leases.insert(id, lease);
            }
            Content::Lease(LeaseChange::Ended { id }) => {
                if let Some(lease) = self.leases.remove(&id) {
                    self.ended.push((lease.sequence, record.sequence));
                }
            }
        }
    }

    fn version(&mut self, version: Arc<Version>) {
        let older = self.keys.get(&version.kv.key).cloned();
        self.revision = version.kv.mod_revision;
        self.size += version.size();
        let prev = older.as_ref().and_then(|history| history.at(self.revision - 1)).cloned();
        self.log.push(KeyChange { version: version.clone(), prev });
        let history = History { newest: version.clone(), older };
        self.keys.insert(version.kv.key.clone(), Arc::new(history));
    }

    fn finish(mut self, base: Base) -> (Snapshot, Log) {
        let mut snapshot = Snapshot::empty();
        for version in self.keys.values().filter_map(|history| history.live()) {
            snapshot.live_size += version.size();
            if let Some(lease) = self.leases.get_mut(&version.kv.lease) {
                lease.keys.insert(version.kv.key.clone());
            }
        }
        let live = self.keys.iter().filter(|(_, history)| history.live().is_some());
        snapshot.counts = PrefixCounts::of_sorted(live.map(|(key, _)| key));
        // A compacted revision may have left no record, for example the deletion of a key in a backup of a running
        // store.
        snapshot.revision = self.revision.max(snapshot.revision).max(base.compacted);
        snapshot.sequence = self.sequence.max(base.sequence);
        snapshot.compacted = base.compacted;
        snapshot.size = self.size;
        snapshot.keys = self.keys;
        snapshot.leases = self.leases.into_iter().collect();
        snapshot.ended_leases = self.ended.into_iter().collect();
        let mut log = Log::default();
        self.log.into_iter().filter(|change| change.revision() >= base.compacted).for_each(|change| log.push(change));
        (snapshot, log)
    }
}
