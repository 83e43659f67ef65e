//! The records of a folder in format 1, in sled 0.34. They are read to be [converted](super::conversion).
//!
//! - A frame over 32 KiB is split into parts.
//! - sled treats a partially written snapshot of its page table as complete after a loss of power: it is removed
//!   before.
//! - A damaged file can make sled panic, or omit records silently: panics become errors, and [`Chain`] finds missing
//!   records.
//!
//! [`Chain`]: super::chain::Chain

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};
use sled::{Db, Tree};

use crate::Error;
use crate::disk::chain::Floor;
use crate::disk::file_system::io_error;
use crate::disk::floor_file::decode_floor;

const SEGMENT_BYTES: usize = 8 << 20;
const CACHE_BYTES: u64 = 64 << 20;
const FLOOR_KEY: &[u8] = b"floor";
const GONE_PREFIX: &[u8] = b"gone";

/// The records of a store in a sled folder.
pub(crate) struct SledLog {
    path: PathBuf,
    records: Quiet<Tree>,
    meta: Quiet<Tree>,
    _db: Quiet<Db>,
}

/// A sled object that may panic when it is dropped, because its last write may fail.
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
        // Nothing was written that is needed.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(inner)));
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
    /// Whether a folder has sled's files.
    pub(crate) fn is_at(path: &Path) -> bool {
        path.join("db").exists()
    }

    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        remove_unfinished_snapshots(path).map_err(|error| io_error(path, &error))?;
        let open = || {
            let config = sled::Config::new().path(path).segment_size(SEGMENT_BYTES).cache_capacity(CACHE_BYTES);
            let db = when_unlocked(|| config.open())?;
            let (records, meta) = (db.open_tree("records")?, db.open_tree("meta")?);
            Ok((Quiet::new(db), Quiet::new(records), Quiet::new(meta)))
        };
        let (db, records, meta) = guard(path, open)?;
        Ok(Self { path: path.to_owned(), records, meta, _db: db })
    }

    pub(crate) fn floor(&self) -> Result<Floor, Error> {
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

    /// Visits every frame in the order of the numbers, except those that an interrupted compaction should have removed.
    pub(crate) fn each_frame(&self, take: &mut dyn FnMut(u64, Bytes)) -> Result<(), Error> {
        let gone = self.gone()?;
        let mut take = |number, frame| {
            if !gone.contains(&number) {
                take(number, frame);
            }
        };
        guard(&self.path, || self.scan(&mut take))
    }

    /// The records that an interrupted compaction has listed.
    fn gone(&self) -> Result<BTreeSet<u64>, Error> {
        let lists = guard(&self.path, || self.meta.scan_prefix(GONE_PREFIX).values().collect::<Result<Vec<_>, _>>())?;
        Ok(lists.iter().flat_map(|list| list.as_chunks().0).map(|number| u64::from_be_bytes(*number)).collect())
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

fn read_part_key(mut key: &[u8]) -> (u64, u16) {
    (key.try_get_u64().unwrap_or(0), key.try_get_u16().unwrap_or(0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::disk::floor_file::encode_floor;
    use sled::Batch;

    const PART_BYTES: usize = 32 << 10;

    /// Writes a log as format 1 had it, with the list of an interrupted compaction.
    pub(crate) fn write(path: &Path, floor: &Floor, frames: &[(u64, Vec<u8>)], gone: &[u64]) {
        let db = sled::Config::new().path(path).segment_size(SEGMENT_BYTES).open().unwrap();
        let (records, meta) = (db.open_tree("records").unwrap(), db.open_tree("meta").unwrap());
        let mut batch = Batch::default();
        for (number, frame) in frames {
            for (part, bytes) in (0_u16..).zip(frame.chunks(PART_BYTES)) {
                batch.insert([&number.to_be_bytes()[..], &part.to_be_bytes()].concat(), bytes);
            }
        }
        records.apply_batch(batch).unwrap();
        let list: Vec<u8> = gone.iter().flat_map(|number| number.to_be_bytes()).collect();
        meta.insert(FLOOR_KEY, encode_floor(floor)).unwrap();
        meta.insert([GONE_PREFIX, &0_u64.to_be_bytes()].concat(), list).unwrap();
        db.flush().unwrap();
    }
}
