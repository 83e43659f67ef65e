use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::disk::backup::{BackupWriter, Report};
use crate::disk::chain::Floor;
use crate::disk::file_system::io_error;
use crate::disk::frame;
use crate::durable::{Base, Content, LeaseChange, Record};
use crate::version::Version;
use crate::{Error, EventKind, KeyRange, KeyValue, LeaseId, RangeRequest, Revision, Store};

/// The number of keys per read.
const PAGE: i64 = 1000;
/// How often reading is restarted when compaction passes its revision.
const ATTEMPTS: u32 = 3;
/// The time to live of a lease that ended while its keys were read.
const UNKNOWN_TTL_SECONDS: i64 = 60;

/// The content of a store at one revision: every key with its revisions, version and lease. Without history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveData {
    /// The revision.
    pub revision: Revision,
    /// The keys, in the order of their last put.
    pub kvs: Vec<KeyValue>,
    /// The leases, with their granted time in seconds.
    pub leases: BTreeMap<LeaseId, i64>,
}

impl LiveData {
    /// Reads a running store: this crate's engine, or any server with etcd's protocol.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn read(store: &dyn Store) -> Result<Self, Error> {
        let mut attempt = 1;
        loop {
            match Self::read_once(store).await {
                Err(Error::Compacted { .. }) if attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    async fn read_once(store: &dyn Store) -> Result<Self, Error> {
        let mut live = Self::default();
        let mut range = KeyRange { start: Bytes::from_static(&[0]), end: Bytes::from_static(&[0]) };
        loop {
            let request =
                RangeRequest { range: range.clone(), revision: live.revision, limit: PAGE, ..RangeRequest::default() };
            let page = store.range(request).await?;
            if live.revision == 0 {
                live.revision = page.revision;
            }
            if let Some(last) = page.kvs.last() {
                range.start = [&last.key[..], &[0]].concat().into();
            }
            live.kvs.extend(page.kvs);
            if !page.more {
                break;
            }
        }
        live.kvs.sort_by_key(|kv| kv.mod_revision);
        for id in store.leases().await? {
            match store.lease_status(id).await {
                Ok(lease) => drop(live.leases.insert(id, lease.granted_ttl_seconds)),
                Err(Error::LeaseNotFound) => {}
                Err(error) => return Err(error),
            }
        }
        for kv in live.kvs.iter().filter(|kv| kv.lease != 0) {
            live.leases.entry(kv.lease).or_insert(UNKNOWN_TTL_SECONDS);
        }
        Ok(live)
    }

    /// Writes a backup. [`restore`](crate::disk::restore) creates a folder from it that is compacted at the revision,
    /// and the store's clients can continue from there. The file must not exist yet.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the error of the file system.
    pub fn write(&self, file: &Path) -> Result<Report, Error> {
        let (floor, frames) = self.frames();
        let failed = |error| io_error(file, &error);
        let mut writer =
            BackupWriter::begin(BufWriter::new(File::create_new(file).map_err(failed)?), &floor).map_err(failed)?;
        frames.iter().try_for_each(|frame| writer.frame(frame)).map_err(failed)?;
        let size_bytes = writer.finish().map_err(failed)?;
        let (records, revision) = (frames.len() as u64, self.revision);
        Ok(Report { records, revision, compacted: self.revision, size_bytes })
    }

    fn frames(&self) -> (Floor, Vec<Vec<u8>>) {
        let mut contents: Vec<Content> = self
            .leases
            .iter()
            .map(|(id, ttl)| Content::Lease(LeaseChange::Granted { id: *id, ttl_seconds: *ttl }))
            .collect();
        for revision in self.kvs.chunk_by(|one, next| one.mod_revision == next.mod_revision) {
            for (sub, kv) in (0_u32..).zip(revision) {
                let last = sub as usize + 1 == revision.len();
                let version = Version { kv: kv.clone(), kind: EventKind::Put, sub, sequence: 0 };
                contents.push(Content::Version { version: Arc::new(version), last });
            }
        }
        let mut floor = Floor::NONE;
        let mut frames = Vec::with_capacity(contents.len());
        for (sequence, content) in (1..).zip(contents) {
            let (bytes, crc) = frame::encode(&Record { sequence, content }, floor.crc, sequence - 1);
            floor.add(sequence);
            floor.crc = crc;
            frames.push(bytes);
        }
        floor.base = Base { compacted: self.revision, sequence: frames.len() as u64 };
        (floor, frames)
    }
}
