use std::net::IpAddr;

/// A block of addresses: `10.0.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    base: IpAddr,
    prefix: u8,
}

/// The text is not a block of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a block of addresses such as 10.96.0.0/12: {0:?}")]
pub struct NotACidr(String);

impl Cidr {
    /// Reads `address/length`. Bits beyond the length are dropped.
    pub fn parse(text: &str) -> Result<Self, NotACidr> {
        let wrong = || NotACidr(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        let block = Self { base: address, prefix };
        if prefix > block.bits() {
            return Err(wrong());
        }
        let base = block.number(address) >> block.free_bits().min(127) << block.free_bits().min(127);
        Ok(Self { base: block.address(if block.free_bits() == 128 { 0 } else { base }), prefix })
    }

    /// `IPv4` or `IPv6`.
    pub fn family(&self) -> &'static str {
        family(self.base)
    }

    /// Whether the block holds an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        family(address) == self.family() && self.offset(address).is_some()
    }

    /// How many addresses the block holds; at most 2^64.
    pub(crate) fn size(&self) -> u128 {
        1 << self.free_bits().min(64)
    }

    /// The address at an offset from the first one.
    pub(crate) fn at(&self, offset: u128) -> IpAddr {
        self.address(self.number(self.base).saturating_add(offset))
    }

    fn offset(&self, address: IpAddr) -> Option<u128> {
        let offset = self.number(address).checked_sub(self.number(self.base))?;
        (self.free_bits() >= 128 || offset < 1 << self.free_bits()).then_some(offset)
    }

    fn bits(&self) -> u8 {
        if self.base.is_ipv4() { 32 } else { 128 }
    }

    fn free_bits(&self) -> u32 {
        u32::from(self.bits() - self.prefix)
    }

    fn number(&self, address: IpAddr) -> u128 {
        match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    fn address(&self, number: u128) -> IpAddr {
        if self.base.is_ipv4() {
            IpAddr::V4(u32::try_from(number).unwrap_or(u32::MAX).into())
        } else {
            IpAddr::V6(number.into())
        }
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
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
        assert!(!block.contains("::1".parse().unwrap()));
        let whole = Cidr::parse("::/0").unwrap();
        assert!(whole.contains("ffff::1".parse().unwrap()));
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "::/129"] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }
}
