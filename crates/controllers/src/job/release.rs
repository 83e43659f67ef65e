//! Removes the finalizer of a Job's pods.

use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_client::Patch;
use coracle_controller_runtime::{Pass, ReconcileError, unless_gone};
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::RateLimiter;
use serde_json::json;

use super::pod::{FINALIZER, has_finalizer};

/// Removes the finalizer of a pod, if it has it; a deleted pod is not an error.
pub(super) async fn release(pass: &Pass, pod: &Pod) -> Result<(), ReconcileError> {
    if has_finalizer(pod) {
        let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}});
        unless_gone(pass.api::<Pod>().patch(&pod.key(), &Patch::Strategic(patch)).await)?;
    }
    Ok(())
}

/// The retry delays; slower than elsewhere. In Kubernetes: `DefaultJobApiBackOff`.
pub(super) fn retries() -> RateLimiter<ObjectKey> {
    RateLimiter::exponential(Duration::from_secs(1), Duration::from_secs(60))
}
