//! Which block is allocated next.

use coracle_meta::Cidr;

/// The pod CIDR of the cluster, split into blocks for nodes.
#[derive(Clone, Debug)]
pub(super) struct Range {
    block: Cidr,
    /// The mask size of a node's block.
    prefix: u8,
    /// Where to search next: a released block is reused as late as possible.
    next: u128,
}

impl Range {
    pub(super) fn new(block: Cidr, prefix: u8) -> Self {
        Self { block, prefix, next: 0 }
    }

    /// The next block that does not overlap with an allocated one; `None` if the range is exhausted.
    pub(super) fn next(&mut self, taken: &[Cidr]) -> Option<Cidr> {
        let count = self.block.subnet_count(self.prefix)?;
        let mut places: Vec<_> = taken.iter().filter_map(|block| self.block.subnets_of(*block, self.prefix)).collect();
        places.sort_unstable();
        let first_free = |from: u128| {
            let free = places.iter().fold(
                from,
                |free, (first, last)| {
                    if (*first..=*last).contains(&free) { last + 1 } else { free }
                },
            );
            (free < count).then_some(free)
        };
        let place = first_free(self.next).or_else(|| first_free(0))?;
        self.next = (place + 1) % count;
        Some(self.block.subnet_at(place, self.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn released_blocks_are_given_out_last_and_used_ones_never() {
        let mut range = Range::new(Cidr::parse("10.0.0.0/22").unwrap(), 24);
        let mut taken: Vec<Cidr> = vec![Cidr::parse("10.0.1.128/25").unwrap()];
        let mut next = |taken: &[Cidr]| range.next(taken).map(|block| block.to_string());
        assert_eq!(next(&taken).as_deref(), Some("10.0.0.0/24"));
        taken.push(Cidr::parse("10.0.0.0/24").unwrap());
        assert_eq!(next(&taken).as_deref(), Some("10.0.2.0/24"));
        taken.pop();
        taken.push(Cidr::parse("10.0.2.0/24").unwrap());
        assert_eq!(next(&taken).as_deref(), Some("10.0.3.0/24"), "not the one that was freed");
        taken.push(Cidr::parse("10.0.3.0/24").unwrap());
        assert_eq!(next(&taken).as_deref(), Some("10.0.0.0/24"));
        taken.push(Cidr::parse("10.0.0.0/24").unwrap());
        assert_eq!(next(&taken), None);
    }

    proptest! {
        #[test]
        fn all_blocks_are_given_out_once(prefix in 20..=24_u8) {
            let block = Cidr::parse("10.0.0.0/20").unwrap();
            let (mut range, mut taken) = (Range::new(block, prefix), Vec::new());
            while let Some(next) = range.next(&taken) {
                prop_assert!(block.contains_block(next) && !taken.iter().any(|other: &Cidr| other.overlaps(next)));
                taken.push(next);
            }
            prop_assert_eq!(taken.len(), 1 << (prefix - 20));
        }
    }
}
