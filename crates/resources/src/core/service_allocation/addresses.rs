//! Allocates addresses from the service ranges.

use std::net::IpAddr;

use coracle_meta::fields::Fields;
use coracle_meta::{Cidr, FieldError, GroupVersionResource, Object, Status};
use coracle_registry::{ListOptions, Verb};
use serde_json::json;

use super::super::service_needs::{addresses_of, is_headless, needs_cluster_ip};
use super::taken::{Taken, ip_addresses};
use super::{hash, invalid};
use crate::addresses::{family, parse_ip};

impl Taken {
    pub(super) async fn take_addresses(&mut self, service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
        let held: Vec<String> = old.map(addresses_of).unwrap_or_default();
        if !needs_cluster_ip(service) || is_headless(service) {
            self.freed = if needs_cluster_ip(service) { Vec::new() } else { held };
            return Ok(());
        }
        let families = service.texts("spec.ipFamilies");
        let mut addresses = service.texts("spec.clusterIPs");
        addresses.resize(families.len().max(addresses.len()), String::new());
        for (at, family) in families.iter().enumerate() {
            if addresses[at].is_empty() {
                addresses[at] = self.take_any(service, family).await?;
            } else if !held.contains(&addresses[at]) {
                let wanted = addresses[at].clone();
                self.take_one(service, &wanted).await?;
            }
        }
        self.freed = held.into_iter().filter(|address| !addresses.contains(address)).collect();
        service.set("spec.clusterIP", addresses.first().cloned().unwrap_or_default());
        service.set("spec.clusterIPs", addresses);
        Ok(())
    }

    /// Allocates the requested address.
    async fn take_one(&mut self, service: &Object, wanted: &str) -> Result<(), Status> {
        let refuse = |why: &str| {
            let given = service.at("spec.clusterIPs").clone();
            let what = format!("failed to allocate IP {wanted}: {why}");
            invalid(service, &[FieldError::invalid("spec.clusterIPs", given, what)])
        };
        let Some(address) = parse_ip(wanted) else {
            return Err(Status::internal(format!("failed to parse service IP {wanted:?}")));
        };
        if self.request().dry_run {
            // In Kubernetes a dry run checks one range, and not whether the address is free.
            let range = self.ranges().iter().find(|range| range.family() == family(address));
            return match range {
                Some(range) if !range.has_host(address) => Err(refuse(&format!(
                    "the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}"
                ))),
                _ => Ok(()),
            };
        }
        if !self.ready_ranges().await?.iter().any(|range| range.has_host(address)) {
            return Err(refuse("the provided network does not match the current range"));
        }
        let is_taken = self.take(service, address).await?
            || (self.free_orphaned(&address.to_string()).await? && self.take(service, address).await?);
        if is_taken { Ok(()) } else { Err(refuse("provided IP is already allocated")) }
    }

    /// Allocates a free address; the search starts at an offset from the hash of the Service.
    async fn take_any(&mut self, service: &Object, family: &str) -> Result<String, Status> {
        if self.request().dry_run
            && let Some(range) = self.ranges().iter().find(|range| range.family() == family)
        {
            // In Kubernetes a dry run shows an address that no service gets.
            return Ok(range.address_at(0).to_string());
        }
        for range in self.ready_ranges().await?.into_iter().filter(|range| range.family() == family) {
            // The lower part is reserved for explicitly requested addresses, as in Kubernetes.
            let usable = range.size().saturating_sub(2).max(1);
            let lower = (usable / 16).clamp(16, 256).min(usable / 2);
            let upper = usable - lower;
            let start = u128::from(hash(service)) % upper;
            let upper_part = (0..upper).map(|step| lower + (start + step) % upper);
            for offset in upper_part.chain(0..lower) {
                let address = range.address_at(1 + offset);
                if self.take(service, address).await? {
                    return Ok(address.to_string());
                }
            }
        }
        Err(Status::internal("failed to allocate a serviceIP: range is full"))
    }

    /// The ranges for addresses: those of the configuration, and those of ServiceCIDRs that are ready and not
    /// terminating. In Kubernetes: `MetaAllocator`.
    async fn ready_ranges(&self) -> Result<Vec<Cidr>, Status> {
        let about = self.request().about(Verb::List, service_cidrs(), "", "");
        let all = match self.registry().list(&about, &ListOptions::default()).await {
            Ok(all) => all.items,
            // The kind may be disabled.
            Err(status) if status.is_not_found() => Vec::new(),
            Err(status) => return Err(status),
        };
        let mut ranges = self.ranges().to_vec();
        for stored in all {
            let object = stored.object();
            let blocks = object.texts("spec.cidrs").into_iter().filter_map(|text| Cidr::parse(&text).ok());
            for block in blocks.filter(|_| is_ready(&object)) {
                if !ranges.contains(&block) {
                    ranges.push(block);
                }
            }
        }
        Ok(ranges)
    }

    /// Allocates an address for the Service; returns false if it is not free.
    async fn take(&mut self, service: &Object, address: IpAddr) -> Result<bool, Status> {
        let name = address.to_string();
        let mut about = self.request().about(Verb::Create, ip_addresses(), "", "");
        "kube-apiserver".clone_into(&mut about.field_manager);
        // Recorded before the allocation: a request that is cancelled in between does not know whether it happened.
        self.addresses.push(name);
        match self.registry().create(&about, ip_address(service, address)).await {
            Ok(_) => Ok(true),
            Err(status) if status.is_already_exists() => {
                self.addresses.pop();
                Ok(false)
            }
            // The allocation may have succeeded all the same; the release checks it.
            Err(status) => {
                let what = format!("failed to allocate IP: {}", status.message);
                let given = service.at("spec.clusterIPs").clone();
                let given = if given.is_null() { json!([""]) } else { given };
                Err(invalid(service, &[FieldError::invalid("spec.clusterIPs", given, what)]))
            }
        }
    }
}

/// Whether a ServiceCIDR is ready. One without a condition is.
fn is_ready(range: &Object) -> bool {
    let conditions = range.list("status.conditions");
    let ready = conditions.iter().find(|condition| condition.text("type") == "Ready");
    !range.is_terminating() && ready.is_none_or(|condition| condition.text("status") == "True")
}

fn service_cidrs() -> GroupVersionResource {
    GroupVersionResource::new("networking.k8s.io", "v1", "servicecidrs")
}

/// The IPAddress object of a Service's address.
pub(super) fn ip_address(service: &Object, address: IpAddr) -> Object {
    let object = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": address.to_string(), "labels": {
            "ipaddress.kubernetes.io/ip-family": family(address),
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }},
        "spec": {"parentRef": {
            "group": "", "resource": "services", "namespace": service.namespace(), "name": service.name(),
        }},
    });
    Object::from_value(object).expect("the object is a JSON object")
}
