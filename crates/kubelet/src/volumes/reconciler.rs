//! From what is to be and what is to what to do next.
//!
//! In Kubernetes: `pkg/kubelet/volumemanager/reconciler`.

use std::sync::Arc;

use super::actual_state::{ActualStateOfWorld, Mount};
use super::desired_state::DesiredStateOfWorld;
use super::spec::{PodUid, UniqueName, VolumeSpec};

/// What can be done with a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// See that its driver has attached it.
    VerifyControllerAttachedVolume,
    /// Mount it once for all pods.
    MountDevice,
    /// Mount it for a pod.
    MountVolume,
    /// See to its file system, which is smaller than the volume.
    ExpandVolume,
    /// Undo the mount for a pod.
    UnmountVolume,
    /// Undo the mount for all.
    UnmountDevice,
    /// Have nothing to do with it any more.
    MarkVolumeAsDetached,
}

impl Operation {
    /// The word in the event log.
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

/// One thing to do.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) operation: Operation,
    pub(crate) spec: Arc<VolumeSpec>,
    /// For which pod; none if it is for all.
    pub(crate) pod: Option<PodUid>,
}

/// What to do next: first what is mounted for a pod and not wanted any more, then what the pod wants, then what no pod
/// has any more. One thing a volume.
pub(crate) fn reconcile(desired: &DesiredStateOfWorld, actual: &ActualStateOfWorld, pods: &[PodUid]) -> Vec<Work> {
    let mut works = Vec::new();
    for pod in pods {
        let unwanted = actual.of_pod(pod).filter(|name| !desired.is_wanted_by(name, pod));
        let volumes = unwanted.filter_map(|name| actual.volume(name));
        works.extend(volumes.map(|volume| work(Operation::UnmountVolume, &volume.spec, Some(pod))));
        let wanted = desired.pod(pod).into_iter().flat_map(|pod| &pod.volumes);
        works.extend(wanted.filter_map(|(_, name)| towards(&desired.volume(name)?.spec, actual, name, pod)));
    }
    let orphans = actual.idle().filter(|volume| desired.volume(&volume.spec.unique_name).is_none());
    works.extend(orphans.map(|volume| match volume.device {
        Some(_) => work(Operation::UnmountDevice, &volume.spec, None),
        None => work(Operation::MarkVolumeAsDetached, &volume.spec, None),
    }));
    works
}

/// The next step of a volume towards being mounted for a pod, if there is one.
fn towards(spec: &Arc<VolumeSpec>, actual: &ActualStateOfWorld, name: &UniqueName, pod: &PodUid) -> Option<Work> {
    let volume = actual.volume(name);
    if !volume.is_some_and(|volume| volume.is_attached) {
        return Some(work(Operation::VerifyControllerAttachedVolume, spec, None));
    }
    if spec.is_device_mountable() && volume.and_then(|volume| volume.device) != Some(Mount::Mounted) {
        return Some(work(Operation::MountDevice, spec, None));
    }
    if actual.mount(name, pod) != Some(Mount::Mounted) {
        return Some(work(Operation::MountVolume, spec, Some(pod)));
    }
    spec.csi()?.growth.map(|_| work(Operation::ExpandVolume, spec, None))
}

fn work(operation: Operation, spec: &Arc<VolumeSpec>, pod: Option<&PodUid>) -> Work {
    Work { operation, spec: spec.clone(), pod: pod.cloned() }
}
