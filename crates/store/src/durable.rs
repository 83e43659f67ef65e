use std::sync::Arc;

use crate::version::Version;
use crate::{Error, LeaseId, Revision};

/// Where records survive the process: the engine's only way to a disk. Synchronous, and used by one thread.
///
/// A record is written once and never changed. [`trim`](Self::trim) removes records that no reader can see any more.
pub trait Durable: Send {
    /// Reads every record in the order of their numbers, once, before anything else.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a record that was acknowledged is missing or damaged.
    fn load(&mut self, visit: &mut dyn FnMut(Record)) -> Result<Base, Error>;

    /// Takes records, which follow the last one without a gap. They need not survive before [`sync`](Self::sync).
    fn append(&mut self, records: &[Record]) -> Result<(), Error>;

    /// Returns when everything appended survives a loss of power.
    fn sync(&mut self) -> Result<(), Error>;

    /// Remembers how far history is compacted, then removes records.
    fn trim(&mut self, trim: &Trim) -> Result<(), Error>;

    /// After an error: comes back with exactly the records up to number `sequence`.
    ///
    /// # Errors
    /// Whatever still keeps it from writing; it is asked again later.
    fn recover(&mut self, sequence: u64) -> Result<(), Error>;

    /// Gives space that was freed back to the file system.
    fn defragment(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// How many bytes it takes on disk.
    fn size_bytes(&self) -> i64;
}

/// One thing to remember.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Numbers the records from 1, without gaps until compaction makes some.
    pub sequence: u64,
    /// What happened.
    pub content: Content,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A key was put or deleted.
    Version {
        /// The version that this made.
        version: Arc<Version>,
        /// Whether it is the last change of its revision: without it, the revision did not happen.
        last: bool,
    },
    /// A lease began or ended.
    Lease(LeaseChange),
}

/// A lease began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseChange {
    /// It began.
    Granted {
        /// The lease.
        id: LeaseId,
        /// For how long, unless it is kept alive.
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
    /// How far history is compacted with it.
    pub base: Base,
    /// The numbers of the records to remove, all at or below `base.sequence`, in order.
    pub gone: Vec<u64>,
}
