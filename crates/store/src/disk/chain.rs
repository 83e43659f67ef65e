use std::path::Path;

use crate::Error;
use crate::disk::frame::Frame;
use crate::disk::head::Head;
use crate::durable::{Base, Content, Record};

/// How far the log is compacted, and which records must exist nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    pub(crate) base: Base,
    /// The checksum of record `base.sequence`, which itself may have been removed.
    pub(crate) crc: u32,
    /// The number of records up to it that are left.
    pub(crate) count: u64,
    /// The sum of their numbers, mixed: another record cannot compensate for a lost one.
    pub(crate) sum: u64,
}

impl Floor {
    pub(crate) const NONE: Self = Self { base: Base::NONE, crc: 0, count: 0, sum: 0 };

    /// The floor after a compaction to `base`, whose last record has the checksum `crc`, and which removed `gone`.
    pub(crate) fn raised(self, base: Base, crc: u32, gone: &[u64]) -> Self {
        let mut floor = Self { base, crc, ..self };
        for sequence in self.base.sequence + 1..=base.sequence {
            floor.add(sequence);
        }
        for sequence in gone {
            floor.count = floor.count.wrapping_sub(1);
            floor.sum = floor.sum.wrapping_sub(mix(*sequence));
        }
        floor
    }

    pub(crate) fn add(&mut self, sequence: u64) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(mix(sequence));
    }
}

/// The finalizer of SplitMix64: spreads consecutive numbers over all bits.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Checks the records of a log while they are read in order, and decides how to handle an incomplete log.
///
/// Up to the floor only records that compaction removed may be missing: the others are counted and summed. After the
/// floor every record follows the previous one and contains its checksum. The log ends where this chain ends, unless
/// the head or a later record proves that more had been acknowledged.
#[derive(Debug)]
pub(crate) struct Chain {
    floor: Floor,
    found: Floor,
    /// The last record of the chain.
    last: Link,
    /// The last record that completed a revision.
    complete: Link,
    /// Records of an incomplete revision.
    open: Vec<Record>,
    broken: Option<Break>,
    /// The last record that is proven to have been acknowledged.
    acknowledged: u64,
    /// The checksum of the record that the head names, once it was read.
    head_crc: Option<u32>,
    head: Head,
}

/// The number and the checksum of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) sequence: u64,
    pub(crate) crc: u32,
}

#[derive(Debug)]
struct Break {
    /// The number of the first missing or damaged record.
    sequence: u64,
    why: &'static str,
}

/// How to handle a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogVerdict {
    /// It ends with this record; later ones, if any, were never acknowledged and must be removed.
    Ends(Link),
    /// Something acknowledged is missing or damaged: which record, and the problem.
    Damaged(u64, &'static str),
}

impl LogVerdict {
    /// The last record of the log at `path`.
    pub(crate) fn end(self, path: &Path) -> Result<Link, Error> {
        match self {
            Self::Ends(link) => Ok(link),
            Self::Damaged(sequence, why) => Err(Error::Corrupt(format!(
                "{}: record {sequence} is damaged: {why}. The store is not opened, because data that was acknowledged \
                 would be lost silently. Restore a backup into another folder (`coracle store restore`)",
                path.display()
            ))),
        }
    }
}

impl Chain {
    pub(crate) fn new(floor: Floor, head: Head) -> Self {
        let start = Link { sequence: floor.base.sequence, crc: floor.crc };
        Self {
            floor,
            found: Floor { count: 0, sum: 0, ..floor },
            last: start,
            complete: start,
            open: Vec::new(),
            broken: None,
            acknowledged: head.sequence,
            head_crc: None,
            head,
        }
    }

    /// Takes the next record with its number; passes on the records that are certain.
    pub(crate) fn take(&mut self, sequence: u64, frame: Result<Frame, &'static str>, visit: &mut dyn FnMut(Record)) {
        let frame = match frame {
            Ok(frame) if frame.record.sequence == sequence => frame,
            Ok(_) => return self.break_at(sequence, "it has another number than its place"),
            Err(why) => return self.break_at(sequence, why),
        };
        self.acknowledged = self.acknowledged.max(frame.acknowledged);
        if sequence == self.head.sequence {
            self.head_crc = Some(frame.crc);
        }
        if self.broken.is_some() {
            return;
        }
        if sequence <= self.floor.base.sequence {
            self.found.add(sequence);
            return visit(frame.record);
        }
        if sequence != self.last.sequence + 1 {
            return self.break_at(self.last.sequence + 1, "it is missing");
        }
        if frame.previous_crc != self.last.crc {
            return self.break_at(sequence, "it does not follow the record before it");
        }
        self.last = Link { sequence, crc: frame.crc };
        let ends = !matches!(frame.record.content, Content::Version { last: false, .. });
        self.open.push(frame.record);
        if ends {
            self.open.drain(..).for_each(visit);
            self.complete = self.last;
        }
    }

    /// Decides, after all records were taken.
    pub(crate) fn finish(self) -> LogVerdict {
        let end = self.complete.sequence;
        if let Some(Break { sequence, why }) = self.broken
            && sequence <= self.acknowledged.max(self.floor.base.sequence)
        {
            return LogVerdict::Damaged(sequence, why);
        }
        if self.found.count != self.floor.count || self.found.sum != self.floor.sum {
            return LogVerdict::Damaged(self.floor.base.sequence, "records before it are missing");
        }
        if self.acknowledged > end {
            return LogVerdict::Damaged(end + 1, "it was acknowledged and is missing");
        }
        if self.head_crc.is_some_and(|crc| crc != self.head.crc) {
            return LogVerdict::Damaged(self.head.sequence, "it is not the record that the head names");
        }
        LogVerdict::Ends(self.complete)
    }

    fn break_at(&mut self, sequence: u64, why: &'static str) {
        self.broken.get_or_insert(Break { sequence, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::frame;
    use crate::durable::LeaseChange;
    use bytes::Bytes;
    use proptest::prelude::*;

    /// Records 1 to `count`, written in groups of three.
    fn log(count: u64) -> Vec<(u64, Bytes, u32)> {
        let mut previous = 0;
        (1..=count)
            .map(|sequence| {
                let content = Content::Lease(LeaseChange::Ended { id: 1 });
                let acknowledged = (sequence - 1) / 3 * 3;
                let (bytes, crc) = frame::encode(&Record { sequence, content }, previous, acknowledged);
                previous = crc;
                (sequence, bytes.into(), crc)
            })
            .collect()
    }

    fn judge(records: &[(u64, Bytes, u32)], floor: Floor, head: Head) -> (Vec<u64>, LogVerdict) {
        let mut chain = Chain::new(floor, head);
        let mut visited = Vec::new();
        for (sequence, bytes, _) in records {
            chain.take(*sequence, frame::decode(bytes.clone()), &mut |record| visited.push(record.sequence));
        }
        (visited, chain.finish())
    }

    fn head(records: &[(u64, Bytes, u32)], sequence: u64) -> Head {
        let crc = sequence.checked_sub(1).map_or(0, |index| records[index as usize].2);
        Head::at(sequence, crc)
    }

    #[test]
    fn a_log_without_the_unacknowledged_end_is_whole() {
        let records = log(8);
        let (visited, verdict) = judge(&records[..7], Floor::NONE, head(&records, 6));
        assert_eq!(visited, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(verdict, LogVerdict::Ends(Link { sequence: 7, crc: records[6].2 }));
    }

    #[test]
    fn a_log_that_ends_before_its_head_is_damaged() {
        let records = log(8);
        let (_, verdict) = judge(&records[..5], Floor::NONE, head(&records, 6));
        assert_eq!(verdict, LogVerdict::Damaged(6, "it was acknowledged and is missing"));
    }

    #[test]
    fn a_later_record_proves_that_an_earlier_one_was_acknowledged() {
        let mut records = log(8);
        records.remove(4);
        let (_, verdict) = judge(&records, Floor::NONE, Head::default());
        assert_eq!(verdict, LogVerdict::Damaged(5, "it is missing"));
    }

    #[test]
    fn a_gap_in_the_last_group_is_where_the_log_ends() {
        let mut records = log(9);
        let end = Link { sequence: 7, crc: records[6].2 };
        records.remove(7);
        assert_eq!(judge(&records, Floor::NONE, head(&records, 6)), ((1..=7).collect(), LogVerdict::Ends(end)));
    }

    #[test]
    fn below_the_floor_only_what_compaction_removed_may_be_missing() {
        let mut records = log(8);
        let base = Base { compacted: 5, sequence: 5 };
        let floor = Floor::NONE.raised(base, records[4].2, &[2, 5]);
        let head = head(&records, 8);
        records.retain(|(sequence, ..)| ![2, 5].contains(sequence));
        assert_eq!(judge(&records, floor, head).0, [1, 3, 4, 6, 7, 8]);
        let whole = records.clone();
        for lost in [0, 1, 2] {
            records = whole.clone();
            records.remove(lost);
            assert!(matches!(judge(&records, floor, head).1, LogVerdict::Damaged(..)));
        }
    }

    proptest! {
        #[test]
        fn no_loss_of_an_acknowledged_record_goes_unnoticed(
            count in 1_u64..30,
            headed in any::<proptest::sample::Index>(),
            lost in proptest::collection::vec(any::<proptest::sample::Index>(), 1..4),
        ) {
            let whole = log(count);
            let headed = headed.index(count as usize + 1) as u64;
            let lost: Vec<u64> = lost.into_iter().map(|index| index.index(count as usize) as u64 + 1).collect();
            let mut records = whole.clone();
            records.retain(|(sequence, ..)| !lost.contains(sequence));
            let (visited, verdict) = judge(&records, Floor::NONE, head(&whole, headed));
            if lost.iter().any(|sequence| *sequence <= headed) {
                prop_assert!(matches!(verdict, LogVerdict::Damaged(..)));
            } else if let LogVerdict::Ends(link) = verdict {
                prop_assert_eq!(visited, (1..=link.sequence).collect::<Vec<_>>());
                prop_assert!(link.sequence >= headed);
            }
        }
    }
}
