//! Expands the file system of a volume on the node.
//!
//! In Kubernetes: `NodeExpander` of `pkg/volume/util/operationexecutor`.

use coracle_api::core_v1::PersistentVolumeClaim;
use coracle_client::Api;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::{ObjectKey, Quantity};

const STORAGE: &str = "storage";
/// The condition types that are about expansion.
const OF_GROWTH: [&str; 4] = ["Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"];

/// Records that the node begins to expand; returns the claim, if it still exists.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn begin(pass: &Pass, key: &ObjectKey) -> Result<Option<PersistentVolumeClaim>, ReconcileError> {
    let Some(claim) = pass.api::<PersistentVolumeClaim>().find(key).await? else { return Ok(None) };
    let begins = |claim: &mut PersistentVolumeClaim| {
        claim.status.allocated_resource_statuses.insert(STORAGE.to_owned(), "NodeResizeInProgress".to_owned());
    };
    pass.update_status(&claim, begins).await
}

/// Records that the node has expanded; returns the claim, if it still exists.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn finish(
    pass: &Pass,
    key: &ObjectKey,
    size: Quantity,
) -> Result<Option<PersistentVolumeClaim>, ReconcileError> {
    let Some(claim) = Api::<PersistentVolumeClaim>::of(pass.client()).find(key).await? else { return Ok(None) };
    pass.update_status(&claim, |claim| finished(claim, size)).await
}

fn finished(claim: &mut PersistentVolumeClaim, size: Quantity) {
    let status = &mut claim.status;
    status.capacity.insert(STORAGE.to_owned(), size);
    status.allocated_resource_statuses.remove(STORAGE);
    status.conditions.retain(|condition| !OF_GROWTH.contains(&condition.type_.as_str()));
}
