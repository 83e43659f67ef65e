//! etcd's checksum of the history, for comparing two stores. In Kubernetes: etcd's `mvcc/hash.go`.

use std::sync::Arc;

use crate::snapshot::Snapshot;
use crate::version::Version;
use crate::{Error, HistoryHash, KeyValue, Revision};

/// Hashes the records up to `revision` (0 for the newest) in etcd's format: a revision as key, a `KeyValue` message
/// as value.
pub(crate) fn history_hash(snapshot: &Snapshot, revision: Revision) -> Result<HistoryHash, Error> {
    if revision > 0 && revision < snapshot.compacted {
        return Err(Error::Compacted { compacted: snapshot.compacted });
    }
    if revision > snapshot.revision {
        return Err(Error::FutureRevision { current: snapshot.revision });
    }
    let hash_revision = if revision > 0 { revision } else { snapshot.revision };
    let empty = !snapshot.keys.values().any(|history| history.at(hash_revision).is_some());
    let mut versions: Vec<&Arc<Version>> = snapshot
        .keys
        .values()
        .flat_map(|history| {
            // Whether a superseded version still exists depends on when each store compacted. So up to
            // `hash_revision` only the versions that a reader at that revision sees are hashed. (If there are none,
            // etcd hashes all of them.)
            let seen = history.at(hash_revision);
            history.iter().filter(move |version| {
                let revision = version.kv.mod_revision;
                let compacted = revision <= snapshot.compacted && !empty;
                revision <= hash_revision && (!compacted || seen.is_some_and(|seen| Arc::ptr_eq(seen, version)))
            })
        })
        .collect();
    versions.sort_unstable_by_key(|version| (version.kv.mod_revision, version.sub));
    let mut hash = crc32c::crc32c(b"key");
    let mut message = Vec::new();
    for version in versions {
        hash = crc32c::crc32c_append(hash, &record_key(version));
        message.clear();
        encode(&version.kv, &mut message);
        hash = crc32c::crc32c_append(hash, &message);
    }
    Ok(HistoryHash { hash, hash_revision, compacted: snapshot.compacted, revision: snapshot.revision })
}

fn record_key(version: &Version) -> Vec<u8> {
    let mut key = version.kv.mod_revision.to_be_bytes().to_vec();
    key.push(b'_');
    key.extend(i64::from(version.sub).to_be_bytes());
    if version.is_deletion() {
        key.push(b't');
    }
    key
}

/// Encodes the protobuf message `mvccpb.KeyValue`; a deletion has only its key.
fn encode(kv: &KeyValue, message: &mut Vec<u8>) {
    let mod_revision = if kv.version == 0 { 0 } else { kv.mod_revision };
    bytes_field(1, &kv.key, message);
    number_field(2, kv.create_revision, message);
    number_field(3, mod_revision, message);
    number_field(4, kv.version, message);
    bytes_field(5, &kv.value, message);
    number_field(6, kv.lease, message);
}

fn bytes_field(tag: u8, bytes: &[u8], message: &mut Vec<u8>) {
    if !bytes.is_empty() {
        message.push(tag << 3 | 2);
        varint(bytes.len() as u64, message);
        message.extend_from_slice(bytes);
    }
}

fn number_field(tag: u8, number: i64, message: &mut Vec<u8>) {
    if number != 0 {
        message.push(tag << 3);
        varint(number.cast_unsigned(), message);
    }
}

fn varint(mut number: u64, message: &mut Vec<u8>) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}
