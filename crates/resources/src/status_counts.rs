//! Validates numbers and addresses in statuses.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_release::Release;
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, ip, not_negative};

/// Non-negative numbers of a status.
pub(crate) fn wrong_counts(object: &Object, counts: &[&str]) -> Wrong {
    let status = object.at("status");
    counts.iter().flat_map(|count| not_negative(status, count, "status")).collect()
}

/// A number of a status that must not exceed another one.
pub(crate) fn wrong_order(object: &Object, count: &str, limit: &str, what: &str) -> Option<FieldError> {
    let status = object.at("status");
    let value = status.int(count);
    (value > status.int(limit)).then(|| FieldError::invalid(format!("status.{count}"), value, what))
}

/// The collision count must not decrease. In Kubernetes: `IsDecremented`.
pub(crate) fn wrong_collisions(new: &Object, old: &Object) -> Option<FieldError> {
    const PATH: &str = "status.collisionCount";
    let before = old.int_if_set(PATH)?;
    let is_less = new.int_if_set(PATH).is_none_or(|now| now < before);
    is_less.then(|| FieldError::invalid(PATH, new.int(PATH), "cannot be decremented"))
}

/// The address of a load balancer; existing addresses are not validated.
/// In Kubernetes: `ValidateIngressLoadBalancerStatus`.
pub(crate) fn wrong_address(entry: &Value, before: &BTreeSet<&str>, path: &str, release: &Release) -> Wrong {
    let (address, host) = (entry.text("ip"), entry.text("hostname"));
    let mut wrong = Wrong::new();
    if !address.is_empty() && !before.contains(address) {
        wrong.extend(ip(address, &format!("{path}.ip"), release));
    }
    wrong.extend(wrong_host(host, &format!("{path}.hostname")));
    wrong
}

/// The host name of a load balancer, if it has one.
pub(crate) fn wrong_host(host: &str, path: &str) -> Wrong {
    if host.is_empty() {
        return Wrong::new();
    }
    let mut wrong = each_invalid(path, host, names::dns1123_subdomain(host));
    if host.parse::<std::net::IpAddr>().is_ok() {
        wrong.push(FieldError::invalid(path, host, "must be a DNS name, not an IP address"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn collisions_are_not_forgotten() {
        let object = |count: Value| Object::from_value(json!({"status": {"collisionCount": count}})).unwrap();
        assert_eq!(wrong_collisions(&object(json!(2)), &object(json!(1))), None);
        assert_eq!(wrong_collisions(&object(json!(0)), &object(json!(null))), None);
        let said = wrong_collisions(&object(json!(null)), &object(json!(1))).unwrap().message();
        assert_eq!(said, "status.collisionCount: Invalid value: 0: cannot be decremented");
    }

    #[test]
    fn an_existing_address_is_not_validated_again() {
        let said = |entry: Value, before: &[&str]| {
            wrong_address(&entry, &before.iter().copied().collect(), "i", &Release::default()).len()
        };
        assert_eq!(said(json!({"ip": "nowhere"}), &[]), 1);
        assert_eq!(said(json!({"ip": "nowhere"}), &["nowhere"]), 0);
        assert_eq!(said(json!({"hostname": "10.0.0.1"}), &[]), 1);
        assert_eq!(said(json!({"hostname": "A_B"}), &[]), 1);
    }
}
