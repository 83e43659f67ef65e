use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{Detail, Entry, EntryId, Stage};

/// How many commits and requests can still be found as causes.
const REMEMBERED: usize = 1 << 16;

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

/// Why an events file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system said no.
    #[error("events file {path}")]
    Io {
        /// The file.
        path: String,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
    /// A line is not an entry.
    #[error("events file {path}, line {line}: {why}")]
    Malformed {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

#[derive(Debug)]
struct Log {
    origin: Instant,
    next: u64,
    ring: VecDeque<Entry>,
    capacity: usize,
    file: Option<BufWriter<File>>,
    /// The commit of each revision, to be named as a cause by those who see the revision.
    commits: BTreeMap<i64, Vec<EntryId>>,
    /// The entry that sent each audited write, and each event of a watch, to be named as a cause by who receives it.
    audits: BTreeMap<String, EntryId>,
    audit_order: VecDeque<String>,
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

    /// Keeps the last `capacity` entries in memory, and writes all of them to a file as JSON lines.
    pub fn file(path: &Path, capacity: usize) -> Result<Self, Error> {
        let file = File::create(path).map_err(|source| Error::Io { path: path.display().to_string(), source })?;
        Ok(Self::attach(capacity, Some(BufWriter::new(file))))
    }

    fn attach(capacity: usize, file: Option<BufWriter<File>>) -> Self {
        let log = Log {
            origin: Instant::now(),
            next: 1,
            ring: VecDeque::new(),
            capacity,
            file,
            commits: BTreeMap::new(),
            audits: BTreeMap::new(),
            audit_order: VecDeque::new(),
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
        let mut log = log.lock();
        Some(log.append(actor, stage, detail))
    }

    /// The entries of the commit that made `revision`, if they are still remembered.
    pub fn commit(&self, revision: i64) -> Vec<EntryId> {
        self.with_log(|log| log.commits.get(&revision).cloned().unwrap_or_default()).unwrap_or_default()
    }

    /// Remembers that `entry` sent the request with this audit id.
    pub fn remember_audit(&self, audit_id: &str, entry: EntryId) {
        self.with_log(|log| {
            if log.audits.insert(audit_id.to_owned(), entry).is_none() {
                log.audit_order.push_back(audit_id.to_owned());
                if log.audit_order.len() > REMEMBERED
                    && let Some(oldest) = log.audit_order.pop_front()
                {
                    log.audits.remove(&oldest);
                }
            }
        });
    }

    /// The entry that sent the request with this audit id, if it is known here.
    pub fn audit(&self, audit_id: &str) -> Option<EntryId> {
        self.with_log(|log| log.audits.get(audit_id).copied()).flatten()
    }

    /// Remembers that `entry` sent an event of `revision` on the watch with this audit id; at revision 0, that it ended it.
    pub fn remember_sent(&self, audit_id: &str, revision: i64, entry: EntryId) {
        self.remember_audit(&sent(audit_id, revision), entry);
    }

    /// The entry that sent an event of `revision` on the watch with this audit id, if it is known here; at revision 0,
    /// the one that ended it.
    pub fn sent(&self, audit_id: &str, revision: i64) -> Option<EntryId> {
        self.audit(&sent(audit_id, revision))
    }

    /// The entries kept in memory, from the first with a number of at least `from`.
    pub fn entries(&self, from: EntryId) -> Vec<Entry> {
        self.with_log(|log| {
            let start = log.ring.partition_point(|entry| entry.id < from);
            log.ring.iter().skip(start).cloned().collect()
        })
        .unwrap_or_default()
    }

    /// Writes out what the file still holds back.
    pub fn flush(&self) -> std::io::Result<()> {
        self.with_log(|log| log.file.as_mut().map_or(Ok(()), Write::flush)).unwrap_or(Ok(()))
    }

    /// Reads an events file.
    pub fn read(path: &Path) -> Result<Vec<Entry>, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| Error::Io { path: name.clone(), source })?;
        let mut entries = Vec::new();
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|source| Error::Io { path: name.clone(), source })?;
            if line.trim().is_empty() {
                continue;
            }
            let entry = serde_json::from_str(&line).map_err(|error| Error::Malformed {
                path: name.clone(),
                line: index + 1,
                why: error.to_string(),
            })?;
            entries.push(entry);
        }
        Ok(entries)
    }

    fn with_log<R>(&self, use_log: impl FnOnce(&mut Log) -> R) -> Option<R> {
        let log = self.log.as_ref()?;
        Some(use_log(&mut log.lock()))
    }
}

fn sent(audit_id: &str, revision: i64) -> String {
    format!("{audit_id}@{revision}")
}

impl Log {
    fn append(&mut self, actor: &str, stage: Stage, detail: Detail) -> EntryId {
        let id = EntryId(self.next);
        self.next += 1;
        let Detail { subject, mut causes, revision, data } = detail;
        causes.sort_unstable();
        causes.dedup();
        let entry =
            Entry { id, at: self.origin.elapsed(), actor: actor.to_owned(), stage, subject, causes, revision, data };
        if let (Stage::StoreCommit, Some(revision)) = (stage, revision) {
            self.commits.entry(revision).or_default().push(id);
            if self.commits.len() > REMEMBERED {
                self.commits.pop_first();
            }
        }
        if let Some(file) = &mut self.file {
            // A log that cannot be written must not change what happens; the error shows at the final flush.
            let line = serde_json::to_string(&entry).unwrap_or_default();
            let _ = writeln!(file, "{line}");
        }
        self.ring.push_back(entry);
        if self.ring.len() > self.capacity {
            self.ring.pop_front();
        }
        id
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

    #[test]
    fn a_ring_forgets_the_oldest() {
        let recorder = Recorder::ring(2);
        for _ in 0..5 {
            recorder.record("a", Stage::QueueAdd, Detail::default);
        }
        assert_eq!(recorder.entries(EntryId(0)).iter().map(|entry| entry.id.0).collect::<Vec<_>>(), [4, 5]);
    }
}
