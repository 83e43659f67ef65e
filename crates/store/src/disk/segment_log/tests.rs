use proptest::prelude::*;

use super::*;
use crate::durable::{Content, LeaseChange};

const SMALL: u64 = 300;

/// What happens to a log.
#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    /// Compacts up to a record, and removes some up to it.
    Trim(prop::sample::Index, u64),
    Reopen,
    /// Removes the records after one that is not compacted.
    Cut(prop::sample::Index),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u64..12).prop_map(Step::Append),
        2 => (any::<prop::sample::Index>(), any::<u64>()).prop_map(|(to, seed)| Step::Trim(to, seed)),
        1 => Just(Step::Reopen),
        1 => any::<prop::sample::Index>().prop_map(Step::Cut),
    ]
}

/// A log beside the numbers of the records that it has to hold.
struct Model {
    path: tempfile::TempDir,
    log: SegmentLog,
    live: Vec<u64>,
    base: u64,
    last: Link,
}

impl Model {
    fn new() -> Self {
        let path = tempfile::tempdir().unwrap();
        let mut log = SegmentLog::create(path.path(), &Floor::NONE).unwrap();
        log.set_segment_bytes(SMALL);
        Self { path, log, live: Vec::new(), base: 0, last: Link::default() }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Append(count) => {
                let mut group = Group::default();
                for sequence in self.last.sequence + 1..=self.last.sequence + count {
                    let content = Content::Lease(LeaseChange::Ended { id: sequence as i64 });
                    let crc = group.add(&Record { sequence, content }, self.last.crc, self.last.sequence);
                    self.last = Link { sequence, crc };
                    self.live.push(sequence);
                }
                self.log.append(&mut group).unwrap();
                self.log.sync().unwrap();
            }
            Step::Trim(to, seed) => {
                self.base += to.index((self.last.sequence - self.base) as usize + 1) as u64;
                let (base, seed) = (self.base, *seed);
                let is_gone = |number: &u64| *number <= base && seed.rotate_left(*number as u32 % 64) % 4 > 0;
                let gone: Vec<u64> = self.live.iter().copied().filter(is_gone).collect();
                self.live.retain(|number| !is_gone(number));
                self.log.trim(Base { compacted: base as i64, sequence: base }, &gone).unwrap();
            }
            Step::Reopen => {
                self.log = SegmentLog::open(self.path.path(), SMALL).unwrap();
                self.check();
            }
            Step::Cut(to) => {
                let last = self.base + to.index((self.last.sequence - self.base) as usize + 1) as u64;
                let crc = self.log.find(last).map_or(self.log.floor.crc, |placed| placed.crc);
                self.last = Link { sequence: last, crc };
                self.live.retain(|number| *number <= last);
                self.log.cut_after(last).unwrap();
            }
        }
    }

    fn check(&mut self) {
        let mut found = Vec::new();
        let kept = std::mem::take(&mut self.log.segments);
        self.log.segments = kept.iter().map(|segment| Segment::new(segment.first)).collect();
        let link =
            self.log.read(Head::at(self.last.sequence, self.last.crc), &mut |record| found.push(record.sequence));
        assert_eq!(link.unwrap(), self.last);
        assert_eq!(found, self.live);
        let fills = |segments: &[Segment]| segments.iter().map(Segment::fill).collect::<Vec<_>>();
        if kept.iter().any(|segment| segment.bytes > 0) {
            assert_eq!(fills(&kept), fills(&self.log.segments), "the index is what the files hold");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_log_holds_what_was_appended_and_not_removed(steps in proptest::collection::vec(any_step(), 1..25)) {
        let mut model = Model::new();
        for step in &steps {
            model.take(step);
            model.check();
        }
    }

    #[test]
    fn an_interrupted_cleaning_leaves_a_whole_log(steps in proptest::collection::vec(any_step(), 1..25), missing in any::<u8>()) {
        let mut model = Model::new();
        steps.iter().for_each(|step| model.take(step));
        model.check();
        // The segments before the cleaning, of which some come back when removals are lost.
        let before = tempfile::tempdir().unwrap();
        for first in model.log.folder.segments().unwrap() {
            std::fs::write(before.path().join(format!("{first:020}")), model.log.folder.read(first).unwrap()).unwrap();
        }
        let base = Base { compacted: model.last.sequence as i64, sequence: model.last.sequence };
        let gone: Vec<u64> = model.live.iter().copied().filter(|number| number % 3 > 0).collect();
        model.live.retain(|number| number % 3 == 0);
        model.log.trim(base, &gone).unwrap();
        let after = model.log.folder.segments().unwrap();
        let lost: Vec<u64> = SegmentFolder::new(before.path()).segments().unwrap();
        for (index, first) in lost.iter().filter(|first| !after.contains(first)).enumerate() {
            if missing >> (index % 8) & 1 == 0 {
                let name = format!("{first:020}");
                std::fs::copy(before.path().join(&name), model.path.path().join(&name)).unwrap();
            }
        }
        for _ in 0..2 {
            model.log = SegmentLog::open(model.path.path(), SMALL).unwrap();
            model.check();
        }
    }
}
