//! The state of a store at a revision: the start of [`Engine::fork`](crate::Engine::fork).

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use imbl::{OrdMap, OrdSet, Vector};

use crate::log::{Log, Slice};
use crate::snapshot::{Lease, Snapshot};
use crate::{LeaseId, Revision};

/// `snapshot` and its log, rewound to `revision`. Only keys changed since then are visited; the rest is shared.
pub(crate) fn rewind(snapshot: &Snapshot, changes: &Slice, revision: Revision) -> (Snapshot, Log) {
    let mut rewound = snapshot.clone();
    let mut log = Log::default();
    let mut later: BTreeSet<&Bytes> = BTreeSet::new();
    for change in changes.changes() {
        if change.revision() <= revision {
            log.push(change.clone());
            continue;
        }
        later.insert(&change.version.kv.key);
        rewound.size -= change.version.size();
    }
    for key in later {
        let Some(history) = snapshot.keys.get(&key[..]) else { continue };
        let before = history.rewound(revision);
        let live = before.as_ref().and_then(|history| history.live()).map_or(0, |version| version.size());
        rewound.live_size += live - history.live().map_or(0, |version| version.size());
        match (before.as_ref().is_some_and(|history| history.live().is_some()), history.live().is_some()) {
            (true, false) => rewound.counts.add(key, 1),
            (false, true) => rewound.counts.add(key, -1),
            _ => {}
        }
        match before {
            Some(history) => rewound.keys.insert(key.clone(), Arc::new(history)),
            None => rewound.keys.remove(&key[..]),
        };
    }
    rewound.revision = revision;
    rewound.ended_leases = Vector::new();
    rewound.leases = leases(&rewound);
    (rewound, log)
}

/// `snapshot` without its history. Its revision is so late that no watch can continue from `revision`, or from one
/// before.
pub(crate) fn continued_after(snapshot: &Snapshot, revision: Revision) -> (Snapshot, Log) {
    let mut continued = snapshot.clone();
    // A watch that has seen a revision asks for the next one, and that one must be compacted, too.
    let revision = revision.max(snapshot.revision) + 2;
    (continued.revision, continued.compacted) = (revision, revision);
    continued.ended_leases = Vector::new();
    for (key, history) in &snapshot.keys {
        let mut freed = 0;
        let kept = history.compacted(revision, |version| freed += version.size());
        if freed == 0 {
            continue;
        }
        continued.size -= freed;
        match kept {
            Some(history) => continued.keys.insert(key.clone(), Arc::new(history)),
            None => continued.keys.remove(&key[..]),
        };
    }
    (continued, Log::after(revision))
}

/// The leases of a rewound store: those that still exist, and those that keys use again. Leases have no history, so
/// the time to live of a lease that has ended is unknown; it becomes a minute.
fn leases(rewound: &Snapshot) -> OrdMap<LeaseId, Lease> {
    const UNKNOWN_TTL_SECONDS: i64 = 60;
    let mut leases: OrdMap<LeaseId, Lease> =
        rewound.leases.iter().map(|(id, lease)| (*id, Lease { keys: OrdSet::new(), ..lease.clone() })).collect();
    for version in rewound.keys.values().filter_map(|history| history.live()).filter(|version| version.kv.lease != 0) {
        let lease = leases.entry(version.kv.lease).or_insert_with(|| Lease {
            ttl_seconds: UNKNOWN_TTL_SECONDS,
            sequence: 0,
            keys: OrdSet::new(),
        });
        lease.keys.insert(version.kv.key.clone());
    }
    leases
}
