use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::Revision;
use crate::commit::KeyChange;

/// How many changes a chunk holds.
const CHUNK: usize = 256;
/// A chunk with this many bytes takes no further change: what a log keeps despite compaction is whole chunks.
const CHUNK_BYTES: i64 = 1 << 20;
/// How many chunks a reader gets at once.
const SLICE: usize = 16;
/// How many full chunks are kept despite compaction: a reader that is only slightly behind must not be cut off.
const SPARED: usize = 1;

/// The changes since the last compaction and some before it, in order. Appended to under a lock, read without one: a
/// slot is written once.
#[derive(Debug, Default)]
pub(crate) struct Log {
    chunks: VecDeque<Arc<Chunk>>,
    /// How many slots of the last chunk are used.
    taken: usize,
    /// The bytes of the changes in the last chunk.
    bytes: i64,
    /// The revision of the last dropped change.
    forgotten: Revision,
}

#[derive(Debug)]
struct Chunk {
    slots: Box<[OnceLock<KeyChange>]>,
    /// How many slots are used; unset while the chunk takes changes.
    length: OnceLock<usize>,
}

/// Chunks of the log, and the range of revisions that is wanted of them: complete ones only.
#[derive(Debug)]
pub(crate) struct Slice {
    chunks: Vec<Arc<Chunk>>,
    from: Revision,
    to: Revision,
}

impl Log {
    /// An empty log of what happens after `revision`.
    pub(crate) fn after(revision: Revision) -> Self {
        Self { forgotten: revision, ..Self::default() }
    }

    pub(crate) fn push(&mut self, change: KeyChange) {
        if self.chunks.back().is_none_or(|last| last.is_full()) {
            self.chunks.push_back(Arc::new(Chunk::new()));
            (self.taken, self.bytes) = (0, 0);
        }
        let chunk = self.chunks.back().expect("pushed above if there was none");
        self.bytes += change.size();
        chunk.slots[self.taken].set(change).expect("a slot is taken once");
        self.taken += 1;
        if self.taken == CHUNK || self.bytes >= CHUNK_BYTES {
            chunk.length.set(self.taken).expect("a chunk is closed once");
        }
    }

    /// A limited number of changes from `from` on, at most up to `head`.
    pub(crate) fn slice(&self, from: Revision, head: Revision) -> Slice {
        let begin = self.chunks.partition_point(|chunk| chunk.last().is_none_or(|last| last < from) && chunk.is_full());
        let mut chunks = Vec::new();
        let mut to = head;
        for chunk in self.chunks.range(begin..) {
            // The last revision before this chunk may extend into it; a slice ends between revisions.
            let before = chunk.first().map_or(head, |first| first - 1);
            if chunks.len() >= SLICE && before >= from {
                to = head.min(before);
                break;
            }
            chunks.push(chunk.clone());
        }
        Slice { chunks, from, to }
    }

    /// Drops the changes before `revision`, in whole chunks.
    pub(crate) fn trim(&mut self, revision: Revision) {
        while self.chunks.len() > SPARED + 1 {
            let Some(last) = self.chunks[0].last().filter(|last| *last < revision) else { break };
            self.forgotten = last;
            self.chunks.pop_front();
        }
    }

    /// Whether no change from `revision` on was dropped.
    pub(crate) fn reaches(&self, revision: Revision) -> bool {
        revision > self.forgotten
    }

    /// The changes of the revisions from `from` to `to`, without a limit.
    pub(crate) fn all(&self, from: Revision, to: Revision) -> Slice {
        Slice { chunks: self.chunks.iter().cloned().collect(), from, to }
    }
}

impl Slice {
    /// The revision up to which the slice is complete.
    pub(crate) fn to(&self) -> Revision {
        self.to
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = &KeyChange> {
        self.chunks
            .iter()
            .flat_map(|chunk| chunk.slots[chunk.place_of(self.from)..].iter().map_while(OnceLock::get))
            .take_while(|change| change.revision() <= self.to)
    }
}

impl Chunk {
    fn new() -> Self {
        Self { slots: (0..CHUNK).map(|_| OnceLock::new()).collect(), length: OnceLock::new() }
    }

    fn first(&self) -> Option<Revision> {
        self.slots.first().and_then(OnceLock::get).map(KeyChange::revision)
    }

    /// The revision of the last change; `None` while the chunk takes changes.
    fn last(&self) -> Option<Revision> {
        self.slots.get(self.length.get()? - 1).and_then(OnceLock::get).map(KeyChange::revision)
    }

    /// The first slot that is not before `revision`, used or free.
    fn place_of(&self, revision: Revision) -> usize {
        self.slots.partition_point(|slot| slot.get().is_some_and(|change| change.revision() < revision))
    }

    fn is_full(&self) -> bool {
        self.length.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;
    use crate::{EventKind, KeyValue};

    fn log(revisions: impl Iterator<Item = Revision>) -> Log {
        log_of(revisions, 0)
    }

    fn log_of(revisions: impl Iterator<Item = Revision>, value_bytes: usize) -> Log {
        let mut log = Log::default();
        for mod_revision in revisions {
            let kv = KeyValue { mod_revision, value: vec![0; value_bytes].into(), ..KeyValue::default() };
            log.push(KeyChange {
                version: Arc::new(Version { kv, kind: EventKind::Put, sub: 0, sequence: 0 }),
                prev: None,
            });
        }
        log
    }

    fn read(log: &Log, mut from: Revision, head: Revision) -> Vec<Revision> {
        let mut read = Vec::new();
        while from <= head {
            let slice = log.slice(from, head);
            assert!(slice.to() >= from, "a slice makes progress");
            read.extend(slice.changes().map(KeyChange::revision));
            from = slice.to() + 1;
        }
        read
    }

    #[test]
    fn a_reader_gets_every_change_once_from_wherever_it_starts() {
        let log = log(2..20_000);
        for from in [2, 3, 256, 257, 258, 5_000, 19_998, 19_999] {
            assert_eq!(read(&log, from, 19_999), (from..20_000).collect::<Vec<_>>());
        }
        assert!(read(&log, 2, 100).into_iter().eq(2..=100));
    }

    #[test]
    fn a_revision_larger_than_a_slice_is_not_split() {
        let log = log(std::iter::repeat_n(2, 10_000).chain([3]));
        assert_eq!(log.slice(2, 3).changes().filter(|change| change.revision() == 2).count(), 10_000);
        assert_eq!(read(&log, 2, 3).len(), 10_001);
    }

    #[test]
    fn trimming_keeps_what_is_at_or_after_its_revision() {
        let mut log = log(2..5_000);
        log.trim(3_000);
        assert!(log.chunks.len() < 10, "whole chunks are freed");
        assert!(read(&log, 3_000, 4_999).into_iter().eq(3_000..5_000));
    }

    #[test]
    fn large_changes_do_not_stay_after_a_compaction_because_they_are_few() {
        let mut log = log_of(2..100, 300_000);
        assert!(read(&log, 2, 99).into_iter().eq(2..100), "chunks of a few changes are read as others");
        log.trim(99);
        let kept = log.all(2, 99).changes().count();
        assert!(kept <= 8, "{kept} changes of 300 kB are kept");
        assert!(read(&log, 99, 99).into_iter().eq([99]));
    }
}
