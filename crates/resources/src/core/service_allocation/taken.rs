use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{Cidr, GroupVersionResource, Object, Status, parse_time};
use coracle_registry::{Claim, DeleteOptions, GetOptions, Preconditions, Registry, Request, Reservation, User, Verb};

use super::super::service_needs::addresses_of;
use super::allocator::{Abandoned, Allocator, GRACE};
use crate::addresses::parse_ip;

/// The addresses and ports that a write has allocated, and those that it releases if it succeeds.
///
/// A drop without commit or release means that the request was cancelled, and it is unknown whether the Service was
/// written. A later write then checks the allocations.
pub(super) struct Taken {
    allocator: Arc<Allocator>,
    registry: Registry,
    request: Request,
    name: String,
    pub(super) addresses: Vec<String>,
    pub(super) freed: Vec<String>,
    ports: Vec<i64>,
    /// The claims of ports in the store, if other API servers write to it. A claim that is not released expires.
    claims: Vec<Claim>,
}

impl Taken {
    /// No allocations for `service` yet.
    pub(super) fn new(allocator: &Arc<Allocator>, registry: &Registry, request: &Request, service: &Object) -> Self {
        Self {
            allocator: Arc::clone(allocator),
            registry: registry.clone(),
            // Addresses belong to the API server itself, independently of the user that writes the Service.
            request: Request { user: Arc::new(User::system()), ..request.clone() },
            name: service.name().to_owned(),
            addresses: Vec::new(),
            freed: Vec::new(),
            ports: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// The request of the API server itself.
    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) fn ranges(&self) -> &[Cidr] {
        &self.allocator.ranges
    }

    /// The first node port and the last.
    pub(super) fn port_range(&self) -> (i64, i64) {
        self.allocator.node_ports
    }

    /// Allocates a node port; returns false if another write has it. If other API servers write to the same store, the
    /// port is claimed in the store. After a claim the caller lists the Services again, because another API server may
    /// have written the port before it released its claim.
    pub(super) async fn take_port(&mut self, port: i64) -> Result<bool, Status> {
        if !self.allocator.take_port(port) {
            return Ok(false);
        }
        self.ports.push(port);
        if self.request.dry_run || !self.registry.is_store_shared() {
            return Ok(true);
        }
        let claim = self.registry.claim(&format!("ranges/servicenodeports/{port}"), self.request.now).await?;
        let is_claimed = claim.is_some();
        self.claims.extend(claim);
        Ok(is_claimed)
    }

    /// Whether a port is claimed in the store.
    pub(super) fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    async fn give_back_ports(&mut self) {
        self.forget_ports();
        while let Some(claim) = self.claims.pop() {
            self.registry.unclaim(&claim).await;
        }
    }

    fn forget_ports(&mut self) {
        self.allocator.give_back_ports(&std::mem::take(&mut self.ports));
    }

    /// The allocations and releases of this write.
    fn left(&self) -> Abandoned {
        let addresses = self.addresses.iter().chain(&self.freed).cloned().collect();
        let (namespace, name) = (self.request.at.namespace.clone(), self.name.clone());
        Abandoned { since: self.request.now, namespace, name, addresses, ports: self.ports.clone() }
    }

    /// Releases the addresses that the Service does not have. If that fails, a later write releases them: a store that
    /// does not respond may still have written the Service.
    async fn give_back_addresses(&mut self) {
        let left = self.left();
        if !left.addresses.is_empty() && self.free_unheld(&left).await.is_ok() {
            self.addresses.clear();
            self.freed.clear();
        }
    }

    /// Releases an address that a killed API server has left behind: no Service has it, and it is too old for a pending
    /// write. Returns whether it is free.
    pub(super) async fn free_orphaned(&self, address: &str) -> Result<bool, Status> {
        let Some(claim) = self.get(ip_addresses(), "", address).await? else { return Ok(true) };
        let made = parse_time(claim.text("metadata.creationTimestamp"));
        if made.is_none_or(|made| self.request.now.duration_since(made) < GRACE) {
            return Ok(false);
        }
        let parent = claim.at("spec.parentRef");
        if parent.text("resource") != "services" || !parent.text("group").is_empty() {
            return Ok(false);
        }
        let (namespace, name) = (parent.text("namespace").to_owned(), parent.text("name").to_owned());
        let addresses = vec![address.to_owned()];
        self.free_unheld(&Abandoned { since: self.request.now, namespace, name, addresses, ports: Vec::new() }).await?;
        Ok(self.get(ip_addresses(), "", address).await?.is_none())
    }

    /// Releases the allocations of cancelled writes.
    pub(super) async fn settle_abandoned(&self) {
        if self.request.dry_run {
            return;
        }
        for abandoned in self.allocator.abandoned(self.request.now) {
            // A failed release is retried with the next Service.
            if self.free_unheld(&abandoned).await.is_ok() {
                self.allocator.settle(&abandoned);
            }
        }
    }

    /// Releases the addresses that were allocated for a Service that does not have them.
    async fn free_unheld(&self, abandoned: &Abandoned) -> Result<(), Status> {
        let Abandoned { namespace, name, addresses, .. } = abandoned;
        let service = self.get(GroupVersionResource::new("", "v1", "services"), namespace, name).await?;
        // An address in an older form has the IPAddress object of its canonical form.
        let canonical =
            |address: &String| parse_ip(address).map_or_else(|| address.clone(), |address| address.to_string());
        let held: Vec<String> =
            service.as_deref().map(addresses_of).unwrap_or_default().iter().map(canonical).collect();
        for address in addresses.iter().map(canonical).filter(|address| !held.contains(address)) {
            let Some(taken) = self.get(ip_addresses(), "", &address).await? else { continue };
            let parent = taken.at("spec.parentRef");
            if parent.text("namespace") != namespace || parent.text("name") != name {
                continue;
            }
            // Only this allocation: another Service may have got the address in the meantime.
            let preconditions = Preconditions { uid: Some(taken.uid().to_owned()), ..Preconditions::default() };
            let about = self.request.about(Verb::Delete, ip_addresses(), "", &address);
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            match self.registry.delete(&about, &options).await {
                Err(status) if !status.is_not_found() && !status.is_conflict() => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads an object as the API server; `None` if it does not exist.
    pub(super) async fn get(
        &self,
        resource: GroupVersionResource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Status> {
        let about = self.request.about(Verb::Get, resource, namespace, name);
        let found = self.registry.find(&about, &GetOptions::default()).await?;
        Ok(found.map(|stored| stored.object()))
    }
}

#[async_trait]
impl Reservation for Taken {
    async fn commit(mut self: Box<Self>) {
        self.give_back_ports().await;
        self.addresses.clear();
        self.give_back_addresses().await;
    }

    async fn release(mut self: Box<Self>) {
        self.give_back_ports().await;
        self.freed.clear();
        self.give_back_addresses().await;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.request.dry_run {
            return self.forget_ports();
        }
        let left = self.left();
        if !left.addresses.is_empty() || !left.ports.is_empty() {
            self.allocator.abandon(left);
        }
    }
}

pub(super) fn ip_addresses() -> GroupVersionResource {
    GroupVersionResource::new("networking.k8s.io", "v1", "ipaddresses")
}
