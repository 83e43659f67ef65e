//! A file system that is made as large as its volume has become.
//!
//! In Kubernetes: `NodeExpander` of `pkg/volume/util/operationexecutor`.

use coracle_api::core_v1::PersistentVolumeClaim;
use coracle_client::Api;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::{ObjectKey, Quantity};

const STORAGE: &str = "storage";
/// The conditions that speak of growth.
const OF_GROWTH: [&str; 4] = ["Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"];

/// Says that the node is about to; the claim, if it is still there.
///
/// # Errors
/// What the API server answers.
pub(super) async fn begin(pass: &Pass, key: &ObjectKey) -> Result<Option<PersistentVolumeClaim>, ReconcileError> {
    let Some(claim) = pass.api::<PersistentVolumeClaim>().find(key).await? else { return Ok(None) };
    let begins = |claim: &mut PersistentVolumeClaim| {
        claim.status.allocated_resource_statuses.insert(STORAGE.to_owned(), "NodeResizeInProgress".to_owned());
    };
    pass.update_status(&claim, begins).await
}

/// Says that it has; the claim, if it is still there.
///
/// # Errors
/// What the API server answers.
pub(super) async fn finish(
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
