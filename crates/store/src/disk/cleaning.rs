//! Which segments are written again after a compaction.

use std::ops::Range;

/// How full a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    /// The bytes of the file.
    pub(crate) bytes: u64,
    /// The bytes of the records that compaction has not removed.
    pub(crate) live: u64,
}

impl Fill {
    fn is_due(self) -> bool {
        self.live * 2 <= self.bytes
    }
}

/// The runs of neighbours that become one segment each, or none if nothing in them is alive: those of which at least half
/// is compacted, and small ones that follow one that is no larger.
///
/// Rewriting costs at most as much as what it frees, and a small segment at least doubles each time, so a byte is
/// rewritten a few times at most. What remains is at most twice what is alive, in few files. No run is longer than
/// `segment_bytes`, unless one segment is.
pub(crate) fn plan(segments: &[Fill], segment_bytes: u64) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut end = segments.len();
    while end > 0 {
        let mut start = end - 1;
        let mut live = segments[start].live;
        while let Some(before) = start.checked_sub(1).map(|index| segments[index])
            && (before.is_due() || before.live <= live)
            && live + before.live <= segment_bytes
        {
            start -= 1;
            live += before.live;
        }
        // Empty segments alone are no reason to rewrite the one after them.
        let is_alone = segments[start..end - 1].iter().all(|segment| segment.live == 0);
        let run = if is_alone && !segments[end - 1].is_due() { start..end - 1 } else { start..end };
        runs.extend((!run.is_empty()).then_some(run));
        end = start;
    }
    runs.reverse();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT_BYTES: u64 = 1 << 20;

    fn any_fill() -> impl Strategy<Value = Fill> {
        let bytes = prop_oneof![1..=SEGMENT_BYTES / 1000, 1..=2 * SEGMENT_BYTES];
        (bytes, 0.0..=1.0).prop_map(|(bytes, share)| Fill { bytes, live: (bytes as f64 * share) as u64 })
    }

    fn cleaned(segments: &[Fill]) -> Vec<Fill> {
        let mut cleaned = Vec::new();
        let mut done = 0;
        for run in plan(segments, SEGMENT_BYTES) {
            cleaned.extend_from_slice(&segments[done..run.start]);
            let live = segments[run.clone()].iter().map(|segment| segment.live).sum();
            cleaned.extend((live > 0).then_some(Fill { bytes: live, live }));
            done = run.end;
        }
        cleaned.extend_from_slice(&segments[done..]);
        cleaned
    }

    proptest! {
        #[test]
        fn what_remains_is_mostly_alive_and_in_few_files(segments in proptest::collection::vec(any_fill(), 0..60)) {
            let cleaned = cleaned(&segments);
            let live = |segments: &[Fill]| segments.iter().map(|segment| segment.live).sum::<u64>();
            prop_assert_eq!(live(&segments), live(&cleaned));
            prop_assert!(cleaned.iter().all(|segment| !segment.is_due()));
            let most = 2 * live(&cleaned) / SEGMENT_BYTES + 2 * u64::from(SEGMENT_BYTES.ilog2()) + 2;
            prop_assert!(cleaned.len() as u64 <= most, "{} files", cleaned.len());
        }

        #[test]
        fn a_byte_is_rewritten_a_few_times_at_most(lives in proptest::collection::vec(0..=SEGMENT_BYTES / 20, 1..300)) {
            let mut segments = Vec::new();
            let mut rewritten = 0;
            for live in &lives {
                segments.push(Fill { bytes: SEGMENT_BYTES, live: *live });
                for run in plan(&segments, SEGMENT_BYTES) {
                    rewritten += segments[run].iter().map(|fill| fill.live).sum::<u64>();
                }
                segments = cleaned(&segments);
            }
            let most = lives.iter().sum::<u64>() * u64::from(lives.len().ilog2() + 2);
            prop_assert!(rewritten <= most);
        }
    }

    #[test]
    fn full_segments_stay_as_they_are() {
        let full = Fill { bytes: SEGMENT_BYTES, live: SEGMENT_BYTES / 10 * 9 };
        assert!(plan(&[full; 5], SEGMENT_BYTES).is_empty());
        let half = Fill { live: SEGMENT_BYTES / 2, ..full };
        let empty = Fill { live: 0, ..full };
        assert_eq!(plan(&[full, half, empty, half, full], SEGMENT_BYTES), vec![1..4]);
        assert_eq!(plan(&[full, empty, full], SEGMENT_BYTES), vec![1..2]);
    }
}
