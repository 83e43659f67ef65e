use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::log::Slice;
use crate::snapshot::Snapshot;
use crate::{Engine, Revision, Store};

/// When history is compacted without being asked. In Kubernetes: etcd's `--auto-compaction-mode` and
/// `--auto-compaction-retention`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoCompaction {
    /// Keeps the newest revisions, so many of them; looks every five minutes.
    Revisions(i64),
    /// Keeps what is younger than this.
    Periodic(Duration),
}

/// How often the number of revisions is looked at.
const REVISIONS_INTERVAL: Duration = Duration::from_secs(300);
/// How often a period looks at the revision, as a share of itself.
const SAMPLES_PER_PERIOD: u32 = 10;

impl Engine {
    /// Forgets old history from time to time. Runs until it is dropped.
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

    /// Forgets the older half of history whenever all of it takes more than `bytes`. Runs until it is dropped.
    /// Unlike etcd, which bounds history by time or by revisions alone.
    pub async fn bound_history(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let hub = self.hub();
        hub.limit_history(bytes);
        loop {
            hub.overgrown.notified().await;
            let snapshot = hub.snapshot();
            let changes = hub.changes(snapshot.compacted, snapshot.revision);
            if let Some(revision) = halfway(&snapshot, &changes, bytes / 2) {
                self.compact_up_to(revision).await;
            }
        }
    }

    async fn compact_up_to(&self, revision: Revision) {
        if revision > self.compacted().max(1) {
            // A disk that refuses to write is seen by everyone who writes; the next time comes.
            let _ = self.compact(revision).await;
        }
    }
}

/// At which revision to compact, so that no more than `bytes` of history are kept; `None` if that is so already.
fn halfway(snapshot: &Snapshot, changes: &Slice, bytes: i64) -> Option<Revision> {
    let mut kept = snapshot.history_bytes();
    for change in changes.changes() {
        if kept <= bytes {
            break;
        }
        kept -= change.prev.as_ref().map_or(0, |version| version.size());
        if kept <= bytes {
            return Some(change.revision());
        }
    }
    // What is left are deletions, which the newest revision takes with it.
    (kept > bytes).then_some(snapshot.revision)
}
