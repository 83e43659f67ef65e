use async_trait::async_trait;
use coracle_meta::{Object, Status};

use crate::{Registry, Request};

/// The side effects of writes of a kind's objects, which may do I/O.
///
/// In Kubernetes: `BeginCreate`, `BeginUpdate` and the `After...` functions of `genericregistry.Store`.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// Reserves external values for the object (addresses, ports) and writes them into it. Called after mutating
    /// plug-ins, and before preparation and validation; a dry run must not consume anything.
    async fn begin_create(
        &self,
        _registry: &Registry,
        _request: &Request,
        _object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// The same for an update of the object or its status; `request.at.subresource` says which.
    async fn begin_update(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: &mut Object,
        _old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// Called after an object was created, updated through any path (`old` is set) or deleted (`new` is absent), except
    /// in a dry run: releases its reservations, installs what it defines.
    async fn after(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: Option<&Object>,
        _old: Option<&Object>,
    ) -> Result<(), Status> {
        Ok(())
    }
}

/// The hooks of most kinds: no side effects.
pub(crate) struct NoHooks;

impl Hooks for NoHooks {}

/// A reservation for a write that may still fail.
#[async_trait]
pub trait Reservation: Send {
    /// The write has succeeded.
    async fn commit(self: Box<Self>) {}

    /// The write has failed: releases the reservation.
    async fn release(self: Box<Self>) {}
}
