//! Sets of completion indexes, written as `0,2-5`.

use std::fmt;

/// Indexes as intervals, in order, none of which touches the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(Vec<(u64, u64)>);

impl Indexes {
    /// Parses the indexes below `completions`; invalid parts are left out.
    pub(super) fn parse(text: &str, completions: u64) -> Self {
        let interval = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            let last = last.min(completions.checked_sub(1)?);
            (first <= last).then_some((first, last))
        };
        Self::joined(text.split(',').filter_map(interval).collect())
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self::joined(self.0.iter().chain(&other.0).copied().collect())
    }

    fn joined(mut intervals: Vec<(u64, u64)>) -> Self {
        intervals.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (first, last) in intervals {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// How many there are.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn contains(&self, index: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= index);
        after > 0 && index <= self.0[after - 1].1
    }

    /// The size of the intersection.
    pub(super) fn in_common(&self, other: &Self) -> u64 {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = 0;
        while let (Some((first, last)), Some((other_first, other_last))) = (ours.peek(), theirs.peek()) {
            common += (last.min(other_last) + 1).saturating_sub(*first.max(other_first));
            if last < other_last {
                ours.next()
            } else {
                theirs.next()
            };
        }
        common
    }

    /// The first `count` indexes below `completions` that are not among these.
    pub(super) fn first_missing(&self, count: usize, completions: u64) -> Vec<u64> {
        let mut missing = Vec::new();
        let mut candidate = 0;
        for (first, last) in self.0.iter().copied().chain([(completions, completions)]) {
            let gap = candidate..first.min(completions);
            missing.extend(gap.take(count - missing.len()));
            candidate = candidate.max(last.saturating_add(1));
        }
        missing
    }
}

impl FromIterator<u64> for Indexes {
    fn from_iter<I: IntoIterator<Item = u64>>(indexes: I) -> Self {
        Self::joined(indexes.into_iter().map(|index| (index, index)).collect())
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (first, last)) in self.0.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn invalid_intervals_are_ignored() {
        assert_eq!(Indexes::parse("5,0,1-2,x,7-,9-8,,3-99", 10).to_string(), "0-9");
        assert_eq!(Indexes::parse("99999999999999999999,4,18446744073709551615", 10).to_string(), "4");
        assert_eq!(Indexes::parse("0-18446744073709551615", u64::MAX).to_string(), "0-18446744073709551614");
        assert_eq!(Indexes::parse("0", 0), Indexes::default());
    }

    proptest! {
        #[test]
        fn intervals_behave_as_sets_of_numbers(
            a in prop::collection::btree_set(0..30_u64, 0..20),
            b in prop::collection::btree_set(0..30_u64, 0..20),
            count in 0..10_usize,
        ) {
            let (left, right): (Indexes, Indexes) = (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(&Indexes::parse(&left.to_string(), 30), &left);
            prop_assert_eq!(left.total(), a.len() as u64);
            prop_assert_eq!(left.union(&right), a.union(&b).copied().collect());
            prop_assert_eq!(left.in_common(&right), a.intersection(&b).count() as u64);
            prop_assert!((0..30).all(|index| left.contains(index) == a.contains(&index)));
            let all: BTreeSet<u64> = (0..30).collect();
            let missing: Vec<u64> = all.difference(&a).copied().take(count).collect();
            prop_assert_eq!(left.first_missing(count, 30), missing);
        }
    }
}
