use std::future::Future;

use coracle_api::core_v1::Pod;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::{ObjectMeta, Resource};

/// Whether the finalizer is missing or may have to be removed; other changes of the object do not matter.
pub(crate) fn is_concerned(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().any(|one| one == finalizer) == meta.is_terminating()
}

/// Adds the finalizer to an object, and removes it from a deleted object that is not in use.
pub(crate) async fn protect<K: Resource>(
    pass: &Pass,
    object: &K,
    finalizer: &str,
    is_used: impl Future<Output = Result<bool, ReconcileError>> + Send,
) -> Result<(), ReconcileError> {
    if !is_concerned(object.meta(), finalizer) {
        pass.decided(|| "it is protected, or is going and held by others: nothing to do");
        return Ok(());
    }
    let mut changed = object.clone();
    if !object.meta().is_terminating() {
        pass.decided(|| "it is not protected: protect it");
        changed.meta_mut().finalizers.push(finalizer.to_owned());
    } else if is_used.await? {
        pass.decided(|| "it is to go and is used: keep it");
        return Ok(());
    } else {
        pass.decided(|| "it is to go and is not used: let it go");
        changed.meta_mut().finalizers.retain(|one| one != finalizer);
    }
    pass.api().update(&changed).await?;
    Ok(())
}

/// Whether the kubelet is done with a deleted pod that only finalizers hold, or the pod was force-deleted.
pub(crate) fn is_shut_down(pod: &Pod) -> bool {
    pod.is_terminating() && pod.metadata.deletion_grace_period_seconds == Some(0)
}
