//! IP addresses and networks. In Kubernetes: `library.IP` and `library.CIDR`.

use std::net::IpAddr;

use coracle_meta::go_quote;

use crate::fault::Fault;
use crate::value::{Cidr, Ip, Opaque, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "ip" => |arguments, _| match arguments {
            [Value::String(text)] => {
                parse_ip(text).map(|address| Value::opaque(Opaque::Ip(address))).map_err(Fault::new)
            }
            _ => cidr(arguments).map(|cidr| Value::opaque(Opaque::Ip(cidr.address))),
        },
        "isIP" => |arguments, _| text(arguments).map(|text| Value::Bool(parse_ip(text).is_ok())),
        "ip.isCanonical" => |arguments, _| {
            let text = text(arguments)?;
            Ok(Value::Bool(parse_ip(text).map_err(Fault::new)?.to_string() == text))
        },
        "family" => |arguments, _| Ok(Value::Int(if ip(arguments)?.is_ipv4() { 4 } else { 6 })),
        "isUnspecified" => |arguments, _| Ok(Value::Bool(ip(arguments)?.is_unspecified())),
        "isLoopback" => |arguments, _| Ok(Value::Bool(ip(arguments)?.is_loopback())),
        "isLinkLocalMulticast" => |arguments, _| ip(arguments).map(|address| Value::Bool(is_local_multicast(address))),
        "isLinkLocalUnicast" => |arguments, _| ip(arguments).map(|address| Value::Bool(is_local_unicast(address))),
        "isGlobalUnicast" => |arguments, _| {
            let address = ip(arguments)?;
            let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
            let is_other = address.is_unspecified() || address.is_loopback() || address.is_multicast() || is_broadcast;
            Ok(Value::Bool(!is_other && !is_local_unicast(address)))
        },
        "cidr" => |arguments, _| match parse_cidr(text(arguments)?) {
            Ok(cidr) => Ok(Value::opaque(Opaque::Cidr(cidr))),
            Err(why) => Err(Fault::new(format!("network address parse error during conversion from string: {why}"))),
        },
        "isCIDR" => |arguments, _| text(arguments).map(|text| Value::Bool(parse_cidr(text).is_ok())),
        "containsIP" => contains_ip,
        "containsCIDR" => contains_cidr,
        "prefixLength" => |arguments, _| cidr(arguments).map(|cidr| Value::Int(i64::from(cidr.network.prefix()))),
        "masked" => |arguments, _| {
            let network = cidr(arguments)?.network;
            Ok(Value::opaque(Opaque::Cidr(Cidr { address: network.network(), network })))
        },
        _ => return None,
    })
}

fn text<'a>(arguments: &'a [Value<'_>]) -> std::result::Result<&'a str, Fault> {
    match arguments {
        [Value::String(text)] => Ok(text),
        _ => Err(Fault::no_overload()),
    }
}

fn ip(arguments: &[Value<'_>]) -> std::result::Result<Ip, Fault> {
    match arguments {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Ip(address) => Ok(*address),
            _ => Err(Fault::no_overload()),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn cidr(arguments: &[Value<'_>]) -> std::result::Result<Cidr, Fault> {
    match arguments {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Cidr(cidr) => Ok(*cidr),
            _ => Err(Fault::no_overload()),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn is_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Parses an address; zones and IPv4-mapped IPv6 addresses are rejected.
fn parse_ip(text: &str) -> std::result::Result<Ip, String> {
    let quoted = go_quote(text);
    if let Some((address, zone)) = text.split_once('%')
        && !zone.is_empty()
        && address.parse::<std::net::Ipv6Addr>().is_ok()
    {
        return Err(format!("IP address {quoted} with zone value is not allowed"));
    }
    let address: IpAddr = text.parse().map_err(|_| {
        let why = if text.contains(['.', ':']) { "unexpected character" } else { "unable to parse IP" };
        format!("IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {why}")
    })?;
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok(address)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn parse_cidr(text: &str) -> std::result::Result<Cidr, String> {
    let quoted = go_quote(text);
    let refuse = |why: &str| {
        format!("network address parse error during conversion from string: netip.ParsePrefix({quoted}): {why}")
    };
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| refuse("no '/'"))?;
    let address: IpAddr =
        address.parse().map_err(|_| refuse(&format!("ParseAddr({}): unable to parse IP", go_quote(address))))?;
    let is_plain =
        !bits.is_empty() && bits.bytes().all(|sign| sign.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    if !is_plain {
        return Err(refuse(&format!("bad bits after slash: {}", go_quote(bits))));
    }
    let network = bits.parse().ok().and_then(|bits| coracle_meta::Cidr::new(address, bits));
    let network = network.ok_or_else(|| refuse("prefix length out of range"))?;
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok(Cidr { address, network })
}

fn contains_ip<'v>(arguments: &[Value<'v>], _: &mut crate::meter::Meter) -> Result<'v> {
    let [network, address] = arguments else { return Err(Fault::no_overload()) };
    let network = cidr(std::slice::from_ref(network))?;
    let address = match address {
        // An invalid address counts as an argument of the wrong type.
        Value::String(text) => parse_ip(text).map_err(|_| Fault::no_overload())?,
        other => ip(std::slice::from_ref(other))?,
    };
    Ok(Value::Bool(network.network.contains(address)))
}

fn contains_cidr<'v>(arguments: &[Value<'v>], _: &mut crate::meter::Meter) -> Result<'v> {
    let [network, inner] = arguments else { return Err(Fault::no_overload()) };
    let network = cidr(std::slice::from_ref(network))?;
    let inner = match inner {
        Value::String(text) => parse_cidr(text)
            .map_err(|why| Fault::new(format!("network address parse error during conversion from string: {why}")))?,
        other => cidr(std::slice::from_ref(other))?,
    };
    Ok(Value::Bool(network.network.contains_block(inner.network)))
}
