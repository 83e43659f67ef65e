use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first address of simulated nodes.
const FIRST_NODE: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 2);
/// The first address of simulated pods; each node has a block of [`SHARE`] addresses.
const FIRST_POD: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 0);
/// How many pod addresses a node has.
const SHARE: u32 = 1024;

/// The address of the node with this number.
pub(crate) fn node_address(number: u32) -> String {
    Ipv4Addr::from(u32::from(FIRST_NODE).wrapping_add(number)).to_string()
}

/// Allocates pod addresses of one node. An address that a pod has released is not reused immediately.
#[derive(Clone, Debug)]
pub(crate) struct PodAddresses {
    own: Range,
    last: u32,
}

impl PodAddresses {
    /// The address block of the node with this number.
    pub(crate) fn of_node(number: u32) -> Self {
        let first = u32::from(FIRST_POD).wrapping_add(number.wrapping_mul(SHARE));
        Self { own: Range { first: Ipv4Addr::from(first).into(), size: SHARE }, last: 0 }
    }

    /// The offset of the address that was allocated last.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// Continues the allocation after this offset.
    pub(crate) fn go_on_after(&mut self, last: u32) {
        self.last = last;
    }

    /// The next free address; none if all are taken. A Node with `podCIDRs` uses the first of them, and any other node
    /// its own block.
    pub(crate) fn next(&mut self, taken: &BTreeSet<String>, given: &[String]) -> Option<String> {
        let range = given.first().and_then(|given| Range::parse(given)).unwrap_or(self.own);
        // The first address of a range is the network's, and the last is the broadcast address.
        for _ in 1..range.size.saturating_sub(1) {
            self.last = self.last % (range.size - 2) + 1;
            let address = range.at(self.last).to_string();
            if !taken.contains(&address) {
                return Some(address);
            }
        }
        None
    }
}

/// All addresses of a pod: the first one, and those at the same offset in the other ranges of its node.
pub(crate) fn of_all_families(first: &str, given: &[String]) -> Vec<String> {
    let place = || {
        let (own, others) = given.split_first()?;
        let place = Range::parse(own)?.place_of(first.parse().ok()?)?;
        let others = others.iter().filter_map(|other| Range::parse(other));
        Some(others.filter(|other| place < other.size).map(|other| other.at(place).to_string()).collect::<Vec<_>>())
    };
    [vec![first.to_owned()], place().unwrap_or_default()].concat()
}

/// How many addresses of a range are used at most.
const MOST: u32 = 1 << 16;

/// A contiguous range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: IpAddr,
    size: u32,
}

impl Range {
    /// Parses `10.244.1.0/24` or `fd00:10:244:1::/64`.
    fn parse(text: &str) -> Option<Self> {
        let (first, bits) = text.split_once('/')?;
        let (first, bits): (IpAddr, u32) = (first.parse().ok()?, bits.parse().ok()?);
        let width = if first.is_ipv4() { 32 } else { 128 };
        let free = width - Some(bits).filter(|bits| *bits <= width)?;
        Some(Self { first, size: 1_u32.checked_shl(free).unwrap_or(MOST).clamp(1, MOST) })
    }

    fn at(self, place: u32) -> IpAddr {
        match self.first {
            IpAddr::V4(first) => Ipv4Addr::from(u32::from(first).wrapping_add(place)).into(),
            IpAddr::V6(first) => Ipv6Addr::from(u128::from(first).wrapping_add(place.into())).into(),
        }
    }

    fn place_of(self, address: IpAddr) -> Option<u32> {
        let place = match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => u32::from(address).checked_sub(first.into())?,
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                u32::try_from(u128::from(address).checked_sub(first.into())?).ok()?
            }
            _ => return None,
        };
        Some(place).filter(|place| *place < self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_round_and_skip_what_is_taken() {
        let mut addresses = PodAddresses::of_node(1);
        let mut taken = BTreeSet::from(["10.128.4.2".to_owned()]);
        assert_eq!(addresses.next(&taken, &[]).unwrap(), "10.128.4.1");
        assert_eq!(addresses.next(&taken, &[]).unwrap(), "10.128.4.3");
        for _ in 0..SHARE {
            taken.extend(addresses.next(&taken, &[]));
        }
        assert_eq!((taken.len(), addresses.next(&taken, &[])), (1022, None));
        assert_eq!(node_address(0), "172.18.0.2");
    }

    #[test]
    fn a_range_that_a_node_was_given_is_used_in_both_families() {
        let given = ["10.244.1.0/24".to_owned(), "fd00:10:244:1::/64".to_owned()];
        let first = PodAddresses::of_node(3).next(&BTreeSet::new(), &given).unwrap();
        assert_eq!(of_all_families(&first, &given), ["10.244.1.1", "fd00:10:244:1::1"]);
        assert_eq!(of_all_families("10.128.0.1", &given), ["10.128.0.1"], "it was given before");
        assert_eq!(PodAddresses::of_node(0).next(&BTreeSet::new(), &["::/0".to_owned()]).unwrap(), "::1");
        assert_eq!(PodAddresses::of_node(0).next(&BTreeSet::new(), &["10.0.0.1/32".to_owned()]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*", bits in proptest::prelude::any::<u8>()) {
            for given in [text, format!("10.0.0.0/{bits}"), format!("ffff::/{bits}")] {
                let _ = PodAddresses::of_node(0).next(&BTreeSet::new(), &[given]);
            }
        }
    }
}
