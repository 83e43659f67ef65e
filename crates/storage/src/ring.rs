use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coracle_store::Revision;
use tokio::time::Instant;

use crate::Stored;
use crate::entry::Entry;

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) revision: Revision,
    pub(crate) key: Arc<str>,
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
    pub(crate) at: Instant,
    /// The old object at the revision of this change, for watches that see a deletion; created on first use.
    deleted: OnceLock<Stored>,
}

impl Change {
    pub(crate) fn new(revision: Revision, key: Arc<str>, old: Option<Entry>, new: Option<Entry>, at: Instant) -> Self {
        Self { revision, key, old, new, at, deleted: OnceLock::new() }
    }

    /// The old object at the revision of this change. All watches share one, so that it is encoded and decoded once.
    pub(crate) fn deleted(&self, old: &Entry) -> Stored {
        self.deleted.get_or_init(|| old.stored.at(self.revision)).clone()
    }

    /// The approximate number of bytes that the change keeps alive.
    fn bytes(&self) -> usize {
        length(self.old.as_ref()) + length(self.new.as_ref()) + 200
    }
}

fn length(entry: Option<&Entry>) -> usize {
    entry.map_or(0, |entry| entry.stored.len())
}

/// The distance behind the newest change at which readers in this process have most likely dropped an object.
const SETTLED: usize = 64;

/// How much history a cache keeps for watches that start in the past or are slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The minimum number of changes, whatever their size.
    pub min_changes: usize,
    /// The maximum number of changes.
    pub max_changes: usize,
    /// The approximate maximum number of bytes of objects, however few objects there are. A cache keeps as much history
    /// as it has live objects, so that clients that change a few objects again and again cannot fill the memory.
    pub least_bytes: usize,
    /// The approximate maximum number of bytes of objects, however many objects there are.
    pub most_bytes: usize,
    /// Older changes are dropped when the next one arrives. In Kubernetes: `eventFreshDuration`.
    pub max_age: Duration,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            min_changes: 20,
            max_changes: 100_000,
            least_bytes: 4 << 20,
            most_bytes: 32 << 20,
            max_age: Duration::from_secs(75),
        }
    }
}

/// The last changes, numbered without gaps from 0 since the cache began.
#[derive(Debug)]
pub(crate) struct Ring {
    changes: VecDeque<Arc<Change>>,
    /// The number of `changes[0]`.
    first: u64,
    /// All changes after this revision are present.
    complete_after: Revision,
    bytes: usize,
    /// The bytes of the objects that exist now.
    live_bytes: usize,
    limits: HistoryLimits,
}

impl Ring {
    /// A ring without changes, of objects with this number of bytes.
    pub(crate) fn new(complete_after: Revision, first: u64, live_bytes: usize, limits: HistoryLimits) -> Self {
        Self { changes: VecDeque::new(), first, complete_after, bytes: 0, live_bytes, limits }
    }

    /// Adds a change and returns its number.
    pub(crate) fn push(&mut self, change: Change) -> u64 {
        self.bytes += change.bytes();
        self.live_bytes = (self.live_bytes + length(change.new.as_ref())).saturating_sub(length(change.old.as_ref()));
        let now = change.at;
        self.changes.push_back(Arc::new(change));
        self.release_settled();
        while self.has_too_much(now)
            && let Some(oldest) = self.changes.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.first += 1;
            self.complete_after = oldest.revision;
        }
        self.end() - 1
    }

    /// Frees the decoded forms of the object that a change replaced some time ago.
    fn release_settled(&self) {
        let settled = self.changes.len().checked_sub(SETTLED).and_then(|at| self.changes.get(at));
        if let Some(old) = settled.and_then(|change| change.old.as_ref()) {
            old.stored.release_unused();
        }
    }

    fn has_too_much(&self, now: Instant) -> bool {
        let HistoryLimits { min_changes, max_changes, least_bytes, most_bytes, max_age } = self.limits;
        let max_bytes = self.live_bytes.max(least_bytes).min(most_bytes);
        let is_old = || self.changes.front().is_some_and(|oldest| now - oldest.at > max_age);
        let count = self.changes.len();
        count > max_changes || (count > min_changes && (self.bytes > max_bytes || is_old()))
    }

    /// The number of the next change.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.changes.len() as u64
    }

    /// The oldest revision after which a watch can start.
    pub(crate) fn complete_after(&self) -> Revision {
        self.complete_after
    }

    /// The number of the first change after `revision`; `None` if a change after it was dropped.
    pub(crate) fn number_after(&self, revision: Revision) -> Option<u64> {
        if revision < self.complete_after {
            return None;
        }
        Some(self.first + self.changes.partition_point(|change| change.revision <= revision) as u64)
    }

    /// The changes from number `from`; `None` if that one was dropped.
    pub(crate) fn from(&self, from: u64) -> Option<impl Iterator<Item = &Arc<Change>>> {
        let skip = usize::try_from(from.checked_sub(self.first)?).ok()?;
        Some(self.changes.iter().skip(skip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(revision: Revision) -> Change {
        Change::new(revision, "k".into(), None, None, Instant::now())
    }

    #[test]
    fn a_ring_says_what_it_has_forgotten() {
        let limits = HistoryLimits { min_changes: 1, max_changes: 2, ..HistoryLimits::default() };
        let mut ring = Ring::new(5, 0, 0, limits);
        assert_eq!(ring.number_after(4), None);
        assert_eq!(ring.number_after(5), Some(0));
        for revision in [6, 8, 9] {
            ring.push(change(revision));
        }
        assert_eq!(ring.complete_after(), 6);
        assert!(ring.from(0).is_none());
        assert_eq!(ring.number_after(7), Some(1));
        assert_eq!(ring.from(1).unwrap().map(|change| change.revision).collect::<Vec<_>>(), [8, 9]);
        assert_eq!(ring.from(3).unwrap().count(), 0);
    }

    #[test]
    fn bytes_bound_a_ring_too_but_a_few_changes_always_stay() {
        let limits = HistoryLimits { min_changes: 2, least_bytes: 1, most_bytes: 700, ..HistoryLimits::default() };
        // A change without objects counts 200 bytes.
        for (live_bytes, kept) in [(0, 2), (650, 3), (100_000, 3)] {
            let mut ring = Ring::new(0, 0, live_bytes, limits);
            for revision in 1..=5 {
                ring.push(change(revision));
            }
            assert_eq!(ring.from(5 - kept).unwrap().count() as u64, kept, "{live_bytes}");
            assert!(ring.from(4 - kept).is_none(), "{live_bytes}");
        }
    }

    #[test]
    fn old_changes_are_dropped_but_a_few_always_stay() {
        let limits = HistoryLimits { min_changes: 2, ..HistoryLimits::default() };
        let mut ring = Ring::new(0, 0, 0, limits);
        let start = Instant::now();
        for (revision, seconds) in [(1, 0), (2, 100), (3, 200), (4, 350), (5, 900)] {
            ring.push(Change { at: start + Duration::from_secs(seconds), ..change(revision) });
        }
        assert_eq!(ring.from(3).unwrap().map(|change| change.revision).collect::<Vec<_>>(), [4, 5]);
    }
}
