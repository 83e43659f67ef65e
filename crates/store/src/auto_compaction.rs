use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::log::Slice;
use crate::snapshot::{REVISION_OVERHEAD, Snapshot};
use crate::{Engine, HistoryLimit, Revision, Store};

/// The policy of automatic compaction. In Kubernetes: etcd's `--auto-compaction-mode` and
/// `--auto-compaction-retention`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoCompaction {
    /// Keeps this many of the newest revisions; checks every five minutes.
    Revisions(i64),
    /// Keeps the history of this period.
    Periodic(Duration),
}

/// How often the number of revisions is checked.
const REVISIONS_INTERVAL: Duration = Duration::from_secs(300);
/// How many times per period the revision is sampled.
const SAMPLES_PER_PERIOD: u32 = 10;

impl Engine {
    /// Compacts history periodically. Runs until the future is dropped.
    pub async fn auto_compact(&self, policy: AutoCompaction) {
        match policy {
            AutoCompaction::Revisions(kept) => loop {
                sleep(REVISIONS_INTERVAL).await;
                self.compact_up_to(self.revision() - kept).await;
            },
            AutoCompaction::Periodic(period) => {
                let mut samples: VecDeque<(Instant, Revision)> = VecDeque::from([(Instant::now(), self.revision())]);
                loop {
                    sleep(period / SAMPLES_PER_PERIOD).await;
                    let mut outdated = None;
                    while let Some((_, revision)) = samples.front().filter(|(at, _)| at.elapsed() >= period) {
                        outdated = Some(*revision);
                        samples.pop_front();
                    }
                    samples.push_back((Instant::now(), self.revision()));
                    if let Some(revision) = outdated {
                        self.compact_up_to(revision).await;
                    }
                }
            }
        }
    }

    /// Compacts the older half of history whenever history exceeds `limit`. Runs until the future is dropped.
    pub async fn bound_history(&self, limit: HistoryLimit) {
        let hub = self.hub();
        hub.limit_history(limit);
        loop {
            hub.overgrown.notified().await;
            let snapshot = hub.snapshot();
            let changes = hub.changes(snapshot.compacted, snapshot.revision);
            if let Some(revision) = halfway(&snapshot, &changes, limit.bytes(snapshot.live_size) / 2) {
                self.compact_up_to(revision).await;
            }
        }
    }

    async fn compact_up_to(&self, revision: Revision) {
        if revision > self.compacted().max(1) {
            // Writers see the error of a disk that rejects writes; this is retried at the next time.
            let _ = self.compact(revision).await;
        }
    }
}

/// The revision to compact at, so that at most `bytes` of history are kept; `None` if that is already the case.
fn halfway(snapshot: &Snapshot, changes: &Slice, bytes: i64) -> Option<Revision> {
    let mut kept = snapshot.history_bytes();
    let mut revision = snapshot.compacted;
    for change in changes.changes() {
        if kept <= bytes {
            break;
        }
        kept -= change.prev.as_ref().map_or(0, |version| version.size());
        kept -= (change.revision() - revision) * REVISION_OVERHEAD;
        revision = change.revision();
        if kept <= bytes {
            return Some(revision);
        }
    }
    // Only deletions are left, and compaction at the newest revision removes them.
    (kept > bytes).then_some(snapshot.revision)
}
