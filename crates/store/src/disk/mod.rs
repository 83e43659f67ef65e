//! Keeps a store's records in a folder.
//!
//! ```text
//! Record --frame--> bytes with a checksum and the previous record's --> segment --fdatasync--> head --> acknowledged
//! open:  segments --frame--> Chain (is anything acknowledged missing?) --> Record --> the engine's maps
//! compaction: floor file (which records are gone) --> cleaning: which segments --> copies without them
//! ```
//! Start at [`Disk`]; [`check`], [`backup`], [`restore`] and [`defragment`] work on a folder that is not in use.
//! [`check_backup`] reads only a backup; [`LiveData`] makes a backup of a running store.

mod backup;
mod chain;
mod cleaning;
mod conversion;
mod entry;
mod file_system;
mod floor_file;
mod folder;
mod frame;
mod frame_writer;
mod head;
mod live_data;
mod segment;
mod segment_folder;
mod segment_log;
mod sled_log;

use std::path::Path;

pub use backup::{Report, backup, check, check_backup, defragment, restore};
pub use folder::private_folder;
pub use live_data::LiveData;

use crate::disk::chain::Link;
use crate::disk::entry::Group;
use crate::disk::file_system::io_error;
use crate::disk::folder::Folder;
use crate::disk::frame_writer::write_log;
use crate::disk::head::{Head, HeadFile};
use crate::disk::segment_log::{SEGMENT_BYTES, SegmentLog};
use crate::durable::{Base, Content, Durable, Record, Trim};
use crate::{Error, Revision};

/// Whether acknowledged writes are synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncing {
    /// An acknowledged write survives a loss of power.
    Always,
    /// An acknowledged write usually survives the process: for tests. In etcd: `--unsafe-no-fsync`.
    Never,
}

/// The folder of one store.
pub struct Disk {
    folder: Folder,
    syncing: Syncing,
    head: HeadFile,
    /// `None` after a failure, until the log is reopened.
    log: Option<SegmentLog>,
    /// The entries that are written at once; its memory is used again.
    group: Group,
    /// Whether a sync of the log has failed: its last file must be replaced by a copy before anything is acknowledged.
    distrusted: bool,
    segment_bytes: u64,
    /// The last compaction that the engine knows to be complete.
    base: Base,
    /// The last record in the log.
    last: Link,
    revision: Revision,
    /// The last record that is known to be on disk.
    acknowledged: u64,
}

impl Disk {
    /// Locks the folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if another process uses it; [`Error::Corrupt`] if it is something else, has another
    /// format, or is damaged.
    pub fn open(path: &Path, syncing: Syncing) -> Result<Self, Error> {
        Self::in_folder(Folder::open_or_create(path)?, syncing)
    }

    /// Begins a file of the log when the one before it has this many bytes; otherwise 8 MiB.
    #[must_use]
    pub fn with_segment_bytes(mut self, segment_bytes: u64) -> Self {
        self.segment_bytes = segment_bytes;
        self.log.iter_mut().for_each(|log| log.set_segment_bytes(segment_bytes));
        self
    }

    fn in_folder(folder: Folder, syncing: Syncing) -> Result<Self, Error> {
        let path = folder.head();
        let head = HeadFile::open(&path).map_err(|error| io_error(&path, &error))?.ok_or_else(|| {
            Error::Corrupt(format!(
                "{}: both copies of the head are damaged, so nothing says how far the log has to reach; restore a backup \
                 into another folder",
                path.display()
            ))
        })?;
        conversion::convert(&folder, head.head())?;
        let mut disk = Self {
            folder,
            syncing,
            head,
            log: None,
            group: Group::default(),
            distrusted: false,
            segment_bytes: SEGMENT_BYTES,
            base: Base::NONE,
            last: Link::default(),
            revision: 1,
            acknowledged: 0,
        };
        disk.open_log().or_else(|error| disk.open_copy(error))?;
        Ok(disk)
    }

    /// Opens or reopens the log; opens a copy of it if a sync has failed.
    fn open_log(&mut self) -> Result<(), Error> {
        self.distrusted |= self.log.take().is_some_and(SegmentLog::close);
        if self.distrusted {
            SegmentLog::copy_last(&self.folder.log())?;
            self.distrusted = false;
        }
        let mut log = SegmentLog::open(&self.folder.log(), self.segment_bytes)?;
        // The kernel may have data of a killed process that is not on disk yet.
        let synced = log.sync();
        self.log = Some(log);
        synced
    }

    /// Opens a copy of the log if `error` came from a failed sync: the next start would not know of it.
    fn open_copy(&mut self, error: Error) -> Result<(), Error> {
        self.distrusted |= self.log.take().is_some_and(SegmentLog::close);
        if self.distrusted { self.open_log() } else { Err(error) }
    }

    /// Rewrites the log into a second folder without the space of compacted records.
    fn rewrite(&mut self) -> Result<(), Error> {
        let log = self.log.as_ref().ok_or_else(not_open)?;
        let next = self.folder.make_next_log()?;
        write_log(&next, &log.floor(), self.head.head(), |take| {
            log.each_frame(&mut |number, frame| take(number, &frame))
        })
        .map(drop)
    }

    /// Record `sequence`, which must exist unless compaction removed it, and the newest revision up to it.
    fn find(&mut self, sequence: u64) -> Result<(Link, Revision), Error> {
        let log = self.log()?;
        let floor = log.floor();
        let mut revision = floor.base.compacted.max(1);
        // If compaction has removed the record itself, the floor contains its checksum.
        let mut last = Link { sequence, crc: floor.crc };
        log.each_frame(&mut |number, bytes| {
            if let (true, Ok(frame)) = (number <= sequence, frame::decode(bytes)) {
                last.crc = if number > floor.base.sequence { frame.crc } else { last.crc };
                if let Content::Version { version, .. } = frame.record.content {
                    revision = revision.max(version.kv.mod_revision);
                }
            }
        })?;
        Ok((last, revision))
    }

    fn log(&mut self) -> Result<&mut SegmentLog, Error> {
        self.log.as_mut().ok_or_else(not_open)
    }
}

fn not_open() -> Error {
    Error::Unavailable("the log is not open after a failure".to_owned())
}

impl Durable for Disk {
    fn load(&mut self, visit: &mut dyn FnMut(Record)) -> Result<Base, Error> {
        let head = self.head.head();
        let mut revision = 1;
        let log = self.log()?;
        let last = log.read(head, &mut |record| {
            if let Content::Version { version, .. } = &record.content {
                revision = version.kv.mod_revision;
            }
            visit(record);
        })?;
        let base = log.floor().base;
        if let Err(error) = log.cut_after(last.sequence) {
            self.open_copy(error)?;
            let log = self.log()?;
            log.read(head, &mut |_| {})?;
            log.cut_after(last.sequence)?;
        }
        self.base = base;
        self.last = last;
        self.revision = revision.max(base.compacted);
        self.acknowledged = last.sequence;
        Ok(base)
    }

    fn append(&mut self, records: &[Record]) -> Result<(), Error> {
        let mut last = self.last;
        self.group.clear();
        for record in records {
            let crc = self.group.add(record, last.crc, self.acknowledged);
            last = Link { sequence: record.sequence, crc };
        }
        self.log.as_mut().ok_or_else(not_open)?.append(&mut self.group)?;
        self.last = last;
        for record in records {
            if let Content::Version { version, .. } = &record.content {
                self.revision = version.kv.mod_revision;
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        if self.syncing == Syncing::Always {
            self.log()?.sync()?;
        }
        self.acknowledged = self.last.sequence;
        let path = self.folder.head();
        let advanced = self.head.advance(self.last.sequence, self.revision, self.last.crc);
        advanced.map_err(|error| io_error(&path, &error))
    }

    fn trim(&mut self, trim: &Trim) -> Result<(), Error> {
        let known = self.base;
        let log = self.log()?;
        if log.floor().base == known {
            log.trim(trim.base, &trim.gone)?;
        } else {
            // A compaction that failed for the engine may have happened on disk, and has removed some of these
            // already.
            let gone = log.present(&trim.gone);
            let base = if trim.base.sequence > log.floor().base.sequence { trim.base } else { log.floor().base };
            log.trim(base, &gone)?;
        }
        let base = log.floor().base;
        self.base = base;
        Ok(())
    }

    fn recover(&mut self, sequence: u64) -> Result<(), Error> {
        let path = self.folder.head();
        // What was written is not certain: only the files say it.
        self.open_log()?;
        let (last, revision) = self.find(sequence)?;
        // The head first: it must never name a record that does not exist.
        let lowered = self.head.advance(sequence, revision, last.crc).and_then(|()| self.head.sync());
        lowered.map_err(|error| io_error(&path, &error))?;
        let log = self.log()?;
        log.cut_after(sequence)?;
        log.read(Head::at(sequence, last.crc), &mut |_| {})?;
        log.sync()?;
        // The last group may be what did not fit: without this the next write would fail again.
        self.log.as_ref().ok_or_else(not_open)?.check_space(self.group.len())?;
        self.last = last;
        self.revision = revision;
        self.acknowledged = sequence;
        Ok(())
    }

    fn defragment(&mut self) -> Result<(), Error> {
        self.log()?.sync()?;
        let rewritten = self.rewrite();
        self.distrusted |= self.log.take().is_some_and(SegmentLog::close);
        let swapped = rewritten.and_then(|()| self.folder.swap_log());
        self.distrusted &= swapped.is_err();
        self.open_log()?;
        let head = self.head.head();
        self.log()?.read(head, &mut |_| {})?;
        swapped
    }

    fn size_bytes(&self) -> i64 {
        self.log.as_ref().map_or(0, SegmentLog::size_bytes)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // An outdated head is still valid, and no caller is left to receive the error.
        let _ = self.head.sync();
    }
}
