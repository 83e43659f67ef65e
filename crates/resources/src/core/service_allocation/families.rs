//! The IP families of a Service.

use coracle_meta::fields::Fields;
use coracle_meta::{Cidr, FieldError, Object, Status};

use super::super::service_needs::{is_headless, needs_cluster_ip};
use super::invalid;
use crate::addresses::{family, parse_ip};

/// Chooses the IP families, or returns why the request cannot be satisfied. In Kubernetes: `initIPFamilyFields`.
pub(super) fn fill_families(ranges: &[Cidr], service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
    if !needs_cluster_ip(service) || old.is_some_and(|old| keeps_two_families(service, old)) {
        return Ok(());
    }
    let is_free_headless = is_headless(service) && service.entries("spec.selector").count() == 0;
    let policy = fill_family_policy(service, old, is_free_headless);
    let is_single = policy == "SingleStack";
    let mut wrong = match (is_single, old) {
        (true, old) => keep_one_family(service, old),
        (false, Some(old)) => reduced(service, old, &policy),
        (false, None) => Vec::new(),
    };
    let (mut families, unconfigured) = families_of_addresses(ranges, service);
    wrong.extend(unconfigured);
    if wrong.is_empty() && !is_free_headless {
        wrong = unserved_families(ranges, &policy, &families);
    }
    if !wrong.is_empty() {
        return Err(invalid(service, &wrong));
    }
    if families.is_empty() {
        families.push(ranges.first().map_or("IPv4", |range| range.family()).to_owned());
    }
    if !is_single && families.len() == 1 && (is_free_headless || ranges.len() == 2) {
        families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.to_owned());
    }
    service.set("spec.ipFamilies", families);
    Ok(())
}

/// Whether a Service still prefers two families and does not change its families and addresses.
/// In Kubernetes: `isMatchingPreferDualStackClusterIPFields`.
fn keeps_two_families(service: &Object, old: &Object) -> bool {
    let same = |field: &str| service.at("spec").at(field) == old.at("spec").at(field);
    let fields = ["type", "ipFamilyPolicy", "clusterIPs", "ipFamilies"];
    service.text("spec.ipFamilyPolicy") == "PreferDualStack" && fields.into_iter().all(same)
}

/// Only a single-stack Service can release a second address or family.
fn reduced(service: &Object, old: &Object, policy: &str) -> Vec<FieldError> {
    let is_reduced = |field: &str| {
        let (new, old) = (service.at("spec").list(field), old.at("spec").list(field));
        !new.is_empty() && new.len() < old.len()
    };
    let fields = [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")];
    let reduced = fields.into_iter().filter(|(field, _)| is_reduced(field));
    let refuse = |(_, what)| {
        let what = format!("must be 'SingleStack' to release the secondary {what}");
        FieldError::invalid("spec.ipFamilyPolicy", policy, what)
    };
    reduced.map(refuse).collect()
}

/// The policy of a Service: its own, the previous one, or the default.
fn fill_family_policy(service: &mut Object, old: Option<&Object>, is_free_headless: bool) -> String {
    if !service.has("spec.ipFamilyPolicy") {
        let kept = old.map(|old| old.at("spec.ipFamilyPolicy").clone()).filter(|policy| !policy.is_null());
        let default = if is_free_headless { "RequireDualStack" } else { "SingleStack" };
        service.set("spec.ipFamilyPolicy", kept.unwrap_or_else(|| default.into()));
    }
    service.text("spec.ipFamilyPolicy").to_owned()
}

/// A single-stack Service releases its second family, and must not request two.
fn keep_one_family(service: &mut Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if let Some(old) = old {
            let list = service.at("spec").list(field);
            if list.len() > 1 && list == old.at("spec").list(field) {
                let first = list[..1].to_vec();
                service.set(&["spec", field], first);
            }
        }
        if service.at("spec").list(field).len() == 2 {
            wrong.push(FieldError::invalid(
                "spec.ipFamilyPolicy",
                "SingleStack",
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"),
            ));
        }
    }
    wrong
}

fn is_configured(ranges: &[Cidr], family: &str) -> bool {
    ranges.iter().any(|range| range.family() == family)
}

/// The families of the Service, with those of its further addresses, and their errors.
fn families_of_addresses(ranges: &[Cidr], service: &Object) -> (Vec<String>, Vec<FieldError>) {
    let mut wrong = Vec::new();
    let mut families = service.texts("spec.ipFamilies");
    for (at, address) in service.texts("spec.clusterIPs").iter().enumerate() {
        let Some(parsed) = parse_ip(address) else { continue };
        if at >= families.len() {
            if is_configured(ranges, family(parsed)) {
                families.push(family(parsed).to_owned());
            } else {
                let given = service.at("spec.clusterIPs").clone();
                let what = format!("{} is not configured on this cluster", family(parsed));
                wrong.push(FieldError::invalid(format!("spec.clusterIPs[{at}]"), given, what));
            }
        }
    }
    (families, wrong)
}

/// The requested families that this cluster does not support.
fn unserved_families(ranges: &[Cidr], policy: &str, families: &[String]) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if policy == "RequireDualStack" && ranges.len() < 2 {
        let what = "this cluster is not configured for dual-stack services";
        wrong.push(FieldError::invalid("spec.ipFamilyPolicy", policy, what));
    }
    for (at, family) in families.iter().enumerate().filter(|(_, family)| !is_configured(ranges, family)) {
        let path = format!("spec.ipFamilies[{at}]");
        wrong.push(FieldError::invalid(path, family.as_str(), "not configured on this cluster"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(spec: Value) -> Object {
        Object::from_value(json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec})).unwrap()
    }

    fn ranges() -> Vec<Cidr> {
        vec![Cidr::parse("10.0.0.0/16").unwrap()]
    }

    #[test]
    fn a_service_gets_the_family_of_the_range() {
        let mut service = service(json!({"type": "ClusterIP"}));
        fill_families(&ranges(), &mut service, None).unwrap();
        assert_eq!(service.at("spec.ipFamilies"), &json!(["IPv4"]));
        assert_eq!(service.text("spec.ipFamilyPolicy"), "SingleStack");
    }

    #[test]
    fn two_families_cannot_be_required_where_there_is_one() {
        let mut service = service(json!({"type": "ClusterIP", "ipFamilyPolicy": "RequireDualStack"}));
        let status = fill_families(&ranges(), &mut service, None).unwrap_err();
        assert!(status.message.contains("not configured for dual-stack"), "{}", status.message);
    }
}
