//! Admin access to devices in use, which needs a label of the namespace.

use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersionResource, Object, Status};
use coracle_registry::{GetOptions, Hooks, Registry, Request, Reservation, User, Verb};
use serde_json::Value;

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Refuses claims with admin access if the namespace does not permit it.
///
/// In Kubernetes: `AuthorizedForAdmin`. Unlike Kubernetes: it is the only reported error, because the check runs before
/// validation.
pub(super) struct AdminAccess {
    /// The path of the requests of a claim.
    pub(super) requests: &'static str,
}

#[async_trait]
impl Hooks for AdminAccess {
    async fn begin_create(
        &self,
        registry: &Registry,
        request: &Request,
        object: &mut Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        let asks = |request: &Value| request.flag("exactly.adminAccess");
        if let Some(at) = object.list(self.requests).iter().position(asks) {
            let path = format!("spec.devices.requests[{at}].adminAccess");
            refuse(registry, request, object, path).await?;
        }
        Ok(None)
    }

    async fn begin_update(
        &self,
        registry: &Registry,
        request: &Request,
        new: &mut Object,
        old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        // The spec is immutable; allocations are written through the status.
        if request.at.subresource == "status"
            && granted(old).is_none()
            && let Some(at) = granted(new)
        {
            refuse(registry, request, new, format!("{RESULTS}[{at}].adminAccess")).await?;
        }
        Ok(None)
    }
}

const RESULTS: &str = "status.allocation.devices.results";

fn granted(claim: &Object) -> Option<usize> {
    claim.list(RESULTS).iter().position(|result| result.flag("adminAccess"))
}

async fn refuse(registry: &Registry, request: &Request, object: &Object, path: String) -> Result<(), Status> {
    let namespace = object.namespace();
    let about = request.about(Verb::Get, GroupVersionResource::new("", "v1", "namespaces"), "", namespace);
    let about = Request { user: Arc::new(User::system()), ..about };
    let error = match registry.get(&about, &GetOptions::default()).await {
        Ok(stored) if stored.object().label(LABEL) == Some("true") => return Ok(()),
        Ok(_) => {
            let what =
                format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
            FieldError::forbidden(path, what)
        }
        Err(status) => {
            let why = status.message;
            FieldError::internal(path, format!("could not retrieve namespace to verify admin access: {why}"))
        }
    };
    let kind = object.group_version_kind().unwrap_or_default();
    Err(Status::invalid(&kind, object.name(), &[error]))
}
