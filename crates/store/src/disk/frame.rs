//! The binary format of a record.
//!
//! ```text
//! crc32c of the rest: u32 | version: u8 | crc32c of the record before: u32 | number: u64 | acknowledged: u64 | kind: u8 |
//!   put      last: u8, sub: u32, revision: i64, create: i64, version: i64, lease: i64, key length: u32, key, value
//!   delete   last: u8, sub: u32, revision: i64, key
//!   granted  lease: i64, seconds: i64
//!   ended    lease: i64
//! ```
//! All numbers are little-endian. `acknowledged` is the number of the last record that was known to be on disk when
//! this one was written: if this record can be read, all up to that one must exist.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes};

use crate::durable::{Content, LeaseChange, Record};
use crate::version::Version;
use crate::{EventKind, KeyValue};

/// The version of the format.
pub(crate) const FORMAT: u8 = 1;

const CRC_BYTES: usize = 4;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const GRANTED: u8 = 3;
const ENDED: u8 = 4;

/// A record with its links to other records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) record: Record,
    pub(crate) crc: u32,
    pub(crate) previous_crc: u32,
    pub(crate) acknowledged: u64,
}

/// Returns the bytes of a record, and their checksum.
pub(crate) fn encode(record: &Record, previous_crc: u32, acknowledged: u64) -> (Vec<u8>, u32) {
    let mut bytes = Vec::with_capacity(96 + content_length(&record.content));
    let crc = append(&mut bytes, record, previous_crc, acknowledged);
    (bytes, crc)
}

/// Appends the bytes of a record; returns their checksum.
pub(crate) fn append(bytes: &mut Vec<u8>, record: &Record, previous_crc: u32, acknowledged: u64) -> u32 {
    let start = bytes.len();
    bytes.put_u32_le(0);
    bytes.put_u8(FORMAT);
    bytes.put_u32_le(previous_crc);
    bytes.put_u64_le(record.sequence);
    bytes.put_u64_le(acknowledged);
    match &record.content {
        Content::Version { version, last } if version.is_deletion() => {
            bytes.put_u8(DELETE);
            put_place(bytes, version, *last);
            bytes.extend_from_slice(&version.kv.key);
        }
        Content::Version { version, last } => {
            let kv = &version.kv;
            bytes.put_u8(PUT);
            put_place(bytes, version, *last);
            bytes.put_i64_le(kv.create_revision);
            bytes.put_i64_le(kv.version);
            bytes.put_i64_le(kv.lease);
            bytes.put_u32_le(u32::try_from(kv.key.len()).expect("a request is smaller than 4 GiB"));
            bytes.extend_from_slice(&kv.key);
            bytes.extend_from_slice(&kv.value);
        }
        Content::Lease(LeaseChange::Granted { id, ttl_seconds }) => {
            bytes.put_u8(GRANTED);
            bytes.put_i64_le(*id);
            bytes.put_i64_le(*ttl_seconds);
        }
        Content::Lease(LeaseChange::Ended { id }) => {
            bytes.put_u8(ENDED);
            bytes.put_i64_le(*id);
        }
    }
    let crc = crc32c::crc32c(&bytes[start + CRC_BYTES..]);
    bytes[start..start + CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// The checksum that a frame says it has; 0 if it is too short.
pub(crate) fn crc_of(frame: &[u8]) -> u32 {
    frame.first_chunk().map_or(0, |crc| u32::from_le_bytes(*crc))
}

fn content_length(content: &Content) -> usize {
    match content {
        Content::Version { version, .. } => version.kv.key.len() + version.kv.value.len(),
        Content::Lease(_) => 0,
    }
}

fn put_place(bytes: &mut Vec<u8>, version: &Version, last: bool) {
    bytes.put_u8(u8::from(last));
    bytes.put_u32_le(version.sub);
    bytes.put_i64_le(version.kv.mod_revision);
}

/// Parses a frame. Key and value are slices of `bytes`.
///
/// # Errors
/// The problem, in words.
pub(crate) fn decode(mut bytes: Bytes) -> Result<Frame, &'static str> {
    if bytes.len() < CRC_BYTES {
        return Err("the record is cut off");
    }
    let crc = bytes.get_u32_le();
    if crc32c::crc32c(&bytes) != crc {
        return Err("its checksum is wrong");
    }
    let reader = &mut bytes;
    if number(reader, Bytes::try_get_u8)? != FORMAT {
        return Err("it has a format that this version does not know");
    }
    let previous_crc = number(reader, Bytes::try_get_u32_le)?;
    let sequence = number(reader, Bytes::try_get_u64_le)?;
    let acknowledged = number(reader, Bytes::try_get_u64_le)?;
    let content = match number(reader, Bytes::try_get_u8)? {
        PUT => put(reader, sequence)?,
        DELETE => deletion(reader, sequence)?,
        GRANTED => Content::Lease(LeaseChange::Granted {
            id: number(reader, Bytes::try_get_i64_le)?,
            ttl_seconds: number(reader, Bytes::try_get_i64_le)?,
        }),
        ENDED => Content::Lease(LeaseChange::Ended { id: number(reader, Bytes::try_get_i64_le)? }),
        _ => return Err("it is of a kind that this version does not know"),
    };
    Ok(Frame { record: Record { sequence, content }, crc, previous_crc, acknowledged })
}

fn put(reader: &mut Bytes, sequence: u64) -> Result<Content, &'static str> {
    let (last, sub, mod_revision) = place(reader)?;
    let create_revision = number(reader, Bytes::try_get_i64_le)?;
    let version = number(reader, Bytes::try_get_i64_le)?;
    let lease = number(reader, Bytes::try_get_i64_le)?;
    let length = number(reader, Bytes::try_get_u32_le)? as usize;
    if length > reader.len() {
        return Err("its key is longer than the record");
    }
    let key = reader.split_to(length);
    let kv = KeyValue { key, value: reader.split_off(0), create_revision, mod_revision, version, lease };
    let version = Arc::new(Version { kv, kind: EventKind::Put, sub, sequence });
    Ok(Content::Version { version, last })
}

fn deletion(reader: &mut Bytes, sequence: u64) -> Result<Content, &'static str> {
    let (last, sub, mod_revision) = place(reader)?;
    let kv = KeyValue { key: reader.split_off(0), mod_revision, ..KeyValue::default() };
    let version = Arc::new(Version { kv, kind: EventKind::Delete, sub, sequence });
    Ok(Content::Version { version, last })
}

fn place(reader: &mut Bytes) -> Result<(bool, u32, i64), &'static str> {
    let last = number(reader, Bytes::try_get_u8)? != 0;
    Ok((last, number(reader, Bytes::try_get_u32_le)?, number(reader, Bytes::try_get_i64_le)?))
}

fn number<N>(
    reader: &mut Bytes,
    get: impl FnOnce(&mut Bytes) -> Result<N, bytes::TryGetError>,
) -> Result<N, &'static str> {
    get(reader).map_err(|_| "the record is cut off")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_bytes() -> impl Strategy<Value = Bytes> {
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from)
    }

    fn any_content(sequence: u64) -> impl Strategy<Value = Content> {
        let put = (any_bytes(), any_bytes(), any::<[i64; 4]>(), any::<u32>(), any::<bool>()).prop_map(
            move |(key, value, [create_revision, mod_revision, version, lease], sub, last)| {
                let kv = KeyValue { key, value, create_revision, mod_revision, version, lease };
                let version = Arc::new(Version { kv, kind: EventKind::Put, sub, sequence });
                Content::Version { version, last }
            },
        );
        let deletion =
            (any_bytes(), any::<i64>(), any::<u32>(), any::<bool>()).prop_map(move |(key, mod_revision, sub, last)| {
                let kv = KeyValue { key, mod_revision, ..KeyValue::default() };
                let version = Arc::new(Version { kv, kind: EventKind::Delete, sub, sequence });
                Content::Version { version, last }
            });
        let granted =
            any::<(i64, i64)>().prop_map(|(id, ttl_seconds)| Content::Lease(LeaseChange::Granted { id, ttl_seconds }));
        let ended = any::<i64>().prop_map(|id| Content::Lease(LeaseChange::Ended { id }));
        prop_oneof![put, deletion, granted, ended]
    }

    fn any_record() -> impl Strategy<Value = Record> {
        any::<u64>()
            .prop_flat_map(|sequence| any_content(sequence).prop_map(move |content| Record { sequence, content }))
    }

    proptest! {
        #[test]
        fn a_record_reads_back_as_it_was_written(record in any_record(), previous in any::<u32>(), acked in any::<u64>()) {
            let (bytes, crc) = encode(&record, previous, acked);
            let frame = decode(bytes.into()).unwrap();
            prop_assert_eq!(frame, Frame { record, crc, previous_crc: previous, acknowledged: acked });
        }

        #[test]
        fn a_flipped_bit_or_a_missing_byte_is_noticed(record in any_record(), at in any::<proptest::sample::Index>(), bit in 0_u8..8) {
            let (mut bytes, _) = encode(&record, 1, 1);
            let cut = bytes[..at.index(bytes.len())].to_vec();
            prop_assert!(decode(cut.into()).is_err());
            let index = at.index(bytes.len());
            bytes[index] ^= 1_u8 << bit;
            prop_assert!(decode(bytes.into()).is_err());
        }

        #[test]
        fn any_bytes_with_a_right_checksum_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 5..120)) {
            bytes[4] = FORMAT;
            let crc = crc32c::crc32c(&bytes[4..]);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            let _ = decode(bytes.into());
        }
    }
}
