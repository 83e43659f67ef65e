//! `log/floor`: how far the log is compacted, and which compacted records the segments still hold.
//!
//! ```text
//! floor: 36 bytes and their crc32c | numbers of records: u64 each | crc32c of all before: u32
//! ```

use std::fs;
use std::io;
use std::path::Path;

use bytes::{Buf, BufMut};

use crate::Error;
use crate::disk::chain::Floor;
use crate::disk::file_system::{io_error, replace_file};
use crate::durable::Base;

const NAME: &str = "floor";
const FLOOR_BYTES: usize = 40;
const CRC_BYTES: usize = 4;

/// Reads the file of a log: the floor, and the numbers of the compacted records in order.
pub(crate) fn read(log: &Path) -> Result<(Floor, Vec<u64>), Error> {
    let path = log.join(NAME);
    let bytes = match fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_error(&path, &error)),
    };
    bytes.and_then(|bytes| decode(&bytes)).ok_or_else(|| {
        Error::Corrupt(format!(
            "{}: the record of the compaction is damaged or missing; restore a backup into another folder",
            path.display()
        ))
    })
}

/// Replaces the file; returns when that is durable.
pub(crate) fn write(log: &Path, floor: &Floor, gone: &[u64]) -> Result<(), Error> {
    replace_file(&log.join(NAME), &encode(floor, gone))
}

fn encode(floor: &Floor, gone: &[u64]) -> Vec<u8> {
    let mut bytes = encode_floor(floor);
    gone.iter().for_each(|number| bytes.put_u64_le(*number));
    bytes.put_u32_le(crc32c::crc32c(&bytes));
    bytes
}

fn decode(bytes: &[u8]) -> Option<(Floor, Vec<u64>)> {
    let (body, crc) = bytes.split_at_checked(bytes.len().checked_sub(CRC_BYTES)?)?;
    let (floor, numbers) = body.split_at_checked(FLOOR_BYTES)?;
    let (numbers, rest) = numbers.as_chunks::<8>();
    if crc32c::crc32c(body) != u32::from_le_bytes(crc.try_into().ok()?) || !rest.is_empty() {
        return None;
    }
    let gone: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
    gone.is_sorted().then_some((decode_floor(floor)?, gone))
}

pub(crate) fn encode_floor(floor: &Floor) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put_i64_le(floor.base.compacted);
    bytes.put_u64_le(floor.base.sequence);
    bytes.put_u32_le(floor.crc);
    bytes.put_u64_le(floor.count);
    bytes.put_u64_le(floor.sum);
    bytes.put_u32_le(crc32c::crc32c(&bytes));
    bytes
}

pub(crate) fn decode_floor(bytes: &[u8]) -> Option<Floor> {
    let (mut body, crc) = bytes.split_at_checked(bytes.len().checked_sub(CRC_BYTES)?)?;
    if bytes.len() != FLOOR_BYTES || crc32c::crc32c(body) != u32::from_le_bytes(crc.try_into().ok()?) {
        return None;
    }
    let base = Base { compacted: body.get_i64_le(), sequence: body.get_u64_le() };
    Some(Floor { base, crc: body.get_u32_le(), count: body.get_u64_le(), sum: body.get_u64_le() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_content() -> impl Strategy<Value = (Floor, Vec<u64>)> {
        let gone = proptest::collection::btree_set(any::<u64>(), 0..20);
        (any::<(i64, u64, u32, u64, u64)>(), gone).prop_map(|((compacted, sequence, crc, count, sum), gone)| {
            (Floor { base: Base { compacted, sequence }, crc, count, sum }, gone.into_iter().collect())
        })
    }

    proptest! {
        #[test]
        fn a_file_reads_back_as_it_was_written((floor, gone) in any_content()) {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &floor, &gone).unwrap();
            prop_assert_eq!(read(folder.path()).unwrap(), (floor, gone));
        }

        #[test]
        fn a_flipped_bit_or_a_missing_byte_is_noticed(
            (floor, gone) in any_content(),
            at in any::<prop::sample::Index>(),
            bit in 0_u8..8,
        ) {
            let mut bytes = encode(&floor, &gone);
            let at = at.index(bytes.len());
            prop_assert!(decode(&bytes[..at]).is_none());
            bytes[at] ^= 1_u8 << bit;
            prop_assert!(decode(&bytes).is_none());
        }

        #[test]
        fn any_bytes_with_right_checksums_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 36..120)) {
            let (floor, rest) = bytes.split_at(36);
            let mut whole = [floor, &crc32c::crc32c(floor).to_le_bytes(), rest].concat();
            whole.extend(crc32c::crc32c(&whole).to_le_bytes());
            if let Some((floor, gone)) = decode(&whole) {
                prop_assert_eq!(encode(&floor, &gone), whole);
            }
        }
    }

    #[test]
    fn a_missing_file_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path()), Err(Error::Corrupt(_))));
    }
}
