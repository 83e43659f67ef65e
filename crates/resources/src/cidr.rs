use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// A CIDR: `10.0.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr(IpNet);

/// The text is not a CIDR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a block of addresses such as 10.96.0.0/12: {0:?}")]
pub struct NotACidr(String);

impl Cidr {
    /// Parses `address/length`. Bits beyond the length are dropped.
    pub fn parse(text: &str) -> Result<Self, NotACidr> {
        let block = || {
            let (address, prefix) = text.split_once('/')?;
            // `IpNet` accepts an address with leading zeros, which is refused here as in Go.
            IpNet::new(address.parse().ok()?, prefix.parse().ok()?).ok()
        };
        block().map(|block| Self(block.trunc())).ok_or_else(|| NotACidr(text.to_owned()))
    }

    /// `IPv4` or `IPv6`.
    pub fn family(&self) -> &'static str {
        family(self.0.addr())
    }

    /// Whether the block contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// Whether an address is the first one of the block.
    pub(crate) fn begins_with(&self, address: IpAddr) -> bool {
        self.0.network() == address
    }

    /// Whether a Service can have an address of the block: not the first one, and not the last one of IPv4.
    /// In Kubernetes: `PrefixContainsIP`.
    pub(crate) fn has_host(&self, address: IpAddr) -> bool {
        let is_broadcast = address.is_ipv4() && address == self.0.broadcast();
        self.contains(address) && address != self.0.network() && !is_broadcast
    }

    /// The number of addresses in the block, at most 2^64.
    pub(crate) fn size(&self) -> u128 {
        1 << (self.0.max_prefix_len() - self.0.prefix_len()).min(64)
    }

    /// The address at an offset from the first one.
    pub(crate) fn at(&self, offset: u128) -> IpAddr {
        match self.0.addr() {
            IpAddr::V4(first) => {
                let number = u128::from(first.to_bits()).saturating_add(offset);
                IpAddr::V4(u32::try_from(number).unwrap_or(u32::MAX).into())
            }
            IpAddr::V6(first) => IpAddr::V6(first.to_bits().saturating_add(offset).into()),
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `IPv4` or `IPv6`.
pub(crate) fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_its_addresses_and_no_others() {
        let block = Cidr::parse("10.0.3.7/16").unwrap();
        assert_eq!(block.to_string(), "10.0.0.0/16");
        assert_eq!(block.size(), 65536);
        assert_eq!(block.at(257).to_string(), "10.0.1.1");
        assert!(block.contains("10.0.255.255".parse().unwrap()));
        assert!(!block.contains("10.1.0.0".parse().unwrap()));
        for (address, is_host) in [
            ("10.0.0.0", false),
            ("10.0.0.1", true),
            ("10.0.255.254", true),
            ("10.0.255.255", false),
            ("10.1.0.1", false),
        ] {
            assert_eq!(block.has_host(address.parse().unwrap()), is_host, "{address}");
        }
        let six = Cidr::parse("fd00::/112").unwrap();
        assert!(!six.has_host("fd00::".parse().unwrap()) && six.has_host("fd00::ffff".parse().unwrap()));
        assert!(!block.contains("::1".parse().unwrap()));
        let whole = Cidr::parse("::/0").unwrap();
        assert!(whole.contains("ffff::1".parse().unwrap()));
    }

    #[test]
    fn invalid_cidrs_are_refused() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "::/129", "010.0.0.0/8"] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }
}
