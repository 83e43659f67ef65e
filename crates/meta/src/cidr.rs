use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// A CIDR block without bits beyond its prefix: `10.0.0.0/16`.
///
/// ```
/// use coracle_meta::Cidr;
///
/// let block = Cidr::parse("10.0.3.7/16").unwrap();
/// assert_eq!(block.to_string(), "10.0.0.0/16");
/// assert!(Cidr::parse("10.0.0.0").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr(IpNet);

/// The text is not a CIDR block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a block of addresses such as 10.96.0.0/12: {0:?}")]
pub struct NotACidr(String);

impl Cidr {
    /// The block of this prefix length, in bits, that contains the address; `None` if the prefix is too long.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        IpNet::new(address, prefix).ok().map(|block| Self(block.trunc()))
    }

    /// Parses `address/prefix`, and drops bits beyond the prefix. In Kubernetes: Go's `net.ParseCIDR`.
    ///
    /// # Errors
    /// For all other texts, and for an address with leading zeros.
    pub fn parse(text: &str) -> Result<Self, NotACidr> {
        let block = || {
            let (address, prefix) = text.split_once('/')?;
            // `u8` accepts a sign.
            let is_number = prefix.bytes().all(|sign| sign.is_ascii_digit());
            Self::new(address.parse().ok()?, prefix.parse().ok().filter(|_| is_number)?)
        };
        block().ok_or_else(|| NotACidr(text.to_owned()))
    }

    /// Parses `address/prefix` as [`Self::parse`] does, and accepts leading zeros in the address.
    /// In Kubernetes: `netutils.ParseCIDRSloppy`.
    ///
    /// # Errors
    /// For all other texts.
    pub fn parse_sloppy(text: &str) -> Result<Self, NotACidr> {
        // `IpNet` parses numbers with leading zeros as decimal.
        text.parse::<IpNet>().map(|block| Self(block.trunc())).map_err(|_| NotACidr(text.to_owned()))
    }

    /// The first address of the block.
    pub fn network(self) -> IpAddr {
        self.0.network()
    }

    /// The prefix length, in bits.
    pub fn prefix(self) -> u8 {
        self.0.prefix_len()
    }

    /// Whether the block is IPv6.
    pub fn is_ipv6(self) -> bool {
        matches!(self.0, IpNet::V6(_))
    }

    /// `IPv4` or `IPv6`. In Kubernetes: `core/v1.IPFamily`.
    pub fn family(self) -> &'static str {
        if self.is_ipv6() { "IPv6" } else { "IPv4" }
    }

    /// Whether the block contains an address.
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// Whether the block contains all of another block.
    pub fn contains_block(self, other: Self) -> bool {
        self.0.contains(&other.0)
    }

    /// Whether the two blocks share an address.
    pub fn overlaps(self, other: Self) -> bool {
        self.contains_block(other) || other.contains_block(self)
    }

    /// Whether the block contains a usable host address: neither the network address nor, for IPv4, the broadcast
    /// address. In Kubernetes: `PrefixContainsIP`.
    pub fn has_host(self, address: IpAddr) -> bool {
        let is_broadcast = address.is_ipv4() && address == self.0.broadcast();
        self.contains(address) && address != self.network() && !is_broadcast
    }

    /// The host addresses of the block, in ascending order.
    pub fn hosts(self) -> impl Iterator<Item = IpAddr> {
        self.0.hosts().filter(move |address| self.has_host(*address))
    }

    /// The number of addresses in the block; at most 2^64.
    pub fn size(self) -> u128 {
        1 << (self.0.max_prefix_len() - self.prefix()).min(64)
    }

    /// The address at an offset from the first one.
    pub fn address_at(self, offset: u128) -> IpAddr {
        match self.network() {
            IpAddr::V4(first) => {
                let number = u128::from(first.to_bits()).saturating_add(offset);
                IpAddr::V4(u32::try_from(number).unwrap_or(u32::MAX).into())
            }
            IpAddr::V6(first) => IpAddr::V6(first.to_bits().saturating_add(offset).into()),
        }
    }

    /// The offset of an address from the first one; `None` if the block does not contain it.
    pub fn offset_of(self, address: IpAddr) -> Option<u128> {
        self.contains(address).then(|| bits(address) - bits(self.network()))
    }

    /// The number of subnets of this prefix length; `None` if the block is smaller than one.
    pub fn subnet_count(self, prefix: u8) -> Option<u128> {
        1_u128.checked_shl(u32::from(prefix.checked_sub(self.prefix())?))
    }

    /// The subnet of this prefix length at an index; the index must be less than [`Self::subnet_count`].
    pub fn subnet_at(self, index: u128, prefix: u8) -> Self {
        let shift = u32::from(self.0.max_prefix_len().saturating_sub(prefix));
        let offset = index.checked_shl(shift).unwrap_or(0);
        Self::new(self.address_at(offset), prefix).unwrap_or(self)
    }

    /// The first and the last index, among the subnets of this prefix length, that another block occupies.
    pub fn subnets_of(self, other: Self, prefix: u8) -> Option<(u128, u128)> {
        let last = self.subnet_count(prefix)? - 1;
        if other.is_ipv6() != self.is_ipv6() || !self.overlaps(other) {
            return None;
        }
        if other.contains_block(self) {
            return Some((0, last));
        }
        let shift = u32::from(self.0.max_prefix_len().saturating_sub(prefix));
        let index = |address: IpAddr| (bits(address) - bits(self.network())).checked_shr(shift).unwrap_or(0);
        Some((index(other.0.network()), index(other.0.broadcast())))
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(text: &str) -> Cidr {
        Cidr::parse(text).unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_block_contains_its_addresses_and_no_others() {
        let four = block("10.0.3.7/16");
        assert_eq!(four.to_string(), "10.0.0.0/16");
        assert_eq!(four.size(), 65536);
        assert_eq!(four.address_at(257).to_string(), "10.0.1.1");
        assert_eq!(four.offset_of(address("10.0.1.1")), Some(257));
        assert_eq!(four.offset_of(address("10.1.0.0")), None);
        assert!(four.contains(address("10.0.255.255")));
        assert!(!four.contains(address("10.1.0.0")));
        for (text, is_host) in [
            ("10.0.0.0", false),
            ("10.0.0.1", true),
            ("10.0.255.254", true),
            ("10.0.255.255", false),
            ("10.1.0.1", false),
        ] {
            assert_eq!(four.has_host(address(text)), is_host, "{text}");
        }
        let six = block("fd00::/112");
        assert!(!six.has_host(address("fd00::")) && six.has_host(address("fd00::ffff")));
        assert!(!four.contains(address("::1")));
        assert!(block("::/0").contains(address("ffff::1")));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "::/129", "010.0.0.0/8", "10.0.0.0/+8", "::/"] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
        assert_eq!(Cidr::parse_sloppy("010.0.0.1/8").unwrap(), block("10.0.0.0/8"));
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "::/129", " ::/8"] {
            assert!(Cidr::parse_sloppy(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_is_split_into_subnets_with_an_index() {
        let cluster = block("10.4.0.0/14");
        assert_eq!(cluster.subnet_count(24), Some(1024));
        assert_eq!(cluster.subnet_at(257, 24).to_string(), "10.5.1.0/24");
        assert_eq!(cluster.subnets_of(block("10.5.1.0/24"), 24), Some((257, 257)));
        assert_eq!(cluster.subnets_of(block("10.5.0.0/16"), 24), Some((256, 511)));
        assert_eq!(cluster.subnets_of(block("10.0.0.0/8"), 24), Some((0, 1023)));
        assert_eq!(cluster.subnets_of(block("10.5.1.128/25"), 24), Some((257, 257)));
        assert_eq!(cluster.subnets_of(block("11.0.0.0/8"), 24), None);
        assert_eq!(cluster.subnet_count(13), None);
        let six = block("fd00::/48");
        assert_eq!(six.subnet_at(3, 64).to_string(), "fd00:0:0:3::/64");
        assert_eq!(six.subnets_of(block("fd00:0:0:3::/64"), 64), Some((3, 3)));
    }

    #[test]
    fn hosts_are_neither_the_network_nor_the_broadcast_address() {
        let hosts: Vec<_> = block("10.0.0.0/30").hosts().map(|host| host.to_string()).collect();
        assert_eq!(hosts, ["10.0.0.1", "10.0.0.2"]);
        assert!(!block("10.0.0.0/30").has_host(address("10.0.0.3")));
        assert!(block("fd00::/126").has_host(address("fd00::3")));
    }

    proptest! {
        #[test]
        fn texts_of_blocks_are_parsed_as_the_same_block(bits in any::<u128>(), is_ipv6: bool, prefix in 0..=128_u8) {
            let address = if is_ipv6 { IpAddr::V6(bits.into()) } else { IpAddr::V4((bits as u32).into()) };
            if let Some(block) = Cidr::new(address, prefix) {
                prop_assert!(block.contains(address));
                prop_assert_eq!(Cidr::parse(&block.to_string()), Ok(block));
                prop_assert_eq!(Cidr::parse_sloppy(&block.to_string()), Ok(block));
            } else {
                prop_assert!(!is_ipv6 && prefix > 32);
            }
        }
    }
}
