use async_trait::async_trait;
use coracle_meta::{Object, Status};

use crate::{Registry, Request};

/// The side effects of writes of a kind's objects, which may do I/O.
///
/// In Kubernetes: `BeginCreate`, `BeginUpdate` and the `After...` functions of `genericregistry.Store`.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// Reserves what the object needs from elsewhere (addresses, ports) and writes it into the object. Called after
    /// the plug-ins that change it, before it is prepared and validated; in a dry run nothing may be consumed.
    async fn begin_create(
        &self,
        _registry: &Registry,
        _request: &Request,
        _object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// The same for an update.
    async fn begin_update(
        &self,
        _registry: &Registry,
        _request: &Request,
        _new: &mut Object,
        _old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// Called when an object has been created, updated through any path (`old` is there) or deleted (`new` is absent),
    /// and it was no dry run: gives back what it held, installs what it defines.
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

/// Those of most kinds: nothing happens.
pub(crate) struct NoHooks;

impl Hooks for NoHooks {}

/// Something reserved for a write that may still fail.
#[async_trait]
pub trait Reservation: Send {
    /// The write has happened.
    async fn commit(self: Box<Self>) {}

    /// The write has not happened: give it back.
    async fn release(self: Box<Self>) {}
}
