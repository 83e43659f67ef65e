use std::sync::Arc;

use crate::Cause;
use crate::durable::{Content, LeaseChange, Record};
use crate::version::Version;
use crate::{Event, KeyValue, Revision};

/// One change of one key, as in the log.
#[derive(Clone, Debug)]
pub(crate) struct KeyChange {
    pub(crate) version: Arc<Version>,
    /// The previous version: stored with the change, so that compaction cannot take it from a watcher.
    pub(crate) prev: Option<Arc<Version>>,
}

impl KeyChange {
    /// The change as an event of a watch.
    pub(crate) fn event(&self, with_prev: bool) -> Event {
        let prev_kv = self.prev.as_ref().filter(|_| with_prev).map(|version| version.kv.clone());
        Event { kind: self.version.kind, kv: KeyValue::clone(&self.version.kv), prev_kv }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.version.kv.mod_revision
    }

    /// The approximate number of bytes that the change keeps alive.
    pub(crate) fn size(&self) -> i64 {
        self.version.size() + self.prev.as_ref().map_or(0, |version| version.size())
    }
}

/// The changes of one transaction, or of the end of a lease: all of one revision, or only a lease.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) revision: Revision,
    pub(crate) changes: Vec<KeyChange>,
    /// With the number of its record.
    pub(crate) lease: Option<(u64, LeaseChange)>,
    pub(crate) cause: Option<Cause>,
}

impl Commit {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.lease.is_none()
    }

    /// The records of the commit for the disk.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> {
        let last = self.changes.len().saturating_sub(1);
        let versions = self.changes.iter().enumerate().map(move |(index, change)| Record {
            sequence: change.version.sequence,
            content: Content::Version { version: change.version.clone(), last: index == last },
        });
        versions.chain(self.lease.map(|(sequence, lease)| Record { sequence, content: Content::Lease(lease) }))
    }
}
