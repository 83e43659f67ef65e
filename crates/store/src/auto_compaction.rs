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

/// Compacts until it is dropped.
pub(crate) async fn run(engine: &Engine, policy: AutoCompaction) {
    match policy {
        AutoCompaction::Revisions(kept) => loop {
            sleep(REVISIONS_INTERVAL).await;
            compact(engine, engine.revision() - kept).await;
        },
        AutoCompaction::Periodic(period) => {
            let mut samples: VecDeque<(Instant, Revision)> = VecDeque::from([(Instant::now(), engine.revision())]);
            loop {
                sleep(period / SAMPLES_PER_PERIOD).await;
                let mut outdated = None;
                while let Some((_, revision)) = samples.front().filter(|(at, _)| at.elapsed() >= period) {
                    outdated = Some(*revision);
                    samples.pop_front();
                }
                samples.push_back((Instant::now(), engine.revision()));
                if let Some(revision) = outdated {
                    compact(engine, revision).await;
                }
            }
        }
    }
}

/// At which revision to compact, so that no more than `bytes` of history are kept; `None` if that is so already.
pub(crate) fn halfway(snapshot: &Snapshot, changes: &Slice, bytes: i64) -> Option<Revision> {
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

pub(crate) async fn compact(engine: &Engine, revision: Revision) {
    if revision > engine.compacted().max(1) {
        // A disk that refuses to write is seen by everyone who writes; the next time comes.
        let _ = engine.compact(revision).await;
    }
}
