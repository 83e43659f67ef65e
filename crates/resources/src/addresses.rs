//! Addresses and blocks of addresses in the forms that older fields take. In Kubernetes: `netutils.ParseIPSloppy`,
//! `GetWarningsForIP`, `GetWarningsForCIDR`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads an address; the parts of one with dots may begin with zeros, and one of IPv4 that is written as IPv6 is read
/// as IPv4.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    if !text.contains(':') {
        return parse_v4(text).map(IpAddr::V4);
    }
    // The dotted end of an IPv6 address may have such zeros, too.
    let (start, end) = text.rsplit_once(':')?;
    let address: Ipv6Addr = match parse_v4(end) {
        Some(dotted) => format!("{start}:{dotted}").parse().ok()?,
        None => text.parse().ok()?,
    };
    Some(IpAddr::V6(address).to_canonical())
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u8> = text
        .split('.')
        .map(|part| {
            let is_number = !part.is_empty() && part.bytes().all(|sign| sign.is_ascii_digit());
            let significant = part.trim_start_matches('0');
            let significant = if significant.is_empty() { "0" } else { significant };
            if is_number { significant.parse().ok() } else { None }
        })
        .collect::<Option<_>>()?;
    <[u8; 4]>::try_from(parts).ok().map(Ipv4Addr::from)
}

/// Whether an address is written in a form that Kubernetes will refuse one day.
fn is_outdated(text: &str) -> bool {
    match text.parse() {
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped().is_some(),
        Ok(IpAddr::V4(_)) => false,
        Err(_) => true,
    }
}

/// What a writer of an address should know.
pub(crate) fn ip_warning(text: &str, path: &str) -> Option<String> {
    let address = parse_ip(text)?;
    if is_outdated(text) {
        return Some(format!(
            "{path}: non-standard IP address {text:?} will be considered invalid in a future Kubernetes release: use {:?}",
            address.to_string()
        ));
    }
    let canonical = address.to_string();
    (address.is_ipv6() && canonical != text)
        .then(|| format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"))
}

/// Reads `address/length`: the address and the length.
pub(crate) fn parse_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let is_number = !length.is_empty() && length.bytes().all(|sign| sign.is_ascii_digit());
    let parsed = parse_ip(address)?;
    let significant = length.trim_start_matches('0');
    let length: u8 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    let most = if address.contains(':') { 128 } else { 32 };
    (is_number && length <= most).then_some((parsed, length))
}
