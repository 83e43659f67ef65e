//! Addresses out of the service ranges.

use std::net::IpAddr;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, Status};
use coracle_registry::Verb;
use serde_json::json;

use super::super::service_needs::{addresses_of, is_headless, needs_cluster_ip};
use super::taken::{Taken, ip_addresses};
use super::{hash, invalid};
use crate::cidr::family;

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

    /// Takes the address that the service asks for.
    async fn take_one(&mut self, service: &Object, wanted: &str) -> Result<(), Status> {
        let refuse = |why: &str| {
            let given = service.at("spec.clusterIPs").clone();
            let what = format!("failed to allocate IP {wanted}: {why}");
            invalid(service, &[FieldError::invalid("spec.clusterIPs", given, what)])
        };
        let Ok(address) = wanted.parse::<IpAddr>() else {
            return Err(Status::internal(format!("failed to parse service IP {wanted:?}")));
        };
        if !self.ranges().iter().any(|range| range.contains(address)) {
            return Err(refuse("the provided network does not match the current range"));
        }
        if self.take(service, address).await? { Ok(()) } else { Err(refuse("provided IP is already allocated")) }
    }

    /// Takes a free address: the search begins at a place that follows from the service's name.
    async fn take_any(&mut self, service: &Object, family: &str) -> Result<String, Status> {
        let Some(range) = self.ranges().iter().find(|range| range.family() == family).cloned() else {
            return Err(Status::internal(format!("no service range for {family}")));
        };
        // The lower part is left to those who ask for an address by name, as in Kubernetes.
        let usable = range.size().saturating_sub(2).max(1);
        let lower = (usable / 16).clamp(16, 256).min(usable / 2);
        let upper = usable - lower;
        let start = u128::from(hash(service)) % upper;
        let upper_part = (0..upper).map(|step| lower + (start + step) % upper);
        for offset in upper_part.chain(0..lower) {
            let address = range.at(1 + offset);
            if self.take(service, address).await? {
                return Ok(address.to_string());
            }
        }
        Err(Status::internal("failed to allocate a serviceIP: range is full"))
    }

    /// Whether the address was free, and is now the service's.
    async fn take(&mut self, service: &Object, address: IpAddr) -> Result<bool, Status> {
        let name = address.to_string();
        if self.request().dry_run {
            return Ok(self.get(ip_addresses(), "", &name).await?.is_none());
        }
        let mut about = self.request().about(Verb::Create, ip_addresses(), "", "");
        "kube-apiserver".clone_into(&mut about.field_manager);
        // Noted before it is taken: whoever is cut off meanwhile cannot know whether it was.
        self.addresses.push(name);
        match self.registry().create(&about, ip_address(service, address)).await {
            Ok(_) => Ok(true),
            Err(status) if status.is_already_exists() => {
                self.addresses.pop();
                Ok(false)
            }
            Err(status) => {
                self.addresses.pop();
                let what = format!("failed to allocate IP: {}", status.message);
                let given = service.at("spec.clusterIPs").clone();
                let given = if given.is_null() { json!([""]) } else { given };
                Err(invalid(service, &[FieldError::invalid("spec.clusterIPs", given, what)]))
            }
        }
    }
}

fn ip_address(service: &Object, address: IpAddr) -> Object {
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
