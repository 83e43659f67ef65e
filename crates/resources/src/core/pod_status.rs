//! Validates a write of a pod's status. In Kubernetes: `ValidatePodStatusUpdate`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_release::Release;
use serde_json::{Value, json};

use super::container_statuses::wrong_container_statuses;
use crate::addresses::parse_ip;
use crate::field_checks::{Wrong, each_invalid, ip};
use crate::pod_spec::wrong_annotation_change;

const NOT_NEGATIVE: &str = "must be a non-negative integer";
const ANNOTATIONS: &str = "metadata.annotations";

/// The errors of a new status, given the old pod.
pub(super) fn wrong_status(new: &Object, old: &Object, release: &Release) -> Wrong {
    let status = new.at("status");
    let mut wrong = wrong_annotation_change(new.at(ANNOTATIONS), old.at(ANNOTATIONS), ANNOTATIONS);
    wrong.extend(wrong_conditions(status));
    wrong.extend(wrong_nominated_node(new, old));
    let seen = status.int("observedGeneration");
    if seen < 0 {
        wrong.push(FieldError::invalid("status.observedGeneration", seen, NOT_NEGATIVE));
    }
    if status.text("qosClass") != old.text("status.qosClass") {
        wrong.push(FieldError::invalid("status.qosClass", status.text("qosClass"), "field is immutable"));
    }
    let statuses = wrong_container_statuses(new, old, release);
    wrong.extend(statuses.transitions);
    wrong.extend(wrong_claims(status, new.at("spec"), release));
    wrong.extend(wrong_addresses(status, old.at("status"), "podIPs", release));
    let host = status.list("hostIPs").first().map_or("", |host| host.text("ip"));
    if !status.list("hostIPs").is_empty() && status.text("hostIP") != host {
        wrong.push(FieldError::invalid("status.hostIPs[0].ip", host, "must be equal to `hostIP`"));
    }
    wrong.extend(wrong_addresses(status, old.at("status"), "hostIPs", release));
    wrong.extend(statuses.users);
    wrong.extend(statuses.devices);
    wrong
}

fn wrong_conditions(status: &Value) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, condition) in status.list("conditions").iter().enumerate() {
        let path = |field: &str| format!("status.conditions[{at}].{field}");
        let (kind, seen) = (condition.text("type"), condition.int("observedGeneration"));
        if seen < 0 {
            wrong.push(FieldError::invalid(path("observedGeneration"), seen, NOT_NEGATIVE));
        }
        if !["PodScheduled", "Ready", "Initialized"].contains(&kind) {
            wrong.extend(each_invalid(&path("Type"), kind, names::qualified_name(kind)));
        }
    }
    wrong
}

fn wrong_nominated_node(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "status.nominatedNodeName";
    let nominated = new.text(PATH);
    if nominated.is_empty() || nominated == old.text(PATH) {
        return Wrong::new();
    }
    let mut wrong = each_invalid(PATH, nominated, names::dns1123_subdomain(nominated));
    if !old.text("spec.nodeName").is_empty() {
        wrong.push(FieldError::forbidden(PATH, "may not be set on pods that are already bound to a node"));
    }
    wrong
}

/// In Kubernetes: `validatePodResourceClaimStatuses`.
fn wrong_claims(status: &Value, spec: &Value, release: &Release) -> Wrong {
    let claims: BTreeSet<&str> = spec.list("resourceClaims").iter().map(|claim| claim.text("name")).collect();
    let mut seen = BTreeSet::new();
    let mut wrong = Wrong::new();
    for (at, claim) in status.list("resourceClaimStatuses").iter().enumerate() {
        let own = format!("status.resourceClaimStatuses[{at}]");
        let (path, name) = (format!("{own}.name"), claim.text("name"));
        if !claims.contains(name) {
            let what = "must match the name of an entry in `spec.resourceClaims`";
            wrong.push(FieldError::invalid(&path, name, what));
        }
        if !seen.insert(name) {
            wrong.push(FieldError::duplicate(&path, name));
        }
        if claim.has("resourceClaimName") {
            let object = claim.text("resourceClaimName");
            let names_claim = release.has("ClaimStatusesNameTheClaim");
            let path = if names_claim { format!("{own}.resourceClaimName") } else { path };
            wrong.extend(each_invalid(&path, object, names::dns1123_subdomain(object)));
        }
    }
    wrong
}

/// At most one address of each family; an existing address can stay.
/// In Kubernetes: `validatePodIPs`, `validateHostIPs`.
fn wrong_addresses(status: &Value, old: &Value, list: &str, release: &Release) -> Wrong {
    let path = format!("status.{list}");
    let addresses: Vec<&str> = status.list(list).iter().map(|address| address.text("ip")).collect();
    let known: BTreeSet<&str> = old.list(list).iter().map(|address| address.text("ip")).collect();
    let mut wrong = Wrong::new();
    for (at, address) in addresses.iter().enumerate() {
        if !known.contains(address) {
            wrong.extend(ip(address, &format!("{path}[{at}]"), release));
        }
    }
    if addresses.len() < 2 {
        return wrong;
    }
    let mut families = BTreeSet::new();
    for (at, address) in addresses.iter().enumerate() {
        match parse_ip(address) {
            Some(IpAddr::V4(_)) => families.insert(4),
            Some(IpAddr::V6(_)) => families.insert(6),
            None => {
                let what = format!("failed to check for dual stack with error:invalid IP[{at}]: {address}");
                wrong.push(FieldError::internal(&path, what));
                break;
            }
        };
    }
    if families.len() < 2 || addresses.len() > 2 {
        let printed: Vec<Value> = addresses.iter().map(|address| json!({"IP": address})).collect();
        let what = "may specify no more than one IP for each IP family";
        wrong.push(FieldError::invalid(&path, printed, what));
    }
    wrong
}
