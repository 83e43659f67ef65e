//! Computes the next operations from the desired and the actual state.
//!
//! In Kubernetes: `pkg/kubelet/volumemanager/reconciler`.

use std::sync::Arc;

use crate::world::actual_state::{ActualStateOfWorld, Mount};
use crate::world::desired_state::DesiredStateOfWorld;
use crate::world::spec::{PodUid, UniqueName, VolumeSpec};

/// The operations on a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VolumeOperation {
    /// Check that its driver has attached it.
    VerifyControllerAttachedVolume,
    /// Mount it on the node for all pods.
    MountDevice,
    /// Mount it for a pod.
    MountVolume,
    /// Expand its file system, which is smaller than the volume.
    ExpandVolume,
    /// Unmount it for a pod.
    UnmountVolume,
    /// Unmount it from the node.
    UnmountDevice,
    /// Forget it.
    MarkVolumeAsDetached,
}

impl VolumeOperation {
    /// The name in the event log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::VerifyControllerAttachedVolume => "VerifyControllerAttachedVolume",
            Self::MountDevice => "MountDevice",
            Self::MountVolume => "MountVolume",
            Self::ExpandVolume => "ExpandVolume",
            Self::UnmountVolume => "UnmountVolume",
            Self::UnmountDevice => "UnmountDevice",
            Self::MarkVolumeAsDetached => "MarkVolumeAsDetached",
        }
    }
}

/// One operation on one volume.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) operation: VolumeOperation,
    pub(crate) spec: Arc<VolumeSpec>,
    /// The pod of the operation; none if it is for all pods.
    pub(crate) pod: Option<PodUid>,
}

/// The next operations, at most one per volume. First unmounts what a pod does not need any more, then mounts what it
/// needs, then cleans up what no pod needs.
pub(crate) fn reconcile(desired: &DesiredStateOfWorld, actual: &ActualStateOfWorld, pods: &[PodUid]) -> Vec<Work> {
    let mut works = Vec::new();
    for pod in pods {
        let unwanted = actual.of_pod(pod).filter(|name| !desired.is_wanted_by(name, pod));
        let volumes = unwanted.filter_map(|name| actual.volume(name));
        works.extend(volumes.map(|volume| work(VolumeOperation::UnmountVolume, &volume.spec, Some(pod))));
        let wanted = desired.pod(pod).into_iter().flat_map(|pod| &pod.volumes);
        works.extend(wanted.filter_map(|(_, name)| towards(&desired.volume(name)?.spec, actual, name, pod)));
    }
    let orphans = actual.idle().filter(|volume| desired.volume(&volume.spec.unique_name).is_none());
    works.extend(orphans.map(|volume| match volume.device {
        Some(_) => work(VolumeOperation::UnmountDevice, &volume.spec, None),
        None => work(VolumeOperation::MarkVolumeAsDetached, &volume.spec, None),
    }));
    works
}

/// The next operation to mount a volume for a pod, if there is one.
fn towards(spec: &Arc<VolumeSpec>, actual: &ActualStateOfWorld, name: &UniqueName, pod: &PodUid) -> Option<Work> {
    let volume = actual.volume(name);
    if !volume.is_some_and(|volume| volume.is_attached) {
        return Some(work(VolumeOperation::VerifyControllerAttachedVolume, spec, None));
    }
    if spec.is_device_mountable() && volume.and_then(|volume| volume.device) != Some(Mount::Mounted) {
        return Some(work(VolumeOperation::MountDevice, spec, None));
    }
    if actual.mount(name, pod) != Some(Mount::Mounted) {
        return Some(work(VolumeOperation::MountVolume, spec, Some(pod)));
    }
    spec.csi()?.growth.map(|_| work(VolumeOperation::ExpandVolume, spec, None))
}

fn work(operation: VolumeOperation, spec: &Arc<VolumeSpec>, pod: Option<&PodUid>) -> Work {
    Work { operation, spec: spec.clone(), pod: pod.cloned() }
}
