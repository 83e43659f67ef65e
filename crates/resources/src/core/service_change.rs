//! Validates a change of a Service. In Kubernetes: `ValidateServiceUpdate`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use super::service_needs::{is_headless, needs_health_check_port};
use crate::field_checks::{Quoting, Wrong};

const ADDRESSES: &str = "spec.clusterIPs";

/// The errors of a change.
pub(super) fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let mut wrong = wrong_address_change(new, old);
    wrong.extend(wrong_family_change(new, old));
    let is_balanced = |object: &Object| object.text("spec.type") == "LoadBalancer";
    let class = "spec.loadBalancerClass";
    if is_balanced(new) && is_balanced(old) && new.at(class) != old.at(class) {
        wrong.push(FieldError::invalid(class, new.at(class).clone(), "may not change once set"));
    }
    let check = "spec.healthCheckNodePort";
    if needs_health_check_port(new) && needs_health_check_port(old) && new.int(check) != old.int(check) {
        wrong.push(FieldError::forbidden(check, "field is immutable"));
    }
    wrong
}

fn is_external_name(object: &Object) -> bool {
    object.text("spec.type") == "ExternalName"
}

/// Families are immutable after they are set; only a second one can be added or removed.
/// In Kubernetes: `validateUpgradeDowngradeIPFamilies`.
fn wrong_family_change(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.ipFamilies";
    if is_external_name(new) || is_external_name(old) || is_headless(new) || is_headless(old) {
        return Wrong::new();
    }
    let first = format!("{PATH}[0]");
    let (new_families, old_families) = (new.list(PATH), old.list(PATH));
    if new_families.len() == old_families.len() {
        let mut errors = Quoting::new(new.at(PATH));
        let pairs = new_families.iter().zip(old_families).filter(|(new, old)| new != old);
        return pairs.filter_map(|_| errors.invalid(&first, "may not change once set")).collect();
    }
    let is_released = new_families.len() < old_families.len();
    let mut wrong = Wrong::new();
    if is_released && new.list(ADDRESSES).is_empty() {
        let what = "primary ipFamily can not be unset";
        wrong.push(FieldError::invalid(&first, new.at(PATH).clone(), what));
    }
    if let (Some(new), Some(old)) = (new_families.first(), old_families.first())
        && new != old
    {
        wrong.push(FieldError::invalid(&first, new.at(ADDRESSES).clone(), "may not change once set"));
    }
    let policy = new.text("spec.ipFamilyPolicy");
    if is_released && new_families.len() == 1 && policy != "SingleStack" {
        let what = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        wrong.push(FieldError::invalid("spec.ipFamilyPolicy", policy, what));
    }
    wrong
}

/// Addresses are immutable after they are set; only a second one can be added or removed.
/// In Kubernetes: `validateUpgradeDowngradeClusterIPs`.
fn wrong_address_change(new: &Object, old: &Object) -> Wrong {
    let is = |object: &Object, path: &str, value: &str| object.at("spec").text(path) == value;
    if is(new, "type", "ExternalName") || is(old, "type", "ExternalName") {
        return Wrong::new();
    }
    if is(new, "clusterIP", "None") && is(old, "clusterIP", "None") {
        return Wrong::new();
    }
    let (new_ips, old_ips) = (new.list(ADDRESSES), old.list(ADDRESSES));
    let first = format!("{ADDRESSES}[0]");
    if new_ips.len() == old_ips.len() {
        let mut errors = Quoting::new(new.at(ADDRESSES));
        let pairs = new_ips.iter().zip(old_ips).enumerate().filter(|(_, (new, old))| new != old);
        return pairs
            .filter_map(|(at, _)| errors.invalid(&format!("{ADDRESSES}[{at}]"), "may not change once set"))
            .collect();
    }
    let mut wrong = Wrong::new();
    match (new_ips.first(), old_ips.first()) {
        (None, Some(_)) => {
            wrong.push(FieldError::invalid(first, Value::Null, "primary clusterIP can not be unset"));
        }
        (Some(new), Some(old)) if new != old => {
            wrong.push(FieldError::invalid(first, new_ips, "may not change once set"));
        }
        _ => {}
    }
    let policy = new.text("spec.ipFamilyPolicy");
    if new_ips.len() < old_ips.len() && new_ips.len() == 1 && policy != "SingleStack" {
        let what = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        wrong.push(FieldError::invalid("spec.ipFamilyPolicy", policy, what));
    }
    wrong
}
