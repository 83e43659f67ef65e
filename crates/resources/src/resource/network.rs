//! The data of network devices. In Kubernetes: `validateNetworkDeviceData`.

use std::net::IpAddr;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, go_quote};
use serde_json::Value;

use super::bounded::wrong_set;
use crate::field_checks::Wrong;

const MOST_ADDRESSES: usize = 16;

/// The errors of the network data.
pub(super) fn wrong_network(data: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (field, most) in [("interfaceName", 256), ("hardwareAddress", 128)] {
        if data.text(field).len() > most {
            wrong.push(FieldError::too_long(format!("{path}.{field}"), most));
        }
    }
    let text = |address: &Value| address.as_str().unwrap_or_default().to_owned();
    let check = |address: &Value, path: &str| wrong_interface_address(&text(address), path);
    wrong.extend(wrong_set(data.list("ips"), MOST_ADDRESSES, &format!("{path}.ips"), check, text));
    wrong
}

/// An address with the length of its network's prefix. In Kubernetes: `IsValidInterfaceAddress`.
fn wrong_interface_address(value: &str, path: &str) -> Wrong {
    let Some(canonical) = canonical(value) else {
        let what = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        return vec![FieldError::invalid(path, value, what)];
    };
    if canonical == value {
        return Wrong::new();
    }
    let what = format!("must be in canonical form ({})", go_quote(&canonical));
    vec![FieldError::invalid(path, value, what)]
}

fn canonical(value: &str) -> Option<String> {
    let (address, prefix) = value.split_once('/')?;
    let prefix = Some(prefix).filter(|prefix| prefix.bytes().all(|sign| sign.is_ascii_digit()))?;
    let mut prefix: u32 = prefix.parse().ok()?;
    // Zeros before a number are read, and refused for not being canonical.
    let unpadded = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        digits => digits.to_owned(),
    };
    let address: IpAddr = if address.contains(':') {
        address.parse().ok()?
    } else {
        address.split('.').map(unpadded).collect::<Vec<_>>().join(".").parse().ok()?
    };
    if prefix > if address.is_ipv4() { 32 } else { 128 } {
        return None;
    }
    if address.is_ipv6() && address.to_canonical().is_ipv4() && prefix > 32 {
        prefix = prefix.saturating_sub(96);
    }
    Some(format!("{}/{prefix}", address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_of_interfaces_are_written_in_one_way() {
        let data = json!({"interfaceName": "x".repeat(257), "ips": ["10.9.8.0/24", "2001:db8::1/64", "300.9.8.0/24",
            "010.9.8.0/24", "2001:0db8::1/64", "10.9.8.0/24"]});
        let said: Vec<String> = wrong_network(&data, "n").iter().map(FieldError::message).collect();
        let form = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        assert_eq!(
            said,
            [
                "n.interfaceName: Too long: may not be more than 256 bytes".to_owned(),
                format!("n.ips[2]: Invalid value: \"300.9.8.0/24\": {form}"),
                "n.ips[3]: Invalid value: \"010.9.8.0/24\": must be in canonical form (\"10.9.8.0/24\")".to_owned(),
                "n.ips[4]: Invalid value: \"2001:0db8::1/64\": must be in canonical form (\"2001:db8::1/64\")"
                    .to_owned(),
                "n.ips[5]: Duplicate value: \"10.9.8.0/24\"".to_owned(),
            ]
        );
    }
}
