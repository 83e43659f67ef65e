//! The versions of a key; the crate's header has a worked example. In Kubernetes: etcd's `mvcc/key_index.go`, whose
//! generations are the runs between deletions.

use std::sync::Arc;

use crate::{EventKind, KeyValue, Revision};

/// One version of a key, shared by the map, the log and responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The key with its numbers; a deletion has only the key and `mod_revision`.
    pub kv: KeyValue,
    /// Put or delete.
    pub kind: EventKind,
    /// The index of this change among those of its revision, from 0.
    pub sub: u32,
    /// The number of this version's record on disk.
    pub sequence: u64,
}

impl Version {
    /// Whether this change deleted the key.
    pub fn is_deletion(&self) -> bool {
        self.kind == EventKind::Delete
    }

    /// The approximate size of this version in memory and on disk.
    pub(crate) fn size(&self) -> i64 {
        const FIXED: usize = 128;
        i64::try_from(self.kv.key.len() + self.kv.value.len() + FIXED).unwrap_or(i64::MAX)
    }
}

/// The versions of one key, newest first: a list that shares its tail with older snapshots.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) newest: Arc<Version>,
    pub(crate) older: Option<Arc<History>>,
}

impl History {
    /// The version that a reader at `revision` sees; `None` if the key did not exist then.
    pub(crate) fn at(&self, revision: Revision) -> Option<&Arc<Version>> {
        self.iter().find(|version| version.kv.mod_revision <= revision).filter(|version| !version.is_deletion())
    }

    /// The newest version unless it is a deletion.
    pub(crate) fn live(&self) -> Option<&Arc<Version>> {
        Some(&self.newest).filter(|version| !version.is_deletion())
    }

    /// All versions, newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Version>> {
        std::iter::successors(Some(self), |history| history.older.as_deref()).map(|history| &history.newest)
    }

    /// This history as of `revision`; `None` if it had not started.
    pub(crate) fn rewound(&self, revision: Revision) -> Option<History> {
        std::iter::successors(Some(self), |history| history.older.as_deref())
            .find(|history| history.newest.kv.mod_revision <= revision)
            .cloned()
    }

    /// This history without the versions that a reader at or after `revision` cannot see; those are passed to `gone`.
    pub(crate) fn compacted(&self, revision: Revision, mut gone: impl FnMut(&Arc<Version>)) -> Option<History> {
        let mut kept = Vec::new();
        let mut versions = self.iter();
        for version in versions.by_ref() {
            if version.kv.mod_revision <= revision {
                let seen = !version.is_deletion() || version.kv.mod_revision == revision;
                if seen {
                    kept.push(version.clone())
                } else {
                    gone(version)
                }
                break;
            }
            kept.push(version.clone());
        }
        versions.for_each(gone);
        Self::from_newest_first(kept)
    }

    fn from_newest_first(versions: Vec<Arc<Version>>) -> Option<History> {
        versions.into_iter().rev().fold(None, |older, newest| Some(History { newest, older: older.map(Arc::new) }))
    }
}

impl Drop for History {
    /// Drops the list iteratively: recursion would use a stack frame for every version.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut history) = next.and_then(Arc::into_inner) {
            next = history.older.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(mod_revision: Revision, kind: EventKind) -> Arc<Version> {
        let kv = KeyValue { key: "web".into(), mod_revision, ..KeyValue::default() };
        Arc::new(Version { kv, kind, sub: 0, sequence: 0 })
    }

    fn worked_example() -> History {
        let versions = [(6, EventKind::Put), (4, EventKind::Delete), (3, EventKind::Put), (2, EventKind::Put)];
        History::from_newest_first(versions.into_iter().map(|(at, kind)| version(at, kind)).collect()).unwrap()
    }

    fn revisions(history: Option<History>) -> Vec<Revision> {
        history.iter().flat_map(History::iter).map(|version| version.kv.mod_revision).collect()
    }

    #[test]
    fn a_reader_sees_the_newest_version_of_its_revision_and_nothing_after_a_deletion() {
        let history = worked_example();
        let seen = |revision| history.at(revision).map(|version| version.kv.mod_revision);
        assert_eq!([1, 2, 3, 4, 5, 6, 9].map(seen), [None, Some(2), Some(3), None, None, Some(6), Some(6)]);
    }

    #[test]
    fn compaction_keeps_the_newest_version_at_or_below_its_revision_unless_it_is_a_deletion() {
        let compacted = |revision| revisions(worked_example().compacted(revision, |_| {}));
        assert_eq!(compacted(1), [6, 4, 3, 2]);
        assert_eq!(compacted(2), [6, 4, 3, 2]);
        assert_eq!(compacted(3), [6, 4, 3]);
        assert_eq!(compacted(4), [6, 4]);
        assert_eq!(compacted(5), [6]);
        assert_eq!(compacted(6), [6]);
    }

    #[test]
    fn truncated_data_is_named() {
        let mut gone = Vec::new();
        worked_example().compacted(5, |version| gone.push(version.kv.mod_revision));
        assert_eq!(gone, [4, 3, 2]);
    }

    #[test]
    fn a_rewound_history_is_what_a_fork_begins_with() {
        assert_eq!(revisions(worked_example().rewound(5)), [4, 3, 2]);
        assert_eq!(revisions(worked_example().rewound(1)), Vec::<Revision>::new());
    }

    #[test]
    fn a_history_of_a_million_versions_is_dropped_without_recursion() {
        let one = version(2, EventKind::Put);
        drop(History::from_newest_first(vec![one; 1_000_000]));
    }
}
