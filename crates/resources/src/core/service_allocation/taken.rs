use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{DeleteOptions, GetOptions, Preconditions, Registry, Request, Reservation, User, Verb};

use super::super::service_needs::addresses_of;
use super::allocator::{Abandoned, Allocator};
use crate::addresses::parse_ip;
use crate::cidr::Cidr;

/// What a write has taken, and what it gives back if it happens.
///
/// Whoever drops it before either is said has been cut off, and does not know whether the service was written: what was
/// taken is looked after by a later write.
pub(super) struct Taken {
    allocator: Arc<Allocator>,
    registry: Registry,
    request: Request,
    name: String,
    pub(super) addresses: Vec<String>,
    pub(super) freed: Vec<String>,
    ports: Vec<i64>,
}

impl Taken {
    /// Nothing yet, for `service`.
    pub(super) fn new(allocator: &Arc<Allocator>, registry: &Registry, request: &Request, service: &Object) -> Self {
        Self {
            allocator: Arc::clone(allocator),
            registry: registry.clone(),
            // Addresses and services are the server's own, whoever writes the service.
            request: Request { user: Arc::new(User::system()), ..request.clone() },
            name: service.name().to_owned(),
            addresses: Vec::new(),
            freed: Vec::new(),
            ports: Vec::new(),
        }
    }

    /// The request, as the server's own.
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

    /// Takes a node port; false if another write has it.
    pub(super) fn take_port(&mut self, port: i64) -> bool {
        let is_free = self.allocator.take_port(port);
        self.ports.extend(is_free.then_some(port));
        is_free
    }

    fn give_back_ports(&mut self) {
        self.allocator.give_back_ports(&std::mem::take(&mut self.ports));
    }

    /// Gives an address back. That it is gone already is as well.
    pub(super) async fn free(&self, address: &str) {
        // An address in an older form has the object of its newer one.
        let name = parse_ip(address).map_or_else(|| address.to_owned(), |address| address.to_string());
        let about = self.request.about(Verb::Delete, ip_addresses(), "", &name);
        drop(self.registry.delete(&about, &DeleteOptions::default()).await);
    }

    /// Gives back what writes have left behind that were cut off.
    pub(super) async fn settle_abandoned(&self) {
        if self.request.dry_run {
            return;
        }
        for abandoned in self.allocator.abandoned(self.request.now) {
            // What cannot be given back is tried again with the next service.
            if self.free_unheld(&abandoned).await.is_ok() {
                self.allocator.settle(&abandoned);
            }
        }
    }

    /// Frees the addresses that were taken for a service which does not have them.
    async fn free_unheld(&self, abandoned: &Abandoned) -> Result<(), Status> {
        let Abandoned { namespace, name, addresses, .. } = abandoned;
        let service = self.get(GroupVersionResource::new("", "v1", "services"), namespace, name).await?;
        let held = service.as_deref().map(addresses_of).unwrap_or_default();
        for address in addresses.iter().filter(|address| !held.contains(address)) {
            let Some(taken) = self.get(ip_addresses(), "", address).await? else { continue };
            let parent = taken.at("spec.parentRef");
            if parent.text("namespace") != namespace || parent.text("name") != name {
                continue;
            }
            // Nobody else's, who may have taken it since.
            let preconditions = Preconditions { uid: Some(taken.uid().to_owned()), ..Preconditions::default() };
            let about = self.request.about(Verb::Delete, ip_addresses(), "", address);
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            match self.registry.delete(&about, &options).await {
                Err(status) if !status.is_not_found() && !status.is_conflict() => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }

    /// An object, as the server itself reads it; `None` if it is not there.
    pub(super) async fn get(
        &self,
        resource: GroupVersionResource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Status> {
        let about = self.request.about(Verb::Get, resource, namespace, name);
        match self.registry.get(&about, &GetOptions::default()).await {
            Ok(stored) => Ok(Some(stored.object())),
            Err(status) if status.is_not_found() => Ok(None),
            Err(status) => Err(status),
        }
    }
}

#[async_trait]
impl Reservation for Taken {
    async fn commit(mut self: Box<Self>) {
        self.give_back_ports();
        self.addresses.clear();
        while let Some(address) = self.freed.last() {
            self.free(address).await;
            self.freed.pop();
        }
    }

    async fn release(mut self: Box<Self>) {
        self.give_back_ports();
        self.freed.clear();
        while let Some(address) = self.addresses.last() {
            self.free(address).await;
            self.addresses.pop();
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.request.dry_run {
            return self.give_back_ports();
        }
        let mut addresses = std::mem::take(&mut self.addresses);
        addresses.append(&mut self.freed);
        let ports = std::mem::take(&mut self.ports);
        if !addresses.is_empty() || !ports.is_empty() {
            let (namespace, name) = (self.request.at.namespace.clone(), std::mem::take(&mut self.name));
            self.allocator.abandon(Abandoned { since: self.request.now, namespace, name, addresses, ports });
        }
    }
}

pub(super) fn ip_addresses() -> GroupVersionResource {
    GroupVersionResource::new("networking.k8s.io", "v1", "ipaddresses")
}
