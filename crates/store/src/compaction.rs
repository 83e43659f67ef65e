//! Removes versions that no reader can see. In Kubernetes: etcd's `mvcc/kvstore_compaction.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::Revision;
use crate::durable::{Base, Trim};
use crate::log::Slice;
use crate::snapshot::Snapshot;

/// Removes superseded versions up to `revision`; visits only the keys in `changes`, the log since the last
/// compaction. Returns what may be removed from disk.
pub(crate) fn compact(snapshot: &mut Snapshot, revision: Revision, changes: &Slice) -> Trim {
    let mut sequence = 0;
    let mut touched: BTreeSet<&Bytes> = BTreeSet::new();
    for change in changes.changes() {
        sequence = change.version.sequence;
        if change.prev.is_some() || change.version.is_deletion() {
            touched.insert(&change.version.kv.key);
        }
    }
    snapshot.compacted = revision;
    let mut gone = Vec::new();
    for key in touched {
        let Some(history) = snapshot.keys.get(&key[..]) else { continue };
        let before = gone.len();
        let mut freed = 0;
        let kept = history.compacted(revision, |version| {
            gone.push(version.sequence);
            freed += version.size();
        });
        if gone.len() == before {
            continue;
        }
        snapshot.size -= freed;
        match kept {
            Some(history) => snapshot.keys.insert(key.clone(), Arc::new(history)),
            None => snapshot.keys.remove(&key[..]),
        };
    }
    while let Some((grant, end)) = snapshot.ended_leases.front().copied().filter(|(_, end)| *end <= sequence) {
        gone.extend([grant, end]);
        snapshot.ended_leases.pop_front();
    }
    gone.sort_unstable();
    Trim { base: Base { compacted: revision, sequence }, gone }
}
