use std::net::{IpAddr, Ipv4Addr};

/// Parses an address, also with leading zeros. An IPv4-mapped IPv6 address becomes IPv4.
///
/// In Kubernetes: `netutils.ParseIPSloppy`.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(address.to_canonical()),
        Err(_) => {
            let octet = |part: &str| part.parse::<u8>().ok().filter(|_| part.bytes().all(|sign| sign.is_ascii_digit()));
            let octets: Option<Vec<u8>> = text.split('.').map(octet).collect();
            Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(octets?).ok()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_any_of_its_forms_and_nothing_else_is_one() {
        let read = |text| parse_ip(text).map(|address| address.to_string());
        assert_eq!(read("010.001.0.3").as_deref(), Some("10.1.0.3"));
        assert_eq!(read("::ffff:10.1.0.3").as_deref(), Some("10.1.0.3"));
        assert_eq!(read("2001:DB8:0:0::1").as_deref(), Some("2001:db8::1"));
        for text in ["", "10.1.0", "10.1.0.256", "10.1.0.+3", "host"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
