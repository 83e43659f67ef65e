use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Where the addresses of simulated nodes begin.
const FIRST_NODE: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 2);
/// Where the addresses of simulated pods begin; each node has a share of [`SHARE`].
const FIRST_POD: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 0);
/// How many addresses a node has for its pods.
const SHARE: u32 = 1024;

/// The address of the node with this number.
pub(crate) fn node_address(number: u32) -> String {
    Ipv4Addr::from(u32::from(FIRST_NODE).wrapping_add(number)).to_string()
}

/// Gives each pod of a node an address; one that was given back is not given out again at once.
#[derive(Clone, Debug)]
pub(crate) struct PodAddresses {
    first: u32,
    last: u32,
}

impl PodAddresses {
    /// The addresses of the node with this number.
    pub(crate) fn of_node(number: u32) -> Self {
        let first = u32::from(FIRST_POD).wrapping_add(number.wrapping_mul(SHARE));
        Self { first, last: 0 }
    }

    /// The next address that is not taken; none if all are.
    pub(crate) fn next(&mut self, taken: &BTreeSet<String>) -> Option<String> {
        // The first of a share names the network and the last all of it.
        for _ in 1..SHARE - 1 {
            self.last = self.last % (SHARE - 2) + 1;
            let address = Ipv4Addr::from(self.first.wrapping_add(self.last)).to_string();
            if !taken.contains(&address) {
                return Some(address);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_round_and_skip_what_is_taken() {
        let mut addresses = PodAddresses::of_node(1);
        let mut taken = BTreeSet::from(["10.128.4.2".to_owned()]);
        assert_eq!(addresses.next(&taken).unwrap(), "10.128.4.1");
        assert_eq!(addresses.next(&taken).unwrap(), "10.128.4.3");
        for _ in 0..SHARE {
            taken.extend(addresses.next(&taken));
        }
        assert_eq!((taken.len(), addresses.next(&taken)), (1022, None));
        assert_eq!(node_address(0), "172.18.0.2");
    }
}
