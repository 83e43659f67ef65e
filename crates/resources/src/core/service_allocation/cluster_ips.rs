//! The requested and the previous addresses of a Service.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{Object, Status};
use coracle_release::Release;
use serde_json::json;

use super::super::service_needs::{needs_cluster_ip, needs_health_check_port, needs_node_ports};
use super::super::service_validation::wrong_cluster_ips;
use super::invalid;

/// Aligns the single address with the first one of the list. In Kubernetes: `normalizeClusterIPs`.
pub(super) fn align_cluster_ips(new: &mut Object, old: Option<&Object>) {
    let single = new.text("spec.clusterIP").to_owned();
    let has_list = !new.list("spec.clusterIPs").is_empty();
    let Some(old) = old else {
        if !single.is_empty() && !has_list {
            new.set("spec.clusterIPs", json!([single]));
        }
        return;
    };
    let old_single = old.text("spec.clusterIP");
    let old_list = old.at("spec.clusterIPs").clone();
    if !old.list("spec.clusterIPs").is_empty() && !has_list && old_single == single {
        new.set("spec.clusterIPs", old_list.clone());
    }
    let same_list = new.at("spec.clusterIPs") == &old_list;
    if old_single != single && same_list {
        if single.is_empty() {
            new.remove("spec.clusterIPs");
        } else {
            new.set("spec.clusterIPs", json!([single]));
        }
    }
}

/// Keeps allocated values that an update does not set. In Kubernetes: `patchAllocatedValues`.
pub(super) fn patch_allocated(new: &mut Object, old: &Object) {
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        for (field, is_unset) in [
            ("clusterIP", new.text("spec.clusterIP").is_empty()),
            ("clusterIPs", new.list("spec.clusterIPs").is_empty()),
        ] {
            let kept = old.at("spec").at(field);
            if is_unset && !kept.is_null() {
                new.set(&["spec", field], kept.clone());
            }
        }
    }
    if needs_node_ports(old) && needs_node_ports(new) {
        let of = |service: &Object| -> BTreeSet<i64> {
            service.list("spec.ports").iter().map(|port| port.int("nodePort")).filter(|port| *port != 0).collect()
        };
        let used: BTreeSet<i64> = of(old).intersection(&of(new)).copied().collect();
        let by_name: BTreeMap<String, i64> =
            old.list("spec.ports").iter().map(|port| (port.text("name").to_owned(), port.int("nodePort"))).collect();
        edit_spec(new, |spec| {
            spec.each_in("ports", |port| {
                let kept = by_name.get(port.text("name")).copied().unwrap_or(0);
                if port.int("nodePort") == 0 && kept != 0 && !used.contains(&kept) {
                    port.insert("nodePort".to_owned(), kept.into());
                }
            });
        });
    }
    if needs_health_check_port(old) && needs_health_check_port(new) {
        let kept = old.at("spec.healthCheckNodePort").clone();
        if new.int("spec.healthCheckNodePort") == 0 && !kept.is_null() {
            new.set("spec.healthCheckNodePort", kept);
        }
    }
}

/// Refuses invalid addresses before allocation.
pub(super) fn refuse_wrong_ips(service: &Object, old: Option<&Object>, release: &Release) -> Result<(), Status> {
    let wrong = wrong_cluster_ips(service, old, release);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(invalid(service, &wrong))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn service(spec: Value) -> Object {
        Object::from_value(json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec})).unwrap()
    }

    #[test]
    fn an_update_that_does_not_mention_what_was_allocated_keeps_it() {
        let old = service(json!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"],
            "ports": [{"name": "a", "nodePort": 30001}]}));
        let mut new = service(json!({"type": "NodePort", "ports": [{"name": "a"}]}));
        patch_allocated(&mut new, &old);
        assert_eq!(new.at("spec.clusterIPs"), &json!(["10.0.0.9"]));
        assert_eq!(new.list("spec.ports")[0].int("nodePort"), 30001);
    }
}
