use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use coracle_meta::Cidr;

/// The first address of simulated nodes.
const FIRST_NODE: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 2);
/// The first address of simulated pods; each node has a block of [`SHARE`] addresses.
const FIRST_POD: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 0);
/// How many pod addresses a node has.
const SHARE: u32 = 1 << (32 - SHARE_PREFIX);
/// The prefix length of a node's block.
const SHARE_PREFIX: u8 = 22;

/// The address of the node with this number.
pub(crate) fn node_address(number: u32) -> String {
    Ipv4Addr::from(u32::from(FIRST_NODE).wrapping_add(number)).to_string()
}

/// Allocates pod addresses of one node. An address that a pod has released is not reused immediately.
#[derive(Clone, Debug)]
pub(crate) struct PodAddresses {
    own: Cidr,
    last: u32,
}

impl PodAddresses {
    /// The address block of the node with this number.
    pub(crate) fn of_node(number: u32) -> Self {
        let first = u32::from(FIRST_POD).wrapping_add(number.wrapping_mul(SHARE));
        let own = Cidr::new(Ipv4Addr::from(first).into(), SHARE_PREFIX).expect("a prefix of IPv4");
        Self { own, last: 0 }
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
        let block = given.first().and_then(|given| Cidr::parse(given).ok()).unwrap_or(self.own);
        let size = size(block);
        // The first address of a block is the network's, and the last is the broadcast address.
        for _ in 1..size.saturating_sub(1) {
            self.last = self.last % (size - 2) + 1;
            let address = block.address_at(self.last.into()).to_string();
            if !taken.contains(&address) {
                return Some(address);
            }
        }
        None
    }
}

/// All addresses of a pod: the first one, and those at the same offset in the other blocks of its node.
pub(crate) fn of_all_families(first: &str, given: &[String]) -> Vec<String> {
    let in_others = || {
        let (own, others) = given.split_first()?;
        let own = Cidr::parse(own).ok()?;
        let offset = own.offset_of(first.parse().ok()?).filter(|offset| *offset < size(own).into())?;
        let others = others.iter().filter_map(|other| Cidr::parse(other).ok());
        let others = others.filter(|other| offset < size(*other).into());
        Some(others.map(|other| other.address_at(offset).to_string()).collect::<Vec<_>>())
    };
    [vec![first.to_owned()], in_others().unwrap_or_default()].concat()
}

/// How many addresses of a block are used at most.
const MOST: u32 = 1 << 16;

/// How many addresses of a block are used.
fn size(block: Cidr) -> u32 {
    u32::try_from(block.size()).unwrap_or(MOST).min(MOST)
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
