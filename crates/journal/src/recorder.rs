use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::block::{Block, Kept};
use crate::commits::Commits;
use crate::sent::Sent;
use crate::sink::Sink;
use crate::waiting::Waiting;
use crate::{Detail, Entry, EntryId, Error, Header, Stage};

/// How many entries a block has at most.
const BLOCK: u64 = 1 << 8;
/// The size in bytes at which a block is closed.
const BLOCK_BYTES: usize = 1 << 20;
/// How many entries a batch has at most.
const BATCH: usize = 1 << 10;
/// The size of a batch in bytes at most, approximately.
const BATCH_BYTES: usize = 1 << 20;

/// A handle that writes to the log; clones write to the same log.
///
/// With nothing attached ([`Recorder::off`]), recording costs one branch, and the closure that creates the detail is
/// not called.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Recorder, Stage};
///
/// let recorder = Recorder::ring(1000);
/// let start = recorder.record("program", Stage::SyncStart, || Detail::about("default/web"));
/// recorder.record("program", Stage::SyncEnd, || Detail::about("default/web").caused_by(start).with("result", "done"));
/// let entries = recorder.entries(EntryId(0));
/// assert_eq!(entries[1].causes, [entries[0].id]);
/// assert!(Recorder::off().record("program", Stage::SyncStart, || unreachable!("nothing is attached")).is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    log: Option<Arc<Mutex<Log>>>,
}

#[derive(Debug)]
struct Log {
    origin: Instant,
    /// Closed blocks, which readers use without a lock.
    ring: VecDeque<Arc<Block>>,
    /// Their size in bytes.
    ring_bytes: usize,
    /// The block after the ring, to which entries are added.
    open: Block,
    capacity: usize,
    most_bytes: usize,
    file: Option<Sink>,
    /// The commit of each revision, which observers of the revision name as a cause.
    commits: Commits,
    /// The entries that sent requests and events, which receivers name as a cause.
    sent: Sent,
    waiting: Waiting,
}

impl Recorder {
    /// A recorder with nothing attached.
    pub fn off() -> Self {
        Self::default()
    }

    /// Keeps the last `capacity` entries in memory.
    pub fn ring(capacity: usize) -> Self {
        Self::attach(capacity, None)
    }

    /// Keeps the last `capacity` entries in memory, and writes all entries to a file as JSON lines after the line
    /// `header`. The file is compressed if its name ends with `.gz`, and complete after [`close`](Self::close).
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn file(path: &Path, capacity: usize, header: &Header) -> Result<Self, Error> {
        Ok(Self::attach(capacity, Some(Sink::create(path, header)?)))
    }

    fn attach(capacity: usize, file: Option<Sink>) -> Self {
        let log = Log {
            origin: Instant::now(),
            ring: VecDeque::new(),
            ring_bytes: 0,
            open: Block::starting_at(1),
            capacity,
            most_bytes: usize::MAX,
            file,
            commits: Commits::default(),
            sent: Sent::default(),
            waiting: Waiting::default(),
        };
        Self { log: Some(Arc::new(Mutex::new(log))) }
    }

    /// Keeps at most `most` bytes in memory from now on. If entries need more, the oldest are dropped, about a megabyte
    /// at a time. The newest entry is always kept.
    pub fn limit_bytes(&self, most: usize) {
        self.with_log(|log| {
            log.most_bytes = most;
            log.forget();
        });
    }

    /// Whether anything is attached.
    pub fn is_on(&self) -> bool {
        self.log.is_some()
    }

    /// Records an entry; `detail` is only called if something is attached. Returns the entry's number, which later
    /// entries name as a cause.
    pub fn record(&self, actor: &str, stage: Stage, detail: impl FnOnce() -> Detail) -> Option<EntryId> {
        let log = self.log.as_ref()?;
        let detail = detail().in_order();
        let (id, due) = {
            let mut log = log.lock();
            let id = log.append(actor, stage, &detail);
            (id, log.waiting.due(id))
        };
        due.into_iter().for_each(Waker::wake);
        Some(id)
    }

    /// Waits until the entry with this number is recorded; forever, if it never is. Waiting records nothing, sets no
    /// timer and wakes no other task, so it does not change what happens before that entry. The waiting task continues
    /// when the runtime polls it: other entries of the same moment may be recorded before, and the clock does not
    /// advance.
    pub async fn written(&self, id: EntryId) {
        std::future::poll_fn(|context| {
            let is_written = self.with_log(|log| {
                let is_written = log.open.next() > id.0;
                if !is_written {
                    log.waiting.add(id, context.waker());
                }
                is_written
            });
            if is_written == Some(true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// The number of the newest entry; 0 if the log is empty.
    pub fn last(&self) -> EntryId {
        EntryId(self.with_log(|log| log.open.next() - 1).unwrap_or_default())
    }

    /// The entries of the commit that made `revision`, if the recorder still remembers them.
    pub fn commit(&self, revision: i64) -> Vec<EntryId> {
        self.with_log(|log| log.commits.of(revision)).unwrap_or_default()
    }

    /// The subject of an entry, if it is in memory.
    pub fn subject(&self, id: EntryId) -> Option<String> {
        let subject = |log: &mut Log| Some(log.holding(id.0)?.kept(id.0).subject().to_owned());
        self.with_log(subject).flatten()
    }

    /// Remembers that `entry` sent the request with this audit id.
    pub fn remember_audit(&self, audit_id: &str, entry: EntryId) {
        self.with_log(|log| log.sent.remember(audit_id, None, entry));
    }

    /// The entry that sent the request with this audit id, if this recorder knows it.
    pub fn audit(&self, audit_id: &str) -> Option<EntryId> {
        self.with_log(|log| log.sent.find(audit_id, None)).flatten()
    }

    /// Remembers that `entry` sent an event of `revision` on the watch with this audit id; at revision 0, that it ended
    /// the watch.
    pub fn remember_sent(&self, audit_id: &str, revision: i64, entry: EntryId) {
        self.with_log(|log| log.sent.remember(audit_id, Some(revision), entry));
    }

    /// The entry that sent an event of `revision` on the watch with this audit id, if this recorder knows it; at
    /// revision 0, the entry that ended the watch.
    pub fn sent(&self, audit_id: &str, revision: i64) -> Option<EntryId> {
        self.with_log(|log| log.sent.find(audit_id, Some(revision))).flatten()
    }

    /// The entries in memory with a number of at least `from`. A follower of the log passes the number after its last
    /// entry. Recording does not wait while entries are read.
    pub fn entries(&self, from: EntryId) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.each(from, |kept| {
            entries.push(kept.entry());
            true
        });
        entries
    }

    /// Those of the [`entries`](Self::entries) that are at one of these stages; the others cost almost nothing.
    pub fn entries_of(&self, from: EntryId, stages: &[Stage]) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.each(from, |kept| {
            if stages.contains(&kept.stage()) {
                entries.push(kept.entry());
            }
            true
        });
        entries
    }

    /// Some of the [`entries`](Self::entries) from a number on, as lines of an events file, each after `prefix`: about
    /// a thousand, or fewer if they are large. A consumer takes only as many as it can forward, so no more than this is
    /// in memory twice. The number is that of the last entry; `None` if there is no entry yet.
    pub fn lines(&self, from: EntryId, prefix: &str) -> Option<(EntryId, Vec<u8>)> {
        let (mut lines, mut count, mut last) = (Vec::new(), 0, None);
        self.each(from, |kept| {
            lines.extend_from_slice(prefix.as_bytes());
            kept.write(&mut lines);
            lines.push(b'\n');
            (count, last) = (count + 1, Some(kept.id()));
            count < BATCH && lines.len() < BATCH_BYTES
        });
        Some((last?, lines))
    }

    /// Calls `look` for the current entries from a number on, until it returns false.
    fn each(&self, from: EntryId, mut look: impl FnMut(&Kept<'_>) -> bool) {
        let Some((mut from, next)) = self.with_log(|log| (from.0.max(log.first()), log.open.next())) else { return };
        while from < next {
            let Some(block) = self.with_log(|log| log.block(from)) else { return };
            // Entries that were dropped meanwhile are skipped.
            for number in from.max(block.first())..next.min(block.next()) {
                if !look(&block.kept(number)) {
                    return;
                }
            }
            from = block.next();
        }
    }

    /// The number of the first entry in memory, or of the next one if memory holds no entry; `None` if none is ever kept.
    /// Earlier entries were dropped.
    pub fn first(&self) -> Option<EntryId> {
        self.with_log(|log| EntryId(log.first()))
    }

    /// How many entries are kept in memory at most.
    pub fn capacity(&self) -> usize {
        self.with_log(|log| log.capacity).unwrap_or_default()
    }

    /// The memory that the entries take in bytes, approximately.
    pub fn held_bytes(&self) -> usize {
        self.with_log(|log| log.held_bytes()).unwrap_or_default()
    }

    /// Flushes the recorded entries to the file, so that they survive a crash of the program. Does nothing without a
    /// file.
    pub fn flush(&self) {
        self.with_log(|log| log.file.as_mut().map(Sink::flush));
    }

    /// Why the file cannot be written, if a write has failed. The log continues in memory, and the file ends at that
    /// point.
    pub fn failure(&self) -> Option<String> {
        self.with_log(|log| log.file.as_ref().and_then(Sink::failure)).flatten()
    }

    /// Completes the file; later entries are not written to it. Does nothing without a file.
    ///
    /// # Errors
    /// The first error of the file.
    pub fn close(&self) -> std::io::Result<()> {
        let file = self.with_log(|log| log.file.take());
        file.flatten().map_or(Ok(()), Sink::end)
    }

    fn with_log<R>(&self, use_log: impl FnOnce(&mut Log) -> R) -> Option<R> {
        let log = self.log.as_ref()?;
        Some(use_log(&mut log.lock()))
    }
}

impl Log {
    fn append(&mut self, actor: &str, stage: Stage, detail: &Detail) -> EntryId {
        let id = self.open.push(self.origin.elapsed(), actor, stage, detail);
        if let (Stage::StoreCommit, Some(revision)) = (stage, detail.revision) {
            self.commits.add(revision, id);
        }
        if let Some(file) = &mut self.file {
            file.write(&self.open.kept(id.0));
        }
        if self.open.next() - self.open.first() == BLOCK || self.open.bytes() >= BLOCK_BYTES {
            let block = Arc::new(self.open.copied_from(self.open.first()));
            self.ring_bytes += block.held_bytes();
            self.ring.push_back(block);
            self.open.begin_again();
            self.forget();
        }
        id
    }

    fn held_bytes(&self) -> usize {
        self.open.held_bytes() + self.ring_bytes
    }

    /// Drops the blocks that are too old, and the oldest blocks if all together are too large.
    fn forget(&mut self) {
        while let Some(oldest) = self.ring.front() {
            let is_last = self.ring.len() == 1;
            let is_too_old = oldest.next() <= self.first();
            if !is_too_old && (is_last || self.held_bytes() <= self.most_bytes) {
                return;
            }
            self.ring_bytes -= oldest.held_bytes();
            self.ring.pop_front();
        }
    }

    /// The number of the oldest entry that counts as kept. Older ones may still be in memory, because only whole blocks
    /// are dropped.
    fn first(&self) -> u64 {
        let oldest = self.ring.front().map_or(self.open.first(), |block| block.first());
        oldest.max(self.open.next().saturating_sub(self.capacity as u64))
    }

    /// The block with the entry of a number, if it is in memory.
    fn holding(&self, number: u64) -> Option<&Block> {
        if !(self.first()..self.open.next()).contains(&number) {
            return None;
        }
        Some(self.ring.get(self.place(number)).map_or(&self.open, |block| block))
    }

    /// The block with the entry of a number or, if that was dropped, the oldest block. Of the open block, a copy from
    /// that number on.
    fn block(&self, number: u64) -> Arc<Block> {
        let number = number.max(self.first());
        self.ring.get(self.place(number)).cloned().unwrap_or_else(|| Arc::new(self.open.copied_from(number)))
    }

    /// The index of the block in the ring with the entry of a number; after the last one, the open block.
    fn place(&self, number: u64) -> usize {
        self.ring.partition_point(|block| block.next() <= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_sink_entries_are_not_built() {
        let recorder = Recorder::off();
        assert_eq!(recorder.record("a", Stage::QueueAdd, || panic!("not called")), None);
    }

    #[test]
    fn a_commit_can_be_found_by_its_revision_and_entries_read_back() {
        let recorder = Recorder::ring(10);
        let request = recorder.record("apiserver", Stage::ApiRequest, Detail::default).unwrap();
        let commit = recorder
            .record("store", Stage::StoreCommit, || Detail::about("pods/default/web").at(41).caused_by([request]))
            .unwrap();
        assert_eq!(recorder.commit(41), vec![commit]);
        let entries = recorder.entries(commit);
        assert_eq!(entries.len(), 1);
        let line = serde_json::to_string(&entries[0]).unwrap();
        assert!(line.contains(r#""s":"store.commit""#) && line.contains(r#""c":[1]"#), "{line}");
        assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), entries[0]);
    }

    #[tokio::test]
    async fn a_task_that_waits_for_an_entry_continues_when_it_is_written() {
        let recorder = Recorder::ring(10);
        let waiting = recorder.clone();
        let waits = tokio::spawn(async move { waiting.written(EntryId(2)).await });
        for _ in 0..2 {
            tokio::task::yield_now().await;
            assert!(!waits.is_finished());
            recorder.record("a", Stage::QueueAdd, Detail::default);
        }
        waits.await.unwrap();
        assert_eq!(recorder.last(), EntryId(2));
        recorder.written(EntryId(1)).await;
    }

    #[test]
    fn a_ring_drops_the_oldest_entries() {
        let recorder = Recorder::ring(2);
        for _ in 0..5 {
            recorder.record("a", Stage::QueueAdd, Detail::default);
        }
        assert_eq!(recorder.entries(EntryId(0)).iter().map(|entry| entry.id.0).collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn over_many_blocks_each_entry_that_is_kept_is_found_and_no_other() {
        let (recorder, capacity, count) = (Recorder::ring(2_500), 2_500_u64, 9_000_u64);
        for number in 1..=count {
            recorder.record("a", Stage::QueueAdd, || Detail::about(number.to_string()));
            if number % 700 == 0 {
                let first = number.saturating_sub(capacity) + 1;
                let ids: Vec<u64> = recorder.entries(EntryId(0)).iter().map(|entry| entry.id.0).collect();
                assert_eq!(ids, (first..=number).collect::<Vec<_>>());
                assert_eq!(recorder.entries(EntryId(number))[0].subject, number.to_string());
            }
        }
        for number in [0, 1, count - capacity, count - capacity + 1, 7_168, 7_169, count, count + 1] {
            let is_kept = number > count - capacity && number <= count;
            assert_eq!(recorder.subject(EntryId(number)), is_kept.then(|| number.to_string()), "{number}");
        }
        assert!(recorder.held_bytes() < 64 * (capacity + BLOCK) as usize, "{}", recorder.held_bytes());
    }

    #[test]
    fn a_ring_is_bounded_in_bytes_too_and_each_entry_that_is_kept_is_found() {
        let recorder = Recorder::ring(100_000);
        recorder.limit_bytes(16 << 20);
        let large = "x".repeat(300_000);
        for number in 1..=400_u64 {
            let detail = || Detail::about(number.to_string());
            recorder.record("a", Stage::ObjectChange, || match number % 3 {
                0 => detail(),
                _ => detail().with("whole", format!("{number}{large}").as_str()),
            });
            assert!(recorder.held_bytes() <= 20 << 20, "{} at {number}", recorder.held_bytes());
        }
        let first = recorder.first().unwrap().0;
        assert!((300..360).contains(&first), "{first}");
        let subjects: Vec<String> = recorder.entries(EntryId(0)).into_iter().map(|entry| entry.subject).collect();
        assert_eq!(subjects, (first..=400).map(|number| number.to_string()).collect::<Vec<_>>());
        for number in 1..=401 {
            let is_kept = (first..=400).contains(&number);
            assert_eq!(recorder.subject(EntryId(number)), is_kept.then(|| number.to_string()), "{number}");
        }
        recorder.limit_bytes(0);
        recorder.record("a", Stage::QueueAdd, Detail::default);
        assert!(recorder.entries(EntryId(0)).iter().any(|entry| entry.id.0 == 401), "the newest entry stays");
    }

    #[test]
    fn a_batch_is_limited_in_number_and_bytes_and_the_next_one_continues() {
        let recorder = Recorder::ring(10_000);
        for _ in 0..3_000 {
            recorder.record("a", Stage::QueueAdd, Detail::default);
        }
        let large = "x".repeat(700_000);
        for _ in 0..3 {
            recorder.record("a", Stage::ObjectChange, || Detail::default().with("whole", large.as_str()));
        }
        let (mut next, mut sizes) = (EntryId(0), Vec::new());
        while let Some((last, lines)) = recorder.lines(next, "") {
            let lines = String::from_utf8(lines).unwrap();
            let entries: Vec<Entry> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(entries, recorder.entries(next)[..entries.len()], "no entry is left out");
            assert_eq!(entries.last().unwrap().id, last);
            next = EntryId(last.0 + 1);
            sizes.push(entries.len());
        }
        assert_eq!(sizes, [1024, 1024, 954, 1], "the second large one fills a megabyte");
        assert_eq!(next, EntryId(recorder.last().0 + 1));
    }
}
