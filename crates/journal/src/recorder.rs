use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::kept::Kept;
use crate::names::Names;
use crate::pending::Pending;
use crate::sent::Sent;
use crate::sink::Sink;
use crate::waiting::Waiting;
use crate::{Detail, Entry, EntryId, Error, Header, Stage};

/// How many commits can still be found as causes.
const REMEMBERED: usize = 1 << 16;
/// How many entries are copied before somebody else may record.
const COPIED_AT_ONCE: u64 = 1 << 6;
/// How many entries a batch has at most.
const BATCH: usize = 1 << 10;
/// About how many bytes it has at most.
const BATCH_BYTES: usize = 1 << 20;
/// How many entries are kept at once: one by one, each finds the caches cold.
const PENDING: usize = 1 << 7;

/// A handle to write to the log; clones write to the same one.
///
/// With nothing attached ([`Recorder::off`]) recording costs one branch, and the closure that makes the detail is not run.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Recorder, Stage};
///
/// let recorder = Recorder::ring(1000);
/// let start = recorder.record("program", Stage::SyncStart, || Detail::about("default/web"));
/// recorder.record("program", Stage::SyncEnd, || Detail::about("default/web").caused_by(start).with("result", "done"));
/// let entries = recorder.entries(EntryId(0));
/// assert_eq!(entries[1].causes, [entries[0].id]);
/// assert!(Recorder::off().record("program", Stage::SyncStart, || unreachable!("nobody listens")).is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    log: Option<Arc<Mutex<Log>>>,
}

#[derive(Debug)]
struct Log {
    origin: Instant,
    next: u64,
    ring: VecDeque<Kept>,
    /// What follows the ring. Whoever looks at the ring has it [`settle`](Self::settle)d first.
    pending: Vec<Pending>,
    /// The data of the entry that is being kept, here for its memory.
    scratch: Vec<u8>,
    names: Names,
    capacity: usize,
    file: Option<Sink>,
    /// The commit of each revision, to be named as a cause by those who see the revision.
    commits: BTreeMap<i64, Vec<EntryId>>,
    /// To be named as a cause by who receives it.
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

    /// Keeps the last `capacity` entries in memory, and writes all of them to a file as JSON lines, the first of which is
    /// `header`; compressed if the file's name ends with `.gz`. The file is whole when it is [`close`](Self::close)d.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn file(path: &Path, capacity: usize, header: &Header) -> Result<Self, Error> {
        Ok(Self::attach(capacity, Some(Sink::create(path, header)?)))
    }

    fn attach(capacity: usize, file: Option<Sink>) -> Self {
        let log = Log {
            origin: Instant::now(),
            next: 1,
            ring: VecDeque::new(),
            pending: Vec::new(),
            scratch: Vec::new(),
            names: Names::default(),
            capacity,
            file,
            commits: BTreeMap::new(),
            sent: Sent::default(),
            waiting: Waiting::default(),
        };
        Self { log: Some(Arc::new(Mutex::new(log))) }
    }

    /// Whether anything is attached.
    pub fn is_on(&self) -> bool {
        self.log.is_some()
    }

    /// Writes an entry; `detail` is only called if something is attached. Returns the entry's number, to be named as a cause.
    pub fn record(&self, actor: &str, stage: Stage, detail: impl FnOnce() -> Detail) -> Option<EntryId> {
        let log = self.log.as_ref()?;
        let detail = detail();
        let (id, due) = {
            let mut log = log.lock();
            let id = log.append(actor, stage, detail);
            (id, log.waiting.due(id))
        };
        due.into_iter().for_each(Waker::wake);
        Some(id)
    }

    /// Waits until the entry of this number is written; for ever, if it never is. Waiting records nothing, sets no timer and wakes
    /// nobody, so that up to that entry all goes as if nobody waited. Who waits goes on when the runtime comes round to it: entries
    /// of the same moment may come before that, and the clock does not move.
    pub async fn written(&self, id: EntryId) {
        std::future::poll_fn(|context| {
            let is_written = self.with_log(|log| {
                let is_written = log.next > id.0;
                if !is_written {
                    log.waiting.add(id, context.waker());
                }
                is_written
            });
            if is_written == Some(true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// The number of the newest entry; 0 if there is none.
    pub fn last(&self) -> EntryId {
        EntryId(self.with_log(|log| log.next - 1).unwrap_or_default())
    }

    /// The entries of the commit that made `revision`, if they are still remembered.
    pub fn commit(&self, revision: i64) -> Vec<EntryId> {
        self.with_log(|log| log.commits.get(&revision).cloned().unwrap_or_default()).unwrap_or_default()
    }

    /// What an entry is about, if it is kept in memory.
    pub fn subject(&self, id: EntryId) -> Option<String> {
        self.with_log(|log| {
            let place = usize::try_from(id.0.checked_sub(log.first())?).ok()?;
            match place.checked_sub(log.ring.len()) {
                None => Some(log.ring[place].subject(&log.names).to_owned()),
                Some(place) => Some(log.pending.get(place)?.detail.subject.clone()),
            }
        })
        .flatten()
    }

    /// Remembers that `entry` sent the request with this audit id.
    pub fn remember_audit(&self, audit_id: &str, entry: EntryId) {
        self.with_log(|log| log.sent.remember(&mut log.names, audit_id, None, entry));
    }

    /// The entry that sent the request with this audit id, if it is known here.
    pub fn audit(&self, audit_id: &str) -> Option<EntryId> {
        self.with_log(|log| log.sent.find(&log.names, audit_id, None)).flatten()
    }

    /// Remembers that `entry` sent an event of `revision` on the watch with this audit id; at revision 0, that it ended it.
    pub fn remember_sent(&self, audit_id: &str, revision: i64, entry: EntryId) {
        self.with_log(|log| log.sent.remember(&mut log.names, audit_id, Some(revision), entry));
    }

    /// The entry that sent an event of `revision` on the watch with this audit id, if it is known here; at revision 0,
    /// the one that ended it.
    pub fn sent(&self, audit_id: &str, revision: i64) -> Option<EntryId> {
        self.with_log(|log| log.sent.find(&log.names, audit_id, Some(revision))).flatten()
    }

    /// The entries kept in memory, from the first with a number of at least `from`. Who follows the log asks from where it
    /// stopped; nobody who records waits for long, however much there is to copy.
    pub fn entries(&self, from: EntryId) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.each(from, |id, kept, names| {
            entries.push(kept.entry(id, names));
            true
        });
        entries
    }

    /// Those of the [`entries`](Self::entries) that are at one of these stages; the others cost nothing.
    pub fn entries_of(&self, from: EntryId, stages: &[Stage]) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.each(from, |id, kept, names| {
            if stages.contains(&kept.stage()) {
                entries.push(kept.entry(id, names));
            }
            true
        });
        entries
    }

    /// Some of the [`entries`](Self::entries) from a number on, as an events file has them, a line each: about a thousand, and fewer where
    /// they are large. Who hands a log on takes as much as it can get rid of, and no more than this lies in memory twice.
    /// The number is that of the last of them; `None` if there is none yet.
    pub fn lines(&self, from: EntryId) -> Option<(EntryId, String)> {
        let (mut lines, mut count, mut last) = (Vec::new(), 0, None);
        self.each(from, |id, kept, names| {
            if count > 0 {
                lines.push(b'\n');
            }
            kept.write(id, names, &mut lines);
            (count, last) = (count + 1, Some(id));
            count < BATCH && lines.len() < BATCH_BYTES
        });
        Some((last?, String::from_utf8(lines).expect("JSON is UTF-8")))
    }

    /// Looks at entries from a number on, some at a time so that others can record, until `look` has seen enough.
    fn each(&self, from: EntryId, mut look: impl FnMut(EntryId, &Kept, &Names) -> bool) {
        let mut next = Some(from.0);
        while let Some(from) = next {
            next = self.with_log(|log| log.look(from, &mut look)).flatten();
        }
    }

    /// How many entries are kept in memory at most.
    pub fn capacity(&self) -> usize {
        self.with_log(|log| log.capacity).unwrap_or_default()
    }

    /// How many bytes the entries take that are kept in memory, about.
    pub fn held_bytes(&self) -> usize {
        let held = |log: &mut Log| {
            log.settle();
            log.names.held_bytes() + log.ring.iter().map(Kept::held_bytes).sum::<usize>()
        };
        self.with_log(held).unwrap_or_default()
    }

    /// Writes the file to its end; what is recorded later is not in it. Without a file, nothing.
    ///
    /// # Errors
    /// The first thing that went wrong with the file.
    pub fn close(&self) -> std::io::Result<()> {
        let file = self.with_log(|log| {
            log.settle();
            log.file.take()
        });
        file.flatten().map_or(Ok(()), Sink::end)
    }

    fn with_log<R>(&self, use_log: impl FnOnce(&mut Log) -> R) -> Option<R> {
        let log = self.log.as_ref()?;
        Some(use_log(&mut log.lock()))
    }
}

impl Log {
    fn append(&mut self, actor: &str, stage: Stage, detail: Detail) -> EntryId {
        let id = EntryId(self.next);
        self.next += 1;
        if let (Stage::StoreCommit, Some(revision)) = (stage, detail.revision) {
            self.commits.entry(revision).or_default().push(id);
            if self.commits.len() > REMEMBERED {
                self.commits.pop_first();
            }
        }
        self.pending.push(Pending { at: self.origin.elapsed(), actor: actor.into(), stage, detail });
        if self.pending.len() >= PENDING {
            self.settle();
        }
        id
    }

    /// Keeps what is pending.
    fn settle(&mut self) {
        let first = self.next - self.pending.len() as u64;
        for (number, pending) in (first..).zip(self.pending.drain(..)) {
            let entry = Kept::of(pending, &mut self.names, &mut self.scratch);
            if let Some(file) = &mut self.file {
                file.write(EntryId(number), &entry, &self.names);
            }
            self.ring.push_back(entry);
            if self.ring.len() > self.capacity
                && let Some(oldest) = self.ring.pop_front()
            {
                oldest.forget(&mut self.names);
            }
        }
    }

    /// The number of the oldest entry that is kept in memory.
    fn first(&self) -> u64 {
        self.next - (self.ring.len() + self.pending.len()) as u64
    }

    /// Looks at some entries from a number on; says where to go on, if there are more and they are wanted.
    fn look(&mut self, from: u64, look: &mut impl FnMut(EntryId, &Kept, &Names) -> bool) -> Option<u64> {
        self.settle();
        let first = self.first();
        let from = from.max(first);
        let to = self.next.min(from.saturating_add(COPIED_AT_ONCE));
        for number in from..to {
            if !look(EntryId(number), &self.ring[(number - first) as usize], &self.names) {
                return None;
            }
        }
        (to < self.next).then_some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_when_nothing_is_attached() {
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
    async fn who_waits_for_an_entry_goes_on_when_it_is_written_and_not_before() {
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
    fn a_ring_forgets_the_oldest() {
        let recorder = Recorder::ring(2);
        for _ in 0..5 {
            recorder.record("a", Stage::QueueAdd, Detail::default);
        }
        assert_eq!(recorder.entries(EntryId(0)).iter().map(|entry| entry.id.0).collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn a_batch_is_bounded_in_number_and_in_bytes_and_the_next_goes_on_where_it_ended() {
        let recorder = Recorder::ring(10_000);
        for _ in 0..3_000 {
            recorder.record("a", Stage::QueueAdd, Detail::default);
        }
        let large = "x".repeat(700_000);
        for _ in 0..3 {
            recorder.record("a", Stage::ObjectChange, || Detail::default().with("whole", large.as_str()));
        }
        let (mut next, mut sizes) = (EntryId(0), Vec::new());
        while let Some((last, lines)) = recorder.lines(next) {
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
