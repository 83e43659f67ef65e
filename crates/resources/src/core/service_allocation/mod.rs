//! Allocates addresses from the service ranges, and node ports, for Services.
//!
//! An `IPAddress` object reserves an address, so that several API servers on one store never allocate the same one. A
//! node port is reserved by the write of its Service; between allocation and write it is recorded here.
//! In Kubernetes: `pkg/registry/core/service/storage/alloc.go`, `ipallocator`, `portallocator`.

mod addresses;
mod allocator;
mod cluster_ips;
mod families;
mod node_ports;
mod taken;

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{Cidr, FieldError, GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{DeleteOptions, Hooks, Registry, Request, Reservation, Verb};

use self::allocator::Allocator;
use self::cluster_ips::{align_cluster_ips, patch_allocated, refuse_wrong_ips};
use self::families::fill_families;
use self::taken::Taken;
use super::service_needs::addresses_of;

/// Allocation for services.
pub(crate) struct ServiceHooks {
    allocator: Arc<Allocator>,
}

impl ServiceHooks {
    /// Allocates from these ranges, the first of which is the default, and from these node ports.
    pub(crate) fn new(ranges: Vec<Cidr>, node_ports: RangeInclusive<u16>) -> Self {
        Self { allocator: Arc::new(Allocator::new(ranges, node_ports)) }
    }

    /// Allocates what a Service needs and does not have.
    async fn allocate(
        &self,
        registry: &Registry,
        request: &Request,
        service: &mut Object,
        old: Option<&Object>,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        let mut taken = Box::new(Taken::new(&self.allocator, registry, request, service));
        taken.settle_abandoned().await;
        match allocate(&mut taken, service, old).await {
            Ok(()) => Ok(Some(taken)),
            Err(status) => {
                taken.release().await;
                Err(status)
            }
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
        refuse_wrong_ips(object, None, registry.release())?;
        self.allocate(registry, request, object, None).await
    }

    async fn begin_update(
        &self,
        registry: &Registry,
        request: &Request,
        new: &mut Object,
        old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        if request.at.subresource == "status" {
            return Ok(None);
        }
        patch_allocated(new, old);
        align_cluster_ips(new, Some(old));
        refuse_wrong_ips(new, Some(old), registry.release())?;
        self.allocate(registry, request, new, Some(old)).await
    }

    async fn after(
        &self,
        registry: &Registry,
        request: &Request,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        let (None, Some(old)) = (new, old) else { return Ok(()) };
        let mut taken = Box::new(Taken::new(&self.allocator, registry, request, old));
        taken.freed = addresses_of(old);
        let about = taken.request().about(Verb::Delete, endpoints(), old.namespace(), old.name());
        taken.commit().await;
        if registry.release().has("ServicesLeaveEndpoints") {
            return Ok(());
        }
        // The endpoints of a Service are deleted with it.
        match registry.delete(&about, &DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(()),
        }
    }
}

fn endpoints() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "endpoints")
}

async fn allocate(taken: &mut Taken, service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
    fill_families(taken.ranges(), service, old)?;
    taken.take_addresses(service, old).await?;
    taken.take_ports(service, old).await
}

fn invalid(service: &Object, errors: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new("", "v1", "Service"), service.name(), errors)
}

/// A start of the search that is the same in every run.
fn hash(service: &Object) -> u64 {
    coracle_ambient::stable_hash(&format!("{}/{}", service.namespace(), service.name()))
}
