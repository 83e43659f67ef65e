//! The records in sled 0.34, used in a way that was found to be safe.
//!
//! - `flush` of this version does not reach the disk (it calls `sync_file_range`), so this module syncs the log
//!   itself.
//! - The kernel never retries a failed sync, although the unwritten data can still be read: then the log may only be
//!   copied, which [`SledLog::close`] reports.
//! - Values are kept small enough that sled never puts one into a separate file, because it never syncs those.
//! - sled treats a partially written snapshot of its page table as complete after a loss of power: it is removed
//!   before.
//! - A damaged file can make sled panic, or omit records silently: panics become errors, and [`Chain`] finds missing
//!   records.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::{Buf, BufMut, Bytes};
use sled::{Batch, Db, IVec, Tree};

use crate::Error;
use crate::disk::chain::{Chain, Floor, Link, LogVerdict};
use crate::disk::file_system::{io_error, sync_folder};
use crate::disk::frame;
use crate::disk::head::Head;
use crate::durable::{Base, Record};

const SEGMENT_BYTES: usize = 8 << 20;
const CACHE_BYTES: u64 = 64 << 20;
/// A larger frame is split into parts.
const PART_BYTES: usize = 32 << 10;
/// How many records one batch removes.
const REMOVE_BATCH: usize = 1024;

const FLOOR_KEY: &[u8] = b"floor";
const GONE_PREFIX: &[u8] = b"gone";

/// The records of a store in a sled folder.
pub(crate) struct SledLog {
    path: PathBuf,
    db: Quiet<Db>,
    records: Quiet<Tree>,
    meta: Quiet<Tree>,
    /// sled's file, opened a second time for syncs.
    file: File,
    /// Whether a sync has failed.
    distrusted: Cell<bool>,
    floor: Floor,
}

/// A sled object that may panic when it is dropped, because its last write or sync may fail.
struct Quiet<T>(Option<T>);

impl<T> Quiet<T> {
    fn new(inner: T) -> Self {
        Self(Some(inner))
    }
}

impl<T> Deref for Quiet<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Quiet<T> {
    fn drop(&mut self) {
        let inner = self.0.take();
        // No acknowledged data depends on it, and `SledLog::close` reports a failed sync.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(inner)));
    }
}

/// A log that cannot be opened.
#[derive(Debug)]
pub(crate) struct OpenError {
    pub(crate) error: Error,
    /// Whether a sync has failed while the log was opened.
    pub(crate) distrusted: bool,
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self { error, distrusted: false }
    }
}

impl From<OpenError> for Error {
    fn from(failure: OpenError) -> Self {
        failure.error
    }
}

/// How often, and with which pause, files that are being closed are retried: for 10 s.
const CLOSING_TRIES: u32 = 500;
const CLOSING_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// Retries while another instance in this process is still closing its files. The folder is locked by now, so no
/// other process can have them open.
fn when_unlocked(open: impl Fn() -> sled::Result<sled::Db>) -> sled::Result<sled::Db> {
    for _ in 0..CLOSING_TRIES {
        match open() {
            Err(sled::Error::Io(error)) if error.to_string().contains("acquire lock") => {
                #[expect(clippy::disallowed_methods, reason = "sled closes its files on a thread of its own")]
                std::thread::sleep(CLOSING_PAUSE);
            }
            other => return other,
        }
    }
    open()
}

impl SledLog {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        remove_unfinished_snapshots(path).map_err(|error| io_error(path, &error))?;
        let open = || {
            let config = sled::Config::new().path(path).segment_size(SEGMENT_BYTES).cache_capacity(CACHE_BYTES);
            let db = when_unlocked(|| config.open())?;
            let (records, meta) = (db.open_tree("records")?, db.open_tree("meta")?);
            Ok((Quiet::new(db), Quiet::new(records), Quiet::new(meta)))
        };
        let before = File::open(path.join("db")).ok();
        let (db, records, meta) = guard(path, open).map_err(|error| {
            let distrusted = before.is_some_and(|file| file.sync_data().is_err());
            OpenError { error, distrusted }
        })?;
        let file = File::open(path.join("db")).map_err(|error| io_error(path, &error))?;
        let synced = File::open(path.join("conf"))
            .and_then(|conf| conf.sync_all())
            .and_then(|()| file.sync_all())
            .and_then(|()| sync_folder(path));
        let distrusted = Cell::new(synced.is_err());
        let mut log = Self { path: path.to_owned(), db, records, meta, file, distrusted, floor: Floor::NONE };
        let finish = |log: &mut Self| {
            synced.map_err(|error| io_error(path, &error))?;
            log.floor = log.read_floor()?;
            log.finish_trim()
        };
        match finish(&mut log) {
            Ok(()) => Ok(log),
            Err(error) => Err(OpenError { error, distrusted: log.close() }),
        }
    }

    /// Closes the log; returns whether a sync of it has failed: then readable data may not be on disk, and may never
    /// get there.
    pub(crate) fn close(self) -> bool {
        let Self { db, records, meta, file, distrusted, .. } = self;
        drop((records, meta, db));
        // sled does not report failures of its own syncs, but the kernel reports each of them to every open file.
        distrusted.get() || file.sync_data().is_err()
    }

    pub(crate) fn floor(&self) -> Floor {
        self.floor
    }

    pub(crate) fn size_bytes(&self) -> i64 {
        self.db.size_on_disk().ok().and_then(|size| i64::try_from(size).ok()).unwrap_or(0)
    }

    /// Reads all records of the log; returns the last one.
    pub(crate) fn read(&self, head: Head, visit: &mut dyn FnMut(Record)) -> Result<Link, Error> {
        let mut chain = Chain::new(self.floor, head);
        self.each_frame(&mut |sequence, bytes| chain.take(sequence, frame::decode(bytes), visit))?;
        match chain.finish() {
            LogVerdict::Ends(link) => Ok(link),
            LogVerdict::Damaged(sequence, why) => Err(Error::Corrupt(format!(
                "{}: record {sequence} is damaged: {why}. The store is not opened, because data that was acknowledged \
                 would be lost silently. Restore a backup into another folder (`coracle store restore`)",
                self.path.display()
            ))),
        }
    }

    /// Removes the records after `last`: they were never acknowledged.
    pub(crate) fn cut_after(&self, last: u64) -> Result<(), Error> {
        let later = || self.records.range((last + 1).to_be_bytes().to_vec()..).keys().collect::<Result<Vec<_>, _>>();
        let later = guard(&self.path, later)?;
        if later.is_empty() {
            return Ok(());
        }
        self.remove(&later)?;
        self.sync()
    }

    /// Appends frames with their numbers, all or nothing.
    pub(crate) fn append(&self, frames: &[(u64, Vec<u8>)]) -> Result<(), Error> {
        let mut batch = Batch::default();
        for (sequence, bytes) in frames {
            for (part, bytes) in bytes.chunks(PART_BYTES).enumerate() {
                batch.insert(&part_key(*sequence, part), bytes);
            }
        }
        guard(&self.path, || self.records.apply_batch(batch))
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        let flushed = guard(&self.path, || self.db.flush());
        let synced = self.file.sync_data().map_err(|error| io_error(&self.path, &error));
        self.distrusted.set(self.distrusted.get() || synced.is_err());
        flushed.and(synced)
    }

    /// Raises the floor, then removes records. If it is interrupted, opening the log completes it.
    pub(crate) fn trim(&mut self, base: Base, gone: &[u64]) -> Result<(), Error> {
        let crc = match self.crc_of(base.sequence)? {
            Some(crc) => crc,
            // There are no records since the last compaction.
            None => self.floor.crc,
        };
        let floor = self.floor.raised(base, crc, gone);
        let mut batch = Batch::default();
        batch.insert(FLOOR_KEY, encode_floor(&floor));
        for (part, numbers) in gone.chunks(PART_BYTES / 8).enumerate() {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
            batch.insert(gone_key(part), bytes);
        }
        guard(&self.path, || self.meta.apply_batch(batch))?;
        self.sync()?;
        self.floor = floor;
        self.finish_trim()
    }

    /// Those of `sequences` that exist.
    pub(crate) fn present(&self, sequences: &[u64]) -> Result<Vec<u64>, Error> {
        let is_there = |sequence: &u64| guard(&self.path, || self.records.contains_key(part_key(*sequence, 0)));
        sequences
            .iter()
            .filter_map(|sequence| is_there(sequence).map(|is| is.then_some(*sequence)).transpose())
            .collect()
    }

    /// Fills an empty log with the records of another one, and sets its floor.
    pub(crate) fn begin_with(&mut self, floor: Floor) -> Result<(), Error> {
        guard(&self.path, || self.meta.insert(FLOOR_KEY, encode_floor(&floor)))?;
        self.floor = floor;
        Ok(())
    }

    /// Visits every frame in the order of the numbers.
    pub(crate) fn each_frame(&self, take: &mut dyn FnMut(u64, Bytes)) -> Result<(), Error> {
        guard(&self.path, || self.scan(take))
    }

    fn scan(&self, take: &mut dyn FnMut(u64, Bytes)) -> sled::Result<()> {
        let mut whole: Option<(u64, Vec<u8>)> = None;
        for entry in self.records.iter() {
            let (key, bytes) = entry?;
            let (sequence, part) = read_part_key(&key);
            match &mut whole {
                Some((number, frame)) if *number == sequence && part > 0 => frame.extend_from_slice(&bytes),
                _ => {
                    if let Some((number, frame)) = whole.replace((sequence, bytes.to_vec())) {
                        take(number, frame.into());
                    }
                }
            }
        }
        if let Some((number, frame)) = whole {
            take(number, frame.into());
        }
        Ok(())
    }

    fn crc_of(&self, sequence: u64) -> Result<Option<u32>, Error> {
        let first = guard(&self.path, || self.records.get(part_key(sequence, 0)))?;
        Ok(first.and_then(|bytes| bytes.get(..4)?.try_into().ok()).map(u32::from_le_bytes))
    }

    fn read_floor(&self) -> Result<Floor, Error> {
        match guard(&self.path, || self.meta.get(FLOOR_KEY))? {
            None => Ok(Floor::NONE),
            Some(bytes) => decode_floor(&bytes).ok_or_else(|| {
                Error::Corrupt(format!(
                    "{}: the record of the compaction is damaged; restore a backup into another folder",
                    self.path.display()
                ))
            }),
        }
    }

    /// Removes the records that the last compaction listed.
    fn finish_trim(&self) -> Result<(), Error> {
        let lists = guard(&self.path, || self.meta.scan_prefix(GONE_PREFIX).collect::<Result<Vec<_>, _>>())?;
        for (key, list) in lists {
            let mut doomed = Vec::new();
            for number in list.chunks_exact(8) {
                let range = number.to_vec()..=[number, &[0xff, 0xff]].concat();
                doomed.extend(guard(&self.path, || self.records.range(range).keys().collect::<Result<Vec<_>, _>>())?);
            }
            self.remove(&doomed)?;
            self.sync()?;
            guard(&self.path, || self.meta.remove(key))?;
        }
        Ok(())
    }

    fn remove(&self, keys: &[IVec]) -> Result<(), Error> {
        for keys in keys.chunks(REMOVE_BATCH) {
            let mut batch = Batch::default();
            keys.iter().for_each(|key| batch.remove(key));
            guard(&self.path, || self.records.apply_batch(batch))?;
        }
        Ok(())
    }
}

/// sled writes `snap.NUMBER.generating`, syncs it and renames it, but reads it under either name.
fn remove_unfinished_snapshots(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().ends_with(b".generating") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Calls sled, and converts its errors and panics.
fn guard<R>(path: &Path, call: impl FnOnce() -> sled::Result<R>) -> Result<R, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(sled::Error::Io(error))) => Err(io_error(path, &error)),
        Ok(Err(error)) => Err(damaged(path, &error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(damaged(path, text.unwrap_or("it panicked")))
        }
    }
}

fn damaged(path: &Path, why: &str) -> Error {
    Error::Corrupt(format!(
        "{}: sled cannot read its files: {why}. Restore a backup into another folder (`coracle store restore`)",
        path.display()
    ))
}

fn part_key(sequence: u64, part: usize) -> [u8; 10] {
    let mut key = [0; 10];
    key[..8].copy_from_slice(&sequence.to_be_bytes());
    key[8..].copy_from_slice(&u16::try_from(part).expect("a request is smaller than 2 GiB").to_be_bytes());
    key
}

fn read_part_key(mut key: &[u8]) -> (u64, u16) {
    (key.try_get_u64().unwrap_or(0), key.try_get_u16().unwrap_or(0))
}

fn gone_key(part: usize) -> Vec<u8> {
    [GONE_PREFIX, &(part as u64).to_be_bytes()].concat()
}

pub(crate) fn encode_floor(floor: &Floor) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put_i64_le(floor.base.compacted);
    bytes.put_u64_le(floor.base.sequence);
    bytes.put_u32_le(floor.crc);
    bytes.put_u64_le(floor.count);
    bytes.put_u64_le(floor.sum);
    bytes.put_u32_le(crc32c::crc32c(&bytes));
    bytes
}

pub(crate) fn decode_floor(bytes: &[u8]) -> Option<Floor> {
    let (mut body, crc) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    if body.len() != 36 || crc32c::crc32c(body) != u32::from_le_bytes(crc.try_into().ok()?) {
        return None;
    }
    let base = Base { compacted: body.get_i64_le(), sequence: body.get_u64_le() };
    Some(Floor { base, crc: body.get_u32_le(), count: body.get_u64_le(), sum: body.get_u64_le() })
}
