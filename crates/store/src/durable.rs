use std::sync::Arc;

use crate::version::Version;
use crate::{Error, LeaseId, Revision};

/// The engine's interface to durable storage. Synchronous, and used by one thread.
///
/// A record is written once and never changed. [`trim`](Self::trim) removes records that no reader can see.
pub trait Durable: Send {
    /// Reads every record in the order of their numbers. Called once, before anything else.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if an acknowledged record is missing or damaged.
    fn load(&mut self, visit: &mut dyn FnMut(Record)) -> Result<Base, Error>;

    /// Appends records, which follow the last one without a gap. They need not be durable before
    /// [`sync`](Self::sync).
    fn append(&mut self, records: &[Record]) -> Result<(), Error>;

    /// Returns when everything appended is durable.
    fn sync(&mut self) -> Result<(), Error>;

    /// Records how far history is compacted, then removes records.
    fn trim(&mut self, trim: &Trim) -> Result<(), Error>;

    /// After an error: reopens the storage with exactly the records up to number `sequence`.
    ///
    /// # Errors
    /// The problem that still prevents writes; the engine retries later.
    fn recover(&mut self, sequence: u64) -> Result<(), Error>;

    /// Returns freed space to the file system.
    fn defragment(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The size on disk in bytes.
    fn size_bytes(&self) -> i64;
}

/// A unit of durable storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number of the record, from 1, without gaps except those of compaction.
    pub sequence: u64,
    /// The content.
    pub content: Content,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A key was put or deleted.
    Version {
        /// The new version.
        version: Arc<Version>,
        /// Whether it is the last change of its revision: without it, the revision is incomplete and ignored.
        last: bool,
    },
    /// A lease was granted or ended.
    Lease(LeaseChange),
}

/// A lease was granted or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseChange {
    /// It was granted.
    Granted {
        /// The lease.
        id: LeaseId,
        /// Its time to live.
        ttl_seconds: i64,
    },
    /// It was revoked or expired.
    Ended {
        /// The lease.
        id: LeaseId,
    },
}

/// How far history is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The compacted revision, or -1.
    pub compacted: Revision,
    /// The number of the last record of that revision: at or below it records may be missing.
    pub sequence: u64,
}

impl Base {
    /// Nothing is compacted.
    pub const NONE: Self = Self { compacted: -1, sequence: 0 };
}

/// What a compaction removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// How far history is compacted.
    pub base: Base,
    /// The numbers of the records to remove, all at or below `base.sequence`, in order.
    pub gone: Vec<u64>,
}
