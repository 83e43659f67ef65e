//! Addresses and CIDRs in the forms that older fields accept. In Kubernetes: `netutils.ParseIPSloppy`,
//! `GetWarningsForIP`, `GetWarningsForCIDR`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use coracle_release::Release;
use ipnet::IpNet;

/// Parses an address. Parts of an IPv4 address may have leading zeros, and an IPv4-mapped IPv6 address is read as IPv4.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    if !text.contains(':') {
        return parse_v4(text).map(IpAddr::V4);
    }
    // The dotted end of an IPv6 address may have leading zeros, too.
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

/// The errors of an address in a field that accepts only the canonical form. In Kubernetes: `IsValidIP`.
pub(crate) fn wrong_canonical_ip(text: &str) -> Vec<String> {
    let Some(address) = parse_ip(text) else {
        return vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()];
    };
    let canonical = address.to_string();
    match text.parse::<IpAddr>() {
        Err(_) => vec!["must not have leading 0s".to_owned()],
        Ok(parsed) if parsed != address => vec!["must not be an IPv4-mapped IPv6 address".to_owned()],
        Ok(_) if canonical == text => Vec::new(),
        Ok(_) => vec![format!("must be in canonical form ({canonical:?})")],
    }
}

/// Why an address in a form that only older releases accept is wrong, in fields that also accept non-canonical forms.
/// In Kubernetes: `parseIP` with strict validation.
pub(crate) fn why_outdated_ip(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Err(_) => Some("must not have leading 0s"),
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Some("must not be an IPv4-mapped IPv6 address")
        }
        Ok(_) => None,
    }
}

/// Why a CIDR in a form that only older releases accept is wrong. In Kubernetes: `parseCIDR` with strict validation.
pub(crate) fn why_outdated_cidr(text: &str) -> Option<&'static str> {
    let (address, length) = text.split_once('/')?;
    let has_zero = length.len() > 1 && length.starts_with('0');
    let (Ok(address), false, Ok(length)) = (address.parse::<IpAddr>(), has_zero, length.parse()) else {
        return Some("must not have leading 0s in IP or prefix length");
    };
    match address {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => Some("must not have an IPv4-mapped IPv6 address"),
        address => {
            let block = IpNet::new(address, length).ok()?;
            (block.trunc().addr() != address).then_some("must not have bits set beyond the prefix length")
        }
    }
}

/// `IPv4` or `IPv6`.
pub(crate) fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// Whether an address is written in a deprecated form.
fn is_outdated(text: &str) -> bool {
    match text.parse() {
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped().is_some(),
        Ok(IpAddr::V4(_)) => false,
        Err(_) => true,
    }
}

/// What a warning calls a form that only older releases accept.
fn verdict(release: &Release) -> &'static str {
    if release.has("OlderAddressesAreInvalid") {
        "is invalid"
    } else {
        "will be considered invalid in a future Kubernetes release"
    }
}

/// The warning about an address.
pub(crate) fn ip_warning(text: &str, path: &str, release: &Release) -> Option<String> {
    let address = parse_ip(text)?;
    if is_outdated(text) {
        let (verdict, better) = (verdict(release), address.to_string());
        return Some(format!("{path}: non-standard IP address {text:?} {verdict}: use {better:?}"));
    }
    let canonical = address.to_string();
    (address.is_ipv6() && canonical != text)
        .then(|| format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"))
}

/// The errors of the address of an endpoint. In Kubernetes: `ValidateEndpointIP`.
pub(crate) fn wrong_reach(text: &str) -> Vec<String> {
    let Some(address) = parse_ip(text) else { return vec!["must be a valid IP address".to_owned()] };
    let (is_local, is_local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02),
    };
    let mut wrong = Vec::new();
    if address.is_unspecified() {
        wrong.push(format!("may not be unspecified ({text})"));
    }
    for (is_so, what) in [
        (address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (is_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (is_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ] {
        if is_so {
            wrong.push(what.to_owned());
        }
    }
    wrong
}

/// Parses `address/length`.
pub(crate) fn parse_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let is_number = !length.is_empty() && length.bytes().all(|sign| sign.is_ascii_digit());
    let parsed = parse_ip(address)?;
    let significant = length.trim_start_matches('0');
    let length: u8 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    let most = if address.contains(':') { 128 } else { 32 };
    (is_number && length <= most).then_some((parsed, length))
}

/// The warnings about a CIDR.
pub(crate) fn cidr_warnings(text: &str, path: &str, release: &Release) -> Vec<String> {
    let Some((address, length)) = parse_cidr(text) else { return Vec::new() };
    let is_mapped = text.contains(':') && address.is_ipv4();
    let length = if is_mapped { length.saturating_sub(96) } else { length };
    let Ok(block) = IpNet::new(address, length) else { return Vec::new() };
    let canonical = block.trunc().to_string();
    let mut warnings = Vec::new();
    if block.trunc().addr() != address {
        let single = IpNet::from(address).to_string();
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be {canonical:?} or {single:?}?)"
        ));
    }
    let (own, own_length) = text.split_once('/').unwrap_or_default();
    let has_zero = own_length.len() > 1 && own_length.starts_with('0');
    if is_outdated(own) || has_zero {
        let verdict = verdict(release);
        warnings.push(format!("{path}: non-standard CIDR value {text:?} {verdict}: use {canonical:?}"));
    }
    let written = block.to_string();
    if warnings.is_empty() && address.is_ipv6() && written != text {
        warnings.push(format!("{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({written:?})"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_forms_of_addresses_are_read_and_named() {
        assert_eq!(parse_ip("010.0.0.9").unwrap().to_string(), "10.0.0.9");
        assert_eq!(parse_ip("::ffff:10.0.0.9").unwrap().to_string(), "10.0.0.9");
        for text in ["", "1.2.3", "1.2.3.4.5", "1.2.3.400", "0x1.2.3.4", "fe80::1%eth0", " 1.2.3.4", "1..2.3"] {
            assert_eq!(parse_ip(text), None, "{text}");
        }
        assert_eq!(ip_warning("10.0.0.9", "p", &Release::default()), None);
        assert_eq!(
            ip_warning("FD00::1", "p", &Release::default()).unwrap(),
            "p: IPv6 address \"FD00::1\" should be in RFC 5952 canonical format (\"fd00::1\")"
        );
        assert!(ip_warning("010.0.0.9", "p", &Release::default()).unwrap().ends_with("use \"10.0.0.9\""));
    }

    #[test]
    fn older_forms_have_a_reason_each() {
        let ip = why_outdated_ip;
        assert_eq!(ip("10.0.0.9"), None);
        assert_eq!(ip("FD00::1"), None);
        assert_eq!(ip("010.0.0.9"), Some("must not have leading 0s"));
        assert_eq!(ip("::ffff:10.0.0.9"), Some("must not be an IPv4-mapped IPv6 address"));
        let cidr = why_outdated_cidr;
        assert_eq!(cidr("10.0.0.0/8"), None);
        assert_eq!(cidr("FD00::/64"), None);
        assert_eq!(cidr("10.0.0.0/08"), Some("must not have leading 0s in IP or prefix length"));
        assert_eq!(cidr("010.0.0.0/8"), Some("must not have leading 0s in IP or prefix length"));
        assert_eq!(cidr("::ffff:10.0.0.0/104"), Some("must not have an IPv4-mapped IPv6 address"));
        assert_eq!(cidr("10.0.0.1/8"), Some("must not have bits set beyond the prefix length"));
    }

    #[test]
    fn cidrs_are_validated() {
        assert_eq!(parse_cidr("10.0.0.0/08").unwrap().1, 8);
        for text in ["nonsense", "10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0.0/-1"] {
            assert_eq!(parse_cidr(text), None, "{text}");
        }
        assert!(cidr_warnings("10.0.0.0/8", "p", &Release::default()).is_empty());
        assert_eq!(
            cidr_warnings("10.0.0.1/8", "p", &Release::default()),
            [
                "p: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
            ]
        );
    }
}
