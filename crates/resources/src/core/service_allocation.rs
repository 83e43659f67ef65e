//! What a service gets from the cluster: addresses out of the service range, and node ports.
//!
//! An address is taken by an `IPAddress` object of its name, so that several API servers on one store never hand out
//! the same one. A node port is taken by being written in a service; between choosing and writing it is kept here.
//! In Kubernetes: `pkg/registry/core/service/storage/alloc.go`, `ipallocator`, `portallocator`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{DeleteOptions, GetOptions, Hooks, ListOptions, Registry, Request, Reservation, User, Verb};
use serde_json::json;

use crate::cidr::{Cidr, family};

/// The ranges that services draw from.
pub(crate) struct Allocator {
    ranges: Vec<Cidr>,
    node_ports: (u16, u16),
    /// Node ports that were chosen and are not yet written.
    chosen: Mutex<BTreeSet<i64>>,
}

/// Allocation for services.
pub(crate) struct ServiceHooks {
    allocator: Arc<Allocator>,
}

/// What a write has taken, and what it gives back if it happens.
struct Taken {
    allocator: Arc<Allocator>,
    registry: Registry,
    request: Request,
    addresses: Vec<String>,
    freed: Vec<String>,
    ports: Vec<i64>,
}

/// Whether a service has an address of the cluster.
pub(super) fn needs_cluster_ip(service: &Object) -> bool {
    service.text("spec.type") != "ExternalName"
}

/// Whether its ports get node ports.
pub(super) fn needs_node_ports(service: &Object) -> bool {
    match service.text("spec.type") {
        "NodePort" => true,
        "LoadBalancer" => service.at("spec.allocateLoadBalancerNodePorts").as_bool().unwrap_or(true),
        _ => false,
    }
}

/// Whether load balancers ask each node how it is.
pub(super) fn needs_health_check_port(service: &Object) -> bool {
    service.text("spec.type") == "LoadBalancer" && service.text("spec.externalTrafficPolicy") == "Local"
}

impl ServiceHooks {
    /// Hands out of these ranges, the first of which is the default; node ports from the first to the last, included.
    pub(crate) fn new(ranges: Vec<Cidr>, node_ports: (u16, u16)) -> Self {
        Self { allocator: Arc::new(Allocator { ranges, node_ports, chosen: Mutex::default() }) }
    }

    fn begin(&self, registry: &Registry, request: &Request) -> Taken {
        Taken {
            allocator: Arc::clone(&self.allocator),
            registry: registry.clone(),
            // Addresses and services are the server's own, whoever writes the service.
            request: Request { user: Arc::new(User::system()), ..request.clone() },
            addresses: Vec::new(),
            freed: Vec::new(),
            ports: Vec::new(),
        }
    }
}

#[async_trait]
impl Hooks for ServiceHooks {
    async fn begin_create(
        &self,
        registry: &Registry,
        request: &Request,
        object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        align_cluster_ips(object, None);
        refuse_wrong_ips(object)?;
        let mut taken = self.begin(registry, request);
        finish(allocate(&mut taken, object, None).await, taken).await
    }

    async fn begin_update(
        &self,
        registry: &Registry,
        request: &Request,
        new: &mut Object,
        old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        keep_allocated(new, old);
        align_cluster_ips(new, Some(old));
        refuse_wrong_ips(new)?;
        let mut taken = self.begin(registry, request);
        finish(allocate(&mut taken, new, Some(old)).await, taken).await
    }

    async fn after(
        &self,
        registry: &Registry,
        request: &Request,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        let (None, Some(old)) = (new, old) else { return Ok(()) };
        let taken = self.begin(registry, request);
        for address in addresses_of(old) {
            taken.free(&address).await;
        }
        // The endpoints of a service go with it.
        let endpoints = GroupVersionResource::new("", "v1", "endpoints");
        let about = taken.request.about(Verb::Delete, endpoints, old.namespace(), old.name());
        match registry.delete(&about, &DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(()),
        }
    }
}

async fn finish(result: Result<(), Status>, taken: Taken) -> Result<Option<Box<dyn Reservation>>, Status> {
    match result {
        Ok(()) => Ok(Some(Box::new(taken))),
        Err(status) => {
            Box::new(taken).release().await;
            Err(status)
        }
    }
}

#[async_trait]
impl Reservation for Taken {
    async fn commit(self: Box<Self>) {
        self.forget_ports();
        if !self.request.dry_run {
            for address in &self.freed {
                self.free(address).await;
            }
        }
    }

    async fn release(self: Box<Self>) {
        self.forget_ports();
        if !self.request.dry_run {
            for address in &self.addresses {
                self.free(address).await;
            }
        }
    }
}

async fn allocate(taken: &mut Taken, service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
    fill_families(&taken.allocator.ranges, service, old)?;
    taken.take_addresses(service, old).await?;
    taken.take_ports(service, old).await
}

impl Taken {
    fn forget_ports(&self) {
        let mut chosen = self.allocator.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        chosen.retain(|port| !self.ports.contains(port));
    }

    /// Gives an address back. That it is gone already is as well.
    async fn free(&self, address: &str) {
        let about = self.request.about(Verb::Delete, ip_addresses(), "", address);
        drop(self.registry.delete(&about, &DeleteOptions::default()).await);
    }

    async fn take_addresses(&mut self, service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
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
            invalid(service, FieldError::invalid("spec.clusterIPs", given, what))
        };
        let Ok(address) = wanted.parse::<IpAddr>() else {
            return Err(Status::internal(format!("failed to parse service IP {wanted:?}")));
        };
        if !self.allocator.ranges.iter().any(|range| range.contains(address)) {
            return Err(refuse("the provided network does not match the current range"));
        }
        if self.take(service, address).await? { Ok(()) } else { Err(refuse("provided IP is already allocated")) }
    }

    /// Takes a free address: the search begins at a place that follows from the service's name.
    async fn take_any(&mut self, service: &Object, family: &str) -> Result<String, Status> {
        let ranges = self.allocator.ranges.clone();
        let Some(range) = ranges.iter().find(|range| range.family() == family) else {
            return Err(Status::internal(format!("no service range for {family}")));
        };
        // The lower part is left to those who ask for an address by name, as in Kubernetes.
        let usable = range.size().saturating_sub(2).max(1);
        let lower = (usable / 16).clamp(16, 256).min(usable / 2);
        let upper = usable - lower;
        let start = u128::from(hash(&format!("{}/{}", service.namespace(), service.name()))) % upper;
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
        if self.request.dry_run {
            let about = self.request.about(Verb::Get, ip_addresses(), "", &name);
            return match self.registry.get(&about, &GetOptions::default()).await {
                Ok(_) => Ok(false),
                Err(status) if status.is_not_found() => Ok(true),
                Err(status) => Err(status),
            };
        }
        let mut about = self.request.about(Verb::Create, ip_addresses(), "", "");
        "kube-apiserver".clone_into(&mut about.field_manager);
        match self.registry.create(&about, ip_address(service, address)).await {
            Ok(_) => {
                self.addresses.push(name);
                Ok(true)
            }
            Err(status) if status.is_already_exists() => Ok(false),
            Err(status) => {
                let what = format!("failed to allocate IP: {}", status.message);
                let given = service.at("spec.clusterIPs").clone();
                let given = if given.is_null() { json!([""]) } else { given };
                Err(invalid(service, FieldError::invalid("spec.clusterIPs", given, what)))
            }
        }
    }

    async fn take_ports(&mut self, service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
        let may_have = matches!(service.text("spec.type"), "NodePort" | "LoadBalancer");
        let wants_check = needs_health_check_port(service);
        if !may_have && !wants_check {
            return Ok(());
        }
        let mut used = self.used_ports().await?;
        let held: BTreeSet<i64> = old.map(ports_of).unwrap_or_default().into_iter().collect();
        used.retain(|port| !held.contains(port));
        let mut own: BTreeSet<i64> = BTreeSet::new();
        let mut by_port: BTreeMap<i64, i64> = BTreeMap::new();
        let ports = service.list("spec.ports").to_vec();
        let mut chosen = Vec::new();
        for (at, port) in ports.iter().enumerate() {
            let (number, asked) = (port.int("port"), port.int("nodePort"));
            if !may_have || (asked == 0 && !needs_node_ports(service)) {
                chosen.push(asked);
                continue;
            }
            let requested = ports.iter().map(|other| (other.int("port"), other.int("nodePort")));
            let shared = by_port.get(&number).copied().filter(|_| old.is_none());
            let wanted = match (asked, shared) {
                (0, Some(shared)) => shared,
                (0, None) if old.is_none() => {
                    requested.clone().find(|(other, node)| *other == number && *node != 0).map_or(0, |(_, node)| node)
                }
                (asked, _) => asked,
            };
            let node_port = match wanted {
                0 => self.choose_port(service, &used, &own)?,
                wanted if held.contains(&wanted) || own.contains(&wanted) => wanted,
                wanted => self.claim_port(wanted, &used).map_err(|why| {
                    invalid(service, FieldError::invalid(format!("spec.ports[{at}].nodePort"), wanted, why))
                })?,
            };
            own.insert(node_port);
            by_port.insert(number, node_port);
            chosen.push(node_port);
        }
        let mut chosen = chosen.into_iter();
        edit_spec(service, |spec| {
            spec.each_in("ports", |port| {
                if let Some(node_port @ 1..) = chosen.next() {
                    port.insert("nodePort".to_owned(), node_port.into());
                }
            });
        });
        if wants_check {
            let asked = service.int("spec.healthCheckNodePort");
            let port = match asked {
                0 => self.choose_port(service, &used, &own)?,
                asked if held.contains(&asked) => asked,
                asked => self.claim_port(asked, &used).map_err(|why| {
                    Status::internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
                })?,
            };
            service.set("spec.healthCheckNodePort", port);
        }
        Ok(())
    }

    /// The node ports of all services.
    async fn used_ports(&self) -> Result<BTreeSet<i64>, Status> {
        let services = GroupVersionResource::new("", "v1", "services");
        let about = self.request.about(Verb::List, services, "", "");
        let all = self.registry.list(&about, &ListOptions::default()).await?;
        Ok(all.items.iter().flat_map(|stored| ports_of(&stored.object())).collect())
    }

    /// Keeps a port that was asked for.
    fn claim_port(&mut self, port: i64, used: &BTreeSet<i64>) -> Result<i64, String> {
        let (first, last) = self.allocator.node_ports;
        if !(i64::from(first)..=i64::from(last)).contains(&port) {
            return Err(format!("provided port is not in the valid range. The range of valid ports is {first}-{last}"));
        }
        let mut chosen = self.allocator.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if used.contains(&port) || !chosen.insert(port) {
            return Err("provided port is already allocated".to_owned());
        }
        self.ports.push(port);
        Ok(port)
    }

    /// Keeps a port that nobody has.
    fn choose_port(&mut self, service: &Object, used: &BTreeSet<i64>, own: &BTreeSet<i64>) -> Result<i64, Status> {
        let (first, last) = self.allocator.node_ports;
        let count = u64::from(last.saturating_sub(first)) + 1;
        let start = hash(&format!("{}/{}", service.namespace(), service.name())) % count;
        let mut chosen = self.allocator.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        for step in 0..count {
            let port = i64::from(first) + i64::try_from((start + step) % count).expect("a port fits");
            if !used.contains(&port) && !own.contains(&port) && chosen.insert(port) {
                self.ports.push(port);
                return Ok(port);
            }
        }
        Err(Status::internal("failed to allocate a nodePort: range is full"))
    }
}

fn ip_addresses() -> GroupVersionResource {
    GroupVersionResource::new("networking.k8s.io", "v1", "ipaddresses")
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

fn invalid(service: &Object, error: FieldError) -> Status {
    Status::invalid(&GroupVersionKind::new("", "v1", "Service"), service.name(), &[error])
}

/// FNV-1a: a start for the search that is the same in every run.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn is_headless(service: &Object) -> bool {
    service.list("spec.clusterIPs").first().is_some_and(|first| first == "None")
        || service.text("spec.clusterIP") == "None"
}

/// The addresses that a service holds.
fn addresses_of(service: &Object) -> Vec<String> {
    let addresses = service.texts("spec.clusterIPs");
    addresses.into_iter().filter(|address| !address.is_empty() && address != "None").collect()
}

/// The node ports that a service holds.
fn ports_of(service: &Object) -> Vec<i64> {
    let ports = service.list("spec.ports").iter().map(|port| port.int("nodePort"));
    ports.chain([service.int("spec.healthCheckNodePort")]).filter(|port| *port != 0).collect()
}

/// The single address is the first of the list. In Kubernetes: `normalizeClusterIPs`.
fn align_cluster_ips(new: &mut Object, old: Option<&Object>) {
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

/// What an update does not mention stays. In Kubernetes: `patchAllocatedValues`.
fn keep_allocated(new: &mut Object, old: &Object) {
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

/// Chooses the families of addresses, or says why what is asked for cannot be. In Kubernetes: `initIPFamilyFields`.
fn fill_families(ranges: &[Cidr], service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
    if !needs_cluster_ip(service) {
        return Ok(());
    }
    let is_free_headless = is_headless(service) && service.entries("spec.selector").count() == 0;
    let policy = fill_family_policy(service, old, is_free_headless);
    let is_single = policy == "SingleStack";
    let mut wrong = if is_single { keep_one_family(service, old) } else { Vec::new() };
    let (mut families, unconfigured) = families_of_addresses(ranges, service);
    wrong.extend(unconfigured);
    if !is_free_headless {
        wrong.extend(unserved_families(ranges, &policy, &families));
    }
    if !wrong.is_empty() {
        return Err(Status::invalid(&GroupVersionKind::new("", "v1", "Service"), service.name(), &wrong));
    }
    if families.is_empty() {
        families.push(ranges.first().map_or("IPv4", Cidr::family).to_owned());
    }
    if !is_single && families.len() == 1 && (is_free_headless || ranges.len() == 2) {
        families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.to_owned());
    }
    service.set("spec.ipFamilies", families);
    Ok(())
}

/// The policy of a service: what it says, what it said, or the default.
fn fill_family_policy(service: &mut Object, old: Option<&Object>, is_free_headless: bool) -> String {
    if !service.has("spec.ipFamilyPolicy") {
        let kept = old.map(|old| old.at("spec.ipFamilyPolicy").clone()).filter(|policy| !policy.is_null());
        let default = if is_free_headless { "RequireDualStack" } else { "SingleStack" };
        service.set("spec.ipFamilyPolicy", kept.unwrap_or_else(|| default.into()));
    }
    service.text("spec.ipFamilyPolicy").to_owned()
}

/// A service of one family gives up the second that it had, and may not ask for two.
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

/// The families that the service names, and those of its further addresses; what is wrong with those.
fn families_of_addresses(ranges: &[Cidr], service: &Object) -> (Vec<String>, Vec<FieldError>) {
    let mut wrong = Vec::new();
    let mut families = service.texts("spec.ipFamilies");
    for (at, address) in service.texts("spec.clusterIPs").iter().enumerate() {
        let Ok(parsed) = address.parse::<IpAddr>() else { continue };
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

/// What of its wishes this cluster cannot serve.
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

/// Addresses that are none cannot be taken.
fn refuse_wrong_ips(service: &Object) -> Result<(), Status> {
    let wrong = super::service_validation::wrong_cluster_ips(service);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupVersionKind::new("", "v1", "Service"), service.name(), &wrong))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

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

    #[test]
    fn an_update_that_does_not_mention_what_was_allocated_keeps_it() {
        let old = service(json!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"],
            "ports": [{"name": "a", "nodePort": 30001}]}));
        let mut new = service(json!({"type": "NodePort", "ports": [{"name": "a"}]}));
        keep_allocated(&mut new, &old);
        assert_eq!(new.at("spec.clusterIPs"), &json!(["10.0.0.9"]));
        assert_eq!(new.list("spec.ports")[0].int("nodePort"), 30001);
    }
}
