use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use coracle_journal::Recorder;

use crate::commit::{Change, Commit};
use crate::durable::{Base, Content, Durable, LeaseChange, Record, Trim};
use crate::hub::Hub;
use crate::log::Log;
use crate::snapshot::{Lease, Snapshot};
use crate::version::{History, Version};
use crate::writer::{Ack, Pending, Work, Writer};
use crate::{Error, LeaseId};

/// How long to wait before the disk is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What the disk takes, told to whoever asks for the status.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskSize(Arc<AtomicI64>);

impl DiskSize {
    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Owns the disk: writes what gathers in the queue, syncs once for all of it, makes it visible, and acknowledges it.
pub struct CommitLoop {
    durable: Box<dyn Durable>,
    writer: Arc<Writer>,
    size: DiskSize,
}

/// Loads what `durable` has.
pub(crate) fn open(
    mut durable: Box<dyn Durable>,
    recorder: Recorder,
) -> Result<(Arc<Writer>, CommitLoop, DiskSize), Error> {
    let mut loading = Loading::default();
    let base = durable.load(&mut |record| loading.take(record))?;
    let (snapshot, log) = loading.finish(base);
    let hub = Arc::new(Hub::new(snapshot, log));
    let writer = Arc::new(Writer::new(hub, Some(Vec::new()), recorder));
    let size = DiskSize::default();
    size.0.store(durable.size_bytes(), Ordering::Relaxed);
    let commit_loop = CommitLoop { durable, writer: writer.clone(), size: size.clone() };
    Ok((writer, commit_loop, size))
}

impl CommitLoop {
    /// Runs until the engine is closed or dropped, and has nothing more to write then. Blocks its thread.
    pub fn run(mut self) {
        while let Some((batch, snapshot)) = self.take() {
            let (commits, trims) = sort(batch);
            let outcome = self.write(&commits, &trims);
            self.size.0.store(self.durable.size_bytes(), Ordering::Relaxed);
            match outcome {
                Ok(()) => {
                    self.publish(snapshot, &commits, !trims.is_empty());
                    let acks = commits.into_iter().map(|(_, ack)| ack).chain(trims.into_iter().map(|(_, ack)| ack));
                    acks.for_each(|ack| drop(ack.send(Ok(()))));
                }
                Err(error) => {
                    self.writer.roll_back(&mut self.writer.lock(), &error);
                    let acks = commits.into_iter().map(|(_, ack)| ack).chain(trims.into_iter().map(|(_, ack)| ack));
                    acks.for_each(|ack| drop(ack.send(Err(error.clone()))));
                    self.recover();
                }
            }
        }
    }

    /// Everything in the queue, with the snapshot that it leads to; `None` once the engine is closed.
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
            state = self.writer.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&mut self, commits: &[(Commit, Ack)], trims: &[(Trim, Ack)]) -> Result<(), Error> {
        let records: Vec<Record> = commits.iter().flat_map(|(commit, _)| commit.records()).collect();
        if !records.is_empty() {
            self.durable.append(&records)?;
            self.durable.sync()?;
        }
        trims.iter().try_for_each(|(trim, _)| self.durable.trim(trim))
    }

    fn publish(&self, snapshot: Snapshot, commits: &[(Commit, Ack)], compacted: bool) {
        self.writer.record(commits.iter().map(|(commit, _)| commit));
        let last = compacted.then(|| snapshot.clone());
        self.writer.hub.publish(snapshot, commits.iter().map(|(commit, _)| commit));
        if let Some(snapshot) = last {
            self.writer.hub.publish_compacted(snapshot);
        }
    }

    /// Tries until the disk has what was acknowledged and takes writes again, or the engine is closed.
    fn recover(&mut self) {
        let acknowledged = self.writer.hub.snapshot().sequence;
        loop {
            {
                let state = self.writer.lock();
                let (state, _) = self.writer.filled.wait_timeout(state, RETRY).unwrap_or_else(PoisonError::into_inner);
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

type Acked<T> = Vec<(T, Ack)>;

fn sort(batch: Vec<Pending>) -> (Acked<Commit>, Acked<Trim>) {
    let mut commits = Vec::with_capacity(batch.len());
    let mut trims = Vec::new();
    for Pending { work, ack } in batch {
        match work {
            Work::Commit(commit) => commits.push((commit, ack)),
            Work::Trim(trim) => trims.push((trim, ack)),
        }
    }
    (commits, trims)
}

/// Builds the store from its records.
#[derive(Default)]
struct Loading {
    histories: BTreeMap<bytes::Bytes, Arc<History>>,
    leases: BTreeMap<LeaseId, Lease>,
    ended: Vec<(u64, u64)>,
    log: Vec<Change>,
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
        let older = self.histories.get(&version.kv.key).cloned();
        self.revision = version.kv.mod_revision;
        self.size += version.size();
        let prev = older.as_ref().and_then(|history| history.at(self.revision - 1)).cloned();
        self.log.push(Change { version: version.clone(), prev });
        let history = History { newest: version.clone(), older };
        self.histories.insert(version.kv.key.clone(), Arc::new(history));
    }

    fn finish(mut self, base: Base) -> (Snapshot, Log) {
        let mut snapshot = Snapshot::empty();
        for version in self.histories.values().filter_map(|history| history.live()) {
            snapshot.live_size += version.size();
            if let Some(lease) = self.leases.get_mut(&version.kv.lease) {
                lease.keys.insert(version.kv.key.clone());
            }
        }
        snapshot.revision = self.revision.max(snapshot.revision);
        snapshot.sequence = self.sequence;
        snapshot.compacted = base.compacted;
        snapshot.size = self.size;
        snapshot.keys = self.histories.into_iter().collect();
        snapshot.leases = self.leases.into_iter().collect();
        snapshot.ended_leases = self.ended.into_iter().collect();
        let mut log = Log::default();
        self.log.into_iter().filter(|change| change.revision() >= base.compacted).for_each(|change| log.push(change));
        (snapshot, log)
    }
}
