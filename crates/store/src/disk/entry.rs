//! The binary format of a record's place in a segment.
//!
//! ```text
//! entries, one after the other: length of the frame: u32 | number of the record: u64 | check: u32 | frame
//! ```
//! All numbers are little-endian. `check` is the crc32c of the segment's name, the entry's place in the file, the
//! length and the number. So a copy of an entry inside a value is not an entry.

use crate::disk::frame;
use crate::durable::Record;

/// The bytes of an entry before its frame.
pub(crate) const HEADER_BYTES: usize = 16;

/// Entries that are written at once.
#[derive(Debug, Default)]
pub(crate) struct Group {
    bytes: Vec<u8>,
    placed: Vec<Placed>,
}

/// A record in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) number: u64,
    /// The length of its frame.
    pub(crate) length: u32,
    /// The checksum of its frame.
    pub(crate) crc: u32,
}

impl Placed {
    /// The length of the entry.
    pub(crate) fn entry_bytes(self) -> u64 {
        HEADER_BYTES as u64 + u64::from(self.length)
    }
}

impl Group {
    /// Adds a record; returns the checksum of its frame.
    pub(crate) fn add(&mut self, record: &Record, previous_crc: u32, acknowledged: u64) -> u32 {
        self.add_with(record.sequence, |bytes| frame::append(bytes, record, previous_crc, acknowledged))
    }

    /// Adds a frame as it is.
    pub(crate) fn add_frame(&mut self, number: u64, frame: &[u8]) {
        self.add_with(number, |bytes| {
            bytes.extend_from_slice(frame);
            frame::crc_of(frame)
        });
    }

    fn add_with(&mut self, number: u64, append: impl FnOnce(&mut Vec<u8>) -> u32) -> u32 {
        let start = self.bytes.len() + HEADER_BYTES;
        self.bytes.resize(start, 0);
        let crc = append(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - start).expect("a request is smaller than 4 GiB");
        self.placed.push(Placed { number, length, crc });
        crc
    }

    /// Completes the headers for a place in a segment; returns the bytes to write there.
    pub(crate) fn seal(&mut self, segment: u64, place: u64) -> &[u8] {
        let mut start = 0;
        for placed in &self.placed {
            let header = header(segment, place + start as u64, placed.length, placed.number);
            self.bytes[start..start + HEADER_BYTES].copy_from_slice(&header);
            start += HEADER_BYTES + placed.length as usize;
        }
        &self.bytes
    }

    pub(crate) fn placed(&self) -> &[Placed] {
        &self.placed
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.placed.clear();
    }
}

fn header(segment: u64, place: u64, length: u32, number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..12].copy_from_slice(&number.to_le_bytes());
    let check = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &segment.to_le_bytes());
    let check = crc32c::crc32c_append(check, &place.to_le_bytes());
    header[12..].copy_from_slice(&check.to_le_bytes());
    header
}

/// An entry that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentEntry<'a> {
    pub(crate) number: u64,
    pub(crate) frame: &'a [u8],
    /// The place after the entry.
    pub(crate) end: u64,
}

impl SegmentEntry<'_> {
    pub(crate) fn placed(&self) -> Placed {
        let length = u32::try_from(self.frame.len()).expect("its length was read from 32 bits");
        Placed { number: self.number, length, crc: frame::crc_of(self.frame) }
    }
}

/// The entries of a segment, in order. A place without an entry ends the segment or is damaged; the entries after it
/// are found nevertheless, because they may prove that the damaged one was acknowledged.
pub(crate) fn entries(segment: u64, bytes: &[u8]) -> impl Iterator<Item = SegmentEntry<'_>> {
    // Zeros at the end were allocated and not written.
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut place = 0;
    std::iter::from_fn(move || {
        while place < written {
            if let Some(entry) = entry_at(segment, bytes, place) {
                place += HEADER_BYTES + entry.frame.len();
                return Some(entry);
            }
            place += 1;
        }
        None
    })
}

fn entry_at(segment: u64, bytes: &[u8], place: usize) -> Option<SegmentEntry<'_>> {
    let (found, rest) = bytes[place..].split_first_chunk::<HEADER_BYTES>()?;
    let (length, number) = found.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    if length == 0 || length as usize > rest.len() {
        return None;
    }
    let number = u64::from_le_bytes(*number.first_chunk()?);
    let frame = &rest[..length as usize];
    let end = (place + HEADER_BYTES + frame.len()) as u64;
    (header(segment, place as u64, length, number) == *found).then_some(SegmentEntry { number, frame, end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Entries of one segment, and its bytes.
    fn any_segment() -> impl Strategy<Value = (u64, Vec<Vec<u8>>, Vec<u8>)> {
        let frames = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 4..60), 1..12);
        (1_u64..1000, frames).prop_map(|(segment, frames)| {
            let mut group = Group::default();
            (segment..).zip(&frames).for_each(|(number, frame)| group.add_frame(number, frame));
            let bytes = group.seal(segment, 0).to_vec();
            (segment, frames, bytes)
        })
    }

    fn read(segment: u64, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        entries(segment, bytes).map(|entry| (entry.number, entry.frame.to_vec())).collect()
    }

    proptest! {
        #[test]
        fn entries_read_back_as_they_were_written((segment, frames, mut bytes) in any_segment(), zeros in 0_usize..50) {
            let expected: Vec<_> = (segment..).zip(frames).collect();
            bytes.resize(bytes.len() + zeros, 0);
            let written = bytes.len() - zeros;
            prop_assert_eq!(read(segment, &bytes), expected);
            let end = entries(segment, &bytes).last().map(|entry| entry.end);
            prop_assert_eq!(end, Some(written as u64));
            prop_assert!(read(segment + 1, &bytes).is_empty());
        }

        #[test]
        fn damage_takes_only_the_entries_that_it_touches(
            (segment, frames, mut bytes) in any_segment(),
            at in any::<prop::sample::Index>(),
            length in 1_usize..40,
            noise in any::<u8>(),
        ) {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= noise);
            let mut place = 0;
            let found = read(segment, &bytes);
            for (number, frame) in (segment..).zip(frames) {
                let after = place + HEADER_BYTES + frame.len();
                if after <= at || end <= place {
                    prop_assert!(found.contains(&(number, frame)));
                }
                place = after;
            }
        }

        #[test]
        fn a_cut_takes_only_the_entries_that_it_touches((segment, frames, bytes) in any_segment(), at in any::<prop::sample::Index>()) {
            let cut = at.index(bytes.len());
            let mut whole = 0;
            let mut place = 0;
            for frame in &frames {
                place += HEADER_BYTES + frame.len();
                whole += usize::from(place <= cut);
            }
            let expected: Vec<_> = (segment..).zip(frames).take(whole).collect();
            prop_assert_eq!(read(segment, &bytes[..cut]), expected);
        }

        #[test]
        fn an_entry_inside_a_frame_is_not_an_entry((segment, _, inner) in any_segment()) {
            let mut group = Group::default();
            group.add_frame(segment, &inner);
            let mut bytes = group.seal(segment, 0).to_vec();
            bytes[0] ^= 1;
            prop_assert!(read(segment, &bytes).is_empty());
        }

        #[test]
        fn any_bytes_are_read(segment in any::<u64>(), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(segment, &bytes).len() <= bytes.len() / HEADER_BYTES);
        }
    }
}
