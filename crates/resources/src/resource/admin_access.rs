//! Admin access to devices in use, which needs a label of the namespace, and the permissions to write a status.

use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersionResource, Object, Status};
use coracle_registry::{GetOptions, Hooks, Registry, Request, Reservation, User, Verb};
use serde_json::Value;

use super::{claim_status, status_permission};
use crate::field_checks::Wrong;
use crate::status_write;

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Refuses claims with admin access if the namespace does not permit it, and changes of the status by users without the
/// permission.
///
/// In Kubernetes: `AuthorizedForAdmin`, and the authorizations of `resourceclaimStatusStrategy.ValidateUpdate`.
/// Unlike Kubernetes: admin access of a new claim is the only reported error, because the check runs before validation.
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
            status_write::refuse(object, wrong_namespace(registry, request, object, path).await.as_slice())?;
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
        if !status_write::is_current(request, new, old) {
            return Ok(None);
        }
        let release = registry.release();
        let mut wanted = new.clone();
        claim_status::prepare(&mut wanted, old, release);
        let mut wrong = Wrong::new();
        if granted(old).is_none()
            && let Some(at) = granted(&wanted)
        {
            let path = format!("{RESULTS}[{at}].adminAccess");
            wrong.extend(wrong_namespace(registry, request, &wanted, path).await);
        }
        if release.enabled("DRAResourceClaimGranularStatusAuthorization") {
            wrong.extend(status_permission::wrong_user(registry, request, &wanted, old).await?);
        }
        if !wrong.is_empty() {
            wrong.extend(claim_status::wrong_status(&wanted, old, release));
        }
        status_write::refuse(new, &wrong)?;
        Ok(None)
    }
}

const RESULTS: &str = "status.allocation.devices.results";

fn granted(claim: &Object) -> Option<usize> {
    claim.list(RESULTS).iter().position(|result| result.flag("adminAccess"))
}

/// The error of a namespace that does not permit admin access.
async fn wrong_namespace(registry: &Registry, request: &Request, object: &Object, path: String) -> Option<FieldError> {
    let namespace = object.namespace();
    let about = request.about(Verb::Get, GroupVersionResource::new("", "v1", "namespaces"), "", namespace);
    let about = Request { user: Arc::new(User::system()), ..about };
    match registry.get(&about, &GetOptions::default()).await {
        Ok(stored) if stored.object().label(LABEL) == Some("true") => None,
        Ok(_) => {
            let what =
                format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
            Some(FieldError::forbidden(path, what))
        }
        Err(status) => {
            let why = status.message;
            Some(FieldError::internal(path, format!("could not retrieve namespace to verify admin access: {why}")))
        }
    }
}
