use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use coracle_store::Revision;
use tokio::time::Instant;

use crate::entry::Entry;

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) revision: Revision,
    pub(crate) key: Arc<str>,
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
    pub(crate) at: Instant,
}

impl Change {
    /// The approximate number of bytes that the change keeps alive.
    fn bytes(&self) -> usize {
        [&self.old, &self.new].into_iter().flatten().map(|entry| entry.stored.len()).sum::<usize>() + 200
    }
}

/// How much history a cache keeps for watches that start in the past or are slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The minimum number of changes, whatever their size.
    pub min_changes: usize,
    /// The maximum number of changes.
    pub max_changes: usize,
    /// The approximate maximum number of bytes of objects.
    pub max_bytes: usize,
    /// Older changes are dropped when the next one arrives. In Kubernetes: `eventFreshDuration`.
    pub max_age: Duration,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { min_changes: 100, max_changes: 100_000, max_bytes: 32 << 20, max_age: Duration::from_secs(75) }
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
    limits: HistoryLimits,
}

impl Ring {
    pub(crate) fn new(complete_after: Revision, first: u64, limits: HistoryLimits) -> Self {
        Self { changes: VecDeque::new(), first, complete_after, bytes: 0, limits }
    }

    /// Adds a change and returns its number.
    pub(crate) fn push(&mut self, change: Change) -> u64 {
        self.bytes += change.bytes();
        let now = change.at;
        self.changes.push_back(Arc::new(change));
        while self.has_too_much(now)
            && let Some(oldest) = self.changes.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.first += 1;
            self.complete_after = oldest.revision;
        }
        self.end() - 1
    }

    fn has_too_much(&self, now: Instant) -> bool {
        let HistoryLimits { min_changes, max_changes, max_bytes, max_age } = self.limits;
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
        Change { revision, key: "k".into(), old: None, new: None, at: Instant::now() }
    }

    #[test]
    fn a_ring_says_what_it_has_forgotten() {
        let limits = HistoryLimits { min_changes: 1, max_changes: 2, ..HistoryLimits::default() };
        let mut ring = Ring::new(5, 0, limits);
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
        let limits = HistoryLimits { min_changes: 2, max_bytes: 1, ..HistoryLimits::default() };
        let mut ring = Ring::new(0, 0, limits);
        for revision in 1..=5 {
            ring.push(change(revision));
        }
        assert_eq!(ring.from(3).unwrap().count(), 2);
    }

    #[test]
    fn old_changes_are_dropped_but_a_few_always_stay() {
        let limits = HistoryLimits { min_changes: 2, ..HistoryLimits::default() };
        let mut ring = Ring::new(0, 0, limits);
        let start = Instant::now();
        for (revision, seconds) in [(1, 0), (2, 100), (3, 200), (4, 350), (5, 900)] {
            ring.push(Change { at: start + Duration::from_secs(seconds), ..change(revision) });
        }
        assert_eq!(ring.from(3).unwrap().map(|change| change.revision).collect::<Vec<_>>(), [4, 5]);
    }
}
