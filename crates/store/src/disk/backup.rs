//! Operations on a folder that no engine has open.
//!
//! A backup is one file: a line with the format, the floor, the frames of the log, each preceded by its length, a
//! length of zero, and a checksum of all of it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use bytes::Bytes;

use crate::disk::chain::{Chain, Floor, LogVerdict};
use crate::disk::file_system::io_error;
use crate::disk::floor_file::{decode_floor, encode_floor};
use crate::disk::folder::Folder;
use crate::disk::frame;
use crate::disk::frame_writer::write_log;
use crate::disk::head::{Head, HeadFile};
use crate::disk::{Disk, Syncing};
use crate::durable::{Content, Durable, Record};
use crate::{Error, Revision};

const FORMAT_LINE: &[u8] = b"coracle backup, format 1\n";
/// The maximum length of a frame: requests are limited to less.
const MAX_FRAME: u32 = 1 << 30;

/// The content of a folder or a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of records.
    pub records: u64,
    /// The newest revision.
    pub revision: Revision,
    /// The revision up to which history is compacted; -1 for none.
    pub compacted: Revision,
    /// The size of the folder in bytes.
    pub size_bytes: i64,
}

impl Report {
    fn count(&mut self, record: &Record) {
        self.records += 1;
        if let Content::Version { version, .. } = &record.content {
            // Up to the floor records may be missing, including the newest one.
            self.revision = self.revision.max(version.kv.mod_revision);
        }
    }

    fn new(floor: &Floor) -> Self {
        Self { revision: floor.base.compacted.max(1), compacted: floor.base.compacted, ..Self::default() }
    }
}

/// Reads a folder completely, and checks that nothing acknowledged is missing or damaged.
///
/// # Errors
/// [`Error::Corrupt`] names the damaged part.
pub fn check(path: &Path) -> Result<Report, Error> {
    let mut disk = Disk::in_folder(Folder::open(path)?, Syncing::Always)?;
    let mut report = Report::default();
    let base = disk.load(&mut |record| report.count(&record))?;
    let revision = report.revision.max(base.compacted).max(1);
    Ok(Report { compacted: base.compacted, size_bytes: disk.size_bytes(), revision, ..report })
}

/// Writes the content of a folder to a file, which must not exist yet.
pub fn backup(path: &Path, file: &Path) -> Result<Report, Error> {
    let mut disk = Disk::in_folder(Folder::open(path)?, Syncing::Always)?;
    let base = disk.load(&mut |_| {})?;
    let last = disk.last.sequence;
    let log = disk.log()?;
    let mut report = Report { compacted: base.compacted, ..Report::new(&log.floor()) };
    let target = File::create_new(file).map_err(|error| io_error(file, &error))?;
    let mut writer =
        BackupWriter::begin(BufWriter::new(target), &log.floor()).map_err(|error| io_error(file, &error))?;
    let mut outcome = Ok(());
    log.each_frame(&mut |sequence, bytes| {
        if outcome.is_ok() && sequence <= last {
            outcome = writer.frame(&bytes);
        }
        if let Ok(frame) = frame::decode(bytes) {
            report.count(&frame.record);
        }
    })?;
    let finished = outcome.and_then(|()| writer.finish());
    report.size_bytes = finished.map_err(|error| io_error(file, &error))?;
    Ok(report)
}

/// Reads a backup, named `name` in errors, and checks that it is complete.
///
/// # Errors
/// [`Error::Corrupt`] describes the damage.
pub fn check_backup(backup: impl Read, name: &Path) -> Result<Report, Error> {
    let (_, _, report) = read_backup(backup, name, None)?;
    Ok(report)
}

/// Creates the folder of a store from a backup: the complete backup, or its state at `revision`.
///
/// # Errors
/// [`Error::Corrupt`] if the file is damaged, [`Error::Compacted`] or [`Error::FutureRevision`] if it does not
/// contain that revision. No store exists then: the folder becomes one only when all of it is on disk.
pub fn restore(file: &Path, path: &Path, revision: Option<Revision>) -> Result<Report, Error> {
    let backup = File::open(file).map_err(|error| io_error(file, &error))?;
    let (floor, frames, report) = read_backup(BufReader::new(backup), file, revision)?;
    let folder = Folder::create(path)?;
    let (last, size_bytes) = write_log(&folder.log(), &floor, Head::default(), |take| {
        frames.iter().for_each(|(number, frame)| take(*number, frame));
        Ok(())
    })?;
    let mut head = HeadFile::create(&folder.head()).map_err(|error| io_error(path, &error))?;
    let advanced = head.advance(last.sequence, report.revision, last.crc).and_then(|()| head.sync());
    advanced.map_err(|error| io_error(path, &error))?;
    folder.complete()?;
    Ok(Report { size_bytes, ..report })
}

/// Returns the space that compaction freed to the file system, by rewriting the log.
pub fn defragment(path: &Path) -> Result<Report, Error> {
    let mut disk = Disk::in_folder(Folder::open(path)?, Syncing::Always)?;
    disk.load(&mut |_| {})?;
    disk.defragment()?;
    drop(disk);
    check(path)
}

pub(super) struct BackupWriter<W: Write> {
    writer: W,
    crc: u32,
}

impl BackupWriter<BufWriter<File>> {
    /// Writes the end, and returns the size of the file when all of it is on disk.
    pub(super) fn finish(mut self) -> io::Result<i64> {
        self.write(&0_u32.to_le_bytes())?;
        let crc = self.crc;
        self.writer.write_all(&crc.to_le_bytes())?;
        let file = self.writer.into_inner()?;
        file.sync_all()?;
        Ok(i64::try_from(file.metadata()?.len()).unwrap_or(i64::MAX))
    }
}

impl<W: Write> BackupWriter<W> {
    /// Writes the beginning of a backup.
    pub(super) fn begin(writer: W, floor: &Floor) -> io::Result<Self> {
        let mut writer = Self { writer, crc: 0 };
        writer.write(FORMAT_LINE)?;
        writer.write(&encode_floor(floor))?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.writer.write_all(bytes)
    }

    pub(super) fn frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.write(&length.to_le_bytes())?;
        self.write(bytes)
    }
}

type Frames = Vec<(u64, Bytes)>;

fn read_backup(backup: impl Read, name: &Path, revision: Option<Revision>) -> Result<(Floor, Frames, Report), Error> {
    let damaged = |why: &str| Error::Corrupt(format!("{}: {why}; use another backup", name.display()));
    let mut reader = BackupReader { reader: backup, crc: 0 };
    let cut_off = |_| damaged("the backup is cut off");
    if reader.read(FORMAT_LINE.len()).map_err(cut_off)? != FORMAT_LINE {
        return Err(damaged("this is not a backup of a store, or of a format that this version does not know"));
    }
    let floor = reader.read(encode_floor(&Floor::NONE).len()).map_err(cut_off)?;
    let floor = decode_floor(&floor).ok_or_else(|| damaged("its beginning is damaged"))?;
    let mut frames = Frames::new();
    loop {
        let length = reader.read(4).map_err(cut_off)?;
        let length = u32::from_le_bytes(length.try_into().expect("four bytes were read"));
        if length == 0 {
            break;
        }
        if length > MAX_FRAME {
            return Err(damaged("a length in it is damaged"));
        }
        let bytes = Bytes::from(reader.read(length as usize).map_err(cut_off)?);
        let frame = frame::decode(bytes.clone()).map_err(damaged)?;
        frames.push((frame.record.sequence, bytes));
    }
    let expected = reader.crc;
    if reader.read(4).map_err(cut_off)? != expected.to_le_bytes() {
        return Err(damaged("its checksum is wrong"));
    }
    judge(floor, frames, revision, damaged)
}

/// Checks that the frames are complete, and removes those after `revision`.
fn judge(
    floor: Floor,
    mut frames: Frames,
    revision: Option<Revision>,
    damaged: impl Fn(&str) -> Error,
) -> Result<(Floor, Frames, Report), Error> {
    let mut chain = Chain::new(floor, Head::default());
    let mut whole = Report::new(&floor);
    let mut kept = whole;
    let mut end = floor.base.sequence;
    let mut later = false;
    for (sequence, bytes) in &frames {
        chain.take(*sequence, frame::decode(bytes.clone()), &mut |record| {
            whole.count(&record);
            later |= revision.is_some_and(|revision| whole.revision > revision);
            if !later {
                kept.count(&record);
                end = end.max(record.sequence);
            }
        });
    }
    if let LogVerdict::Damaged(sequence, why) = chain.finish() {
        return Err(damaged(&format!("record {sequence} is damaged: {why}")));
    }
    match revision {
        Some(revision) if revision > whole.revision => Err(Error::FutureRevision { current: whole.revision }),
        Some(revision) if revision < floor.base.compacted => Err(Error::Compacted { compacted: floor.base.compacted }),
        _ => {
            frames.retain(|(sequence, _)| *sequence <= end);
            Ok((floor, frames, kept))
        }
    }
}

struct BackupReader<R> {
    reader: R,
    crc: u32,
}

impl<R: Read> BackupReader<R> {
    /// Reads exactly this many bytes, without allocating more memory than the file has bytes.
    fn read(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.reader).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.crc = crc32c::crc32c_append(self.crc, &bytes);
        Ok(bytes)
    }
}
