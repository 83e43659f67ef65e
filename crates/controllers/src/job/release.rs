//! Letting go of pods.

use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_client::Patch;
use coracle_controller_runtime::{Pass, ReconcileError, unless_gone};
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::RateLimiter;
use serde_json::json;

use super::pod::{FINALIZER, has_finalizer};

/// Takes the finalizer off a pod, if it has it; one that is gone has none.
pub(super) async fn release(pass: &Pass, pod: &Pod) -> Result<(), ReconcileError> {
    if has_finalizer(pod) {
        let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}});
        unless_gone(pass.api::<Pod>().patch(&pod.key(), &Patch::Strategic(patch)).await)?;
    }
    Ok(())
}

/// How soon what failed is tried again; slower than elsewhere. In Kubernetes: `DefaultJobApiBackOff`.
pub(super) fn retries() -> RateLimiter<ObjectKey> {
    RateLimiter::exponential(Duration::from_secs(1), Duration::from_secs(60))
}
