use std::sync::Arc;

use coracle_journal::{Detail, Recorder, Stage};
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::commit::Commit;
use crate::compaction;
use crate::durable::{LeaseChange, Trim};
use crate::hub::Hub;
use crate::lease::Deadlines;
use crate::snapshot::Snapshot;
use crate::{Error, Revision};

/// Notifies a request that its commit is durable.
pub(crate) type Ack = oneshot::Sender<Result<(), Error>>;
type Acked = oneshot::Receiver<Result<(), Error>>;

/// The only place where the store changes. In memory a change is visible at once. With a disk it waits in a queue:
/// the owner of the disk writes all queued changes, syncs once, and makes them visible; if that fails, all of them
/// are rolled back.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) hub: Arc<Hub>,
    pub(crate) state: Mutex<WriterState>,
    /// Notified when the queue has work, or the store was closed.
    pub(crate) filled: Condvar,
    /// Notified when a deadline was added or changed.
    pub(crate) deadlines_changed: Notify,
    /// Closed when the owner of the disk has finished and released it.
    finished: Semaphore,
    recorder: Recorder,
}

#[derive(Debug)]
pub(crate) struct WriterState {
    /// Ahead of the visible snapshot by the changes in the queue and in progress.
    pub(crate) working: Snapshot,
    pub(crate) deadlines: Deadlines,
    /// `None` in memory.
    pub(crate) queue: Option<Vec<Pending>>,
    /// Why writes are rejected.
    pub(crate) refusal: Option<Error>,
    pub(crate) closed: bool,
}

/// Work for the owner of the disk.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) work: Work,
    pub(crate) ack: Ack,
}

#[derive(Debug)]
pub(crate) enum Work {
    /// A commit to write. An empty one read changes that are still queued, so its response waits too.
    Commit(Commit),
    /// Records to remove.
    Trim(Trim),
    /// Space to return to the file system.
    Defragment,
}

impl Writer {
    pub(crate) fn new(hub: Arc<Hub>, queue: Option<Vec<Pending>>, recorder: Recorder) -> Self {
        let working = Snapshot::clone(&hub.snapshot());
        let mut deadlines = Deadlines::default();
        renew_unknown(&working, &mut deadlines);
        let state = WriterState { working, deadlines, queue, refusal: None, closed: false };
        let (deadlines_changed, finished) = (Notify::new(), Semaphore::new(0));
        Self { hub, state: Mutex::new(state), filled: Condvar::new(), deadlines_changed, finished, recorder }
    }

    /// Changes the store; returns when the change is visible and durable.
    pub(crate) async fn write<R>(
        &self,
        change: impl FnOnce(&mut Snapshot) -> Result<(R, Commit), Error>,
    ) -> Result<R, Error> {
        let (answer, ack) = {
            let mut state = self.writable()?;
            let (answer, commit) = change(&mut state.working)?;
            self.follow_lease(&mut state, &commit);
            (answer, self.commit(&mut state, commit))
        };
        wait(ack).await?;
        Ok(answer)
    }

    /// Removes superseded versions up to `revision`.
    pub(crate) async fn compact(&self, revision: Revision) -> Result<(), Error> {
        let ack = {
            let mut state = self.writable()?;
            let compacted = state.working.compacted;
            if revision <= compacted {
                return Err(Error::Compacted { compacted });
            }
            // Queued changes do not exist yet for clients.
            let current = self.hub.snapshot().revision;
            if revision > current {
                return Err(Error::FutureRevision { current });
            }
            let changes = self.hub.changes(compacted, revision);
            let trim = compaction::compact(&mut state.working, revision, &changes);
            let ack = self.enqueue(&mut state, Work::Trim(trim));
            if ack.is_none() {
                self.hub.publish_compacted(state.working.clone());
            }
            ack
        };
        wait(ack).await
    }

    /// Lets the disk free space, between two commits.
    pub(crate) async fn defragment(&self) -> Result<(), Error> {
        let ack = self.enqueue(&mut *self.writable()?, Work::Defragment);
        wait(ack).await
    }

    /// Rejects further writes; the owner of the disk completes the queue.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// The owner of the disk has released it.
    pub(crate) fn finish(&self) {
        self.finished.close();
    }

    /// Waits until the owner of the disk has released it; in memory it returns at once.
    pub(crate) async fn finished(&self) {
        if self.lock().queue.is_some() {
            // No permit is ever added: the wait ends for all callers when the semaphore is closed.
            let _ = self.finished.acquire().await;
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock()
    }

    /// Records the commits in the event log, before they are visible, so that each visible commit has its entry.
    pub(crate) fn record<'a>(&self, commits: impl Iterator<Item = &'a Commit>) {
        if !self.recorder.is_on() {
            return;
        }
        for commit in commits {
            for change in &commit.changes {
                self.recorder.record("store", Stage::StoreCommit, || {
                    let kv = &change.version.kv;
                    let op = match (change.version.is_deletion(), kv.version) {
                        (true, _) => "delete",
                        (false, 1) => "create",
                        (false, _) => "put",
                    };
                    let cause = commit.cause.as_ref();
                    let about = cause.and_then(|cause| cause.subject.clone()).unwrap_or_else(|| subject(&kv.key));
                    let detail = Detail::about(about).at(commit.revision).with("op", op);
                    let detail = if op == "delete" { detail } else { detail.with("version", kv.version) };
                    detail.caused_by(cause.map(|cause| cause.entry))
                });
            }
        }
    }

    /// Rolls back all changes that readers have not seen, because the disk rejected them.
    pub(crate) fn roll_back(&self, state: &mut WriterState, why: &Error) {
        state.working = Snapshot::clone(&self.hub.snapshot());
        let WriterState { working, deadlines, .. } = state;
        renew_unknown(working, deadlines);
        state.refusal = Some(why.clone());
        for pending in state.queue.iter_mut().flat_map(std::mem::take) {
            let _ = pending.ack.send(Err(why.clone()));
        }
    }

    fn writable(&self) -> Result<MutexGuard<'_, WriterState>, Error> {
        let state = self.lock();
        if state.closed {
            return Err(Error::Unavailable("the store is closed".to_owned()));
        }
        match &state.refusal {
            Some(why) => Err(why.clone()),
            None => Ok(state),
        }
    }

    fn commit(&self, state: &mut WriterState, commit: Commit) -> Option<Acked> {
        if commit.is_empty() && state.working.sequence == self.hub.snapshot().sequence {
            return None;
        }
        if state.queue.is_some() {
            return self.enqueue(state, Work::Commit(commit));
        }
        self.record(std::iter::once(&commit));
        self.hub.publish(state.working.clone(), std::iter::once(&commit));
        None
    }

    /// Adds work to the queue of the disk; `None` without a disk.
    fn enqueue(&self, state: &mut WriterState, work: Work) -> Option<Acked> {
        let (ack, acked) = oneshot::channel();
        state.queue.as_mut()?.push(Pending { work, ack });
        self.filled.notify_one();
        Some(acked)
    }

    fn follow_lease(&self, state: &mut WriterState, commit: &Commit) {
        match commit.lease {
            Some((_, LeaseChange::Granted { id, ttl_seconds })) => state.deadlines.renew(id, ttl_seconds),
            Some((_, LeaseChange::Ended { id })) => state.deadlines.forget(id),
            None => return,
        }
        self.deadlines_changed.notify_one();
    }
}

/// Gives a deadline to every lease without one.
fn renew_unknown(snapshot: &Snapshot, deadlines: &mut Deadlines) {
    for (id, lease) in &snapshot.leases {
        if !deadlines.knows(*id) {
            deadlines.renew(*id, lease.ttl_seconds);
        }
    }
}

async fn wait(ack: Option<Acked>) -> Result<(), Error> {
    match ack {
        None => Ok(()),
        Some(acked) => match acked.await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Unavailable("the store stopped before the write was on disk".to_owned())),
        },
    }
}

/// The subject of a key in the event log, if the transaction has no other.
fn subject(key: &[u8]) -> String {
    let key = key.strip_prefix(b"/registry/").unwrap_or(key);
    String::from_utf8_lossy(key).into_owned()
}
