use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// A CIDR block: `10.0.0.0/16`.
///
/// ```
/// use coracle_controllers::AddressBlock;
///
/// let block: AddressBlock = "10.0.3.7/16".parse().unwrap();
/// assert_eq!(block.to_string(), "10.0.0.0/16");
/// assert!("10.0.0.0".parse::<AddressBlock>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressBlock(IpNet);

/// The text is not a CIDR block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a block of addresses such as 10.96.0.0/12: {0:?}")]
pub struct NotABlock(String);

impl FromStr for AddressBlock {
    type Err = NotABlock;

    fn from_str(text: &str) -> Result<Self, NotABlock> {
        text.trim().parse::<IpNet>().map(|block| Self(block.trunc())).map_err(|_| NotABlock(text.to_owned()))
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AddressBlock {
    /// Whether the block is IPv6.
    pub(crate) fn is_v6(self) -> bool {
        matches!(self.0, IpNet::V6(_))
    }

    /// The prefix length, in bits.
    pub(crate) fn prefix(self) -> u8 {
        self.0.prefix_len()
    }

    /// Whether the block contains all of another block.
    pub(crate) fn holds(self, other: Self) -> bool {
        self.0.contains(&other.0)
    }

    /// Whether the two blocks share an address.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.holds(other) || other.holds(self)
    }

    /// Whether the block contains a usable host address: neither the network address nor, for IPv4, the broadcast
    /// address. In Kubernetes: `PrefixContainsIP`.
    pub(crate) fn has_host(self, address: IpAddr) -> bool {
        self.0.contains(&address) && address != self.0.network() && (address.is_ipv6() || address != self.0.broadcast())
    }

    /// The host addresses of the block, in ascending order.
    pub(crate) fn hosts(self) -> impl Iterator<Item = IpAddr> {
        self.0.hosts().filter(move |address| self.has_host(*address))
    }

    /// How many blocks with this prefix length fit into the block; `None` if it is smaller than one.
    pub(crate) fn count(self, prefix: u8) -> Option<u128> {
        1_u128.checked_shl(u32::from(prefix.checked_sub(self.prefix())?))
    }

    /// The block with this prefix length at an index; the index must be less than [`Self::count`].
    pub(crate) fn at(self, place: u128, prefix: u8) -> Self {
        let shift = u32::from(self.0.max_prefix_len() - prefix);
        let offset = place.checked_shl(shift).unwrap_or(0);
        let address = match self.0.network() {
            IpAddr::V4(first) => IpAddr::V4((first.to_bits() | u32::try_from(offset).unwrap_or_default()).into()),
            IpAddr::V6(first) => IpAddr::V6((first.to_bits() | offset).into()),
        };
        IpNet::new(address, prefix).map_or(self, Self)
    }

    /// The first and the last index, among blocks with this prefix length, that another block occupies.
    pub(crate) fn places(self, other: Self, prefix: u8) -> Option<(u128, u128)> {
        let last = self.count(prefix)? - 1;
        if other.is_v6() != self.is_v6() || !self.overlaps(other) {
            return None;
        }
        if other.holds(self) {
            return Some((0, last));
        }
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let shift = u32::from(self.0.max_prefix_len() - prefix);
        let place = |address: IpAddr| (bits(address) - bits(self.0.network())).checked_shr(shift).unwrap_or(0);
        Some((place(other.0.network()), place(other.0.broadcast())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> AddressBlock {
        text.parse().unwrap()
    }

    #[test]
    fn a_block_is_cut_into_blocks_and_knows_their_places() {
        let cluster = block("10.4.0.0/14");
        assert_eq!(cluster.count(24), Some(1024));
        assert_eq!(cluster.at(257, 24).to_string(), "10.5.1.0/24");
        assert_eq!(cluster.places(block("10.5.1.0/24"), 24), Some((257, 257)));
        assert_eq!(cluster.places(block("10.5.0.0/16"), 24), Some((256, 511)));
        assert_eq!(cluster.places(block("10.0.0.0/8"), 24), Some((0, 1023)));
        assert_eq!(cluster.places(block("10.5.1.128/25"), 24), Some((257, 257)));
        assert_eq!(cluster.places(block("11.0.0.0/8"), 24), None);
        assert_eq!(cluster.count(13), None);
        let v6 = block("fd00::/48");
        assert_eq!(v6.at(3, 64).to_string(), "fd00:0:0:3::/64");
        assert_eq!(v6.places(block("fd00:0:0:3::/64"), 64), Some((3, 3)));
    }

    #[test]
    fn host_addresses_exclude_network_and_broadcast() {
        let hosts: Vec<_> = block("10.0.0.0/30").hosts().map(|host| host.to_string()).collect();
        assert_eq!(hosts, ["10.0.0.1", "10.0.0.2"]);
        assert!(!block("10.0.0.0/30").has_host("10.0.0.3".parse().unwrap()));
        assert!(block("fd00::/126").has_host("fd00::3".parse().unwrap()));
    }
}
