use std::collections::{BTreeMap, BTreeSet};

use coracle_api::core_v1::Pod;
use coracle_meta::ObjectKey;
use tokio::time::Instant;

use crate::lookup::populator::expected;
use crate::operation::executor::OperationExecutor;
use crate::world::actual_state::{ActualStateOfWorld, Mount};
use crate::world::desired_state::DesiredStateOfWorld;
use crate::world::spec::{PodUid, UniqueName};

/// What a volume manager knows and does.
#[derive(Default)]
pub(crate) struct VolumeManagerState {
    pub(crate) desired: DesiredStateOfWorld,
    pub(crate) actual: ActualStateOfWorld,
    pub(crate) executor: OperationExecutor,
    /// When to read the claims of a pod again.
    pub(crate) looks: BTreeMap<PodUid, Instant>,
    /// The pods that wait for a volume to be attached.
    pub(crate) waiting: BTreeSet<ObjectKey>,
    /// The volumes in use that were reported last; none before the first report.
    pub(crate) reported: Option<Vec<String>>,
    pub(crate) is_reporting: bool,
}

/// The uid of a pod.
pub(crate) fn uid_of(pod: &Pod) -> PodUid {
    pod.metadata.uid.as_deref().unwrap_or_default().into()
}

impl VolumeManagerState {
    /// The pods of this name that need volumes or have any mounted.
    pub(crate) fn uids(&self, key: &ObjectKey) -> Vec<PodUid> {
        let all: BTreeSet<_> = self.desired.of_key(key).chain(self.actual.of_key(key)).cloned().collect();
        all.into_iter().collect()
    }

    /// Whether all volumes are mounted that containers of the pod use.
    pub(crate) fn is_mounted(&self, pod: &Pod) -> bool {
        let uid = uid_of(pod);
        let expected = expected(pod);
        let Some(desired) = self.desired.pod(&uid) else { return expected.is_empty() };
        expected.iter().all(|word| self.mounts(&desired.volumes, &uid, word))
    }

    fn mounts(&self, volumes: &[(String, UniqueName)], uid: &PodUid, word: &str) -> bool {
        let known = volumes.iter().find(|(own, _)| own == word);
        known.is_some_and(|(_, name)| self.actual.mount(name, uid) == Some(Mount::Mounted))
    }

    /// The message about a pod's volumes that could not be found. In Kubernetes: the error of `WaitForAttachAndMount`.
    pub(crate) fn unprocessed(&self, pod: &Pod) -> Option<String> {
        let uid = uid_of(pod);
        let desired = self.desired.pod(&uid)?;
        let expected = expected(pod);
        let volumes = &desired.volumes;
        let unmounted = expected.iter().copied().filter(|word| !self.mounts(volumes, &uid, word));
        let is_unattached = |(_, name): &&(String, UniqueName)| {
            self.desired.volume(name).is_some_and(|volume| volume.spec.is_attachable())
                && self.actual.volume(name).is_none()
        };
        let unattached = volumes.iter().filter(is_unattached).map(|(word, _)| word.as_str());
        let unknown = expected.iter().copied().filter(|word| !volumes.iter().any(|(own, _)| own == word));
        let why: Vec<_> = desired.failures.iter().map(|(_, why)| why.as_str()).collect();
        Some(format!(
            "Unable to attach or mount volumes: unmounted volumes=[{}], unattached volumes=[{}], failed to process volumes=[{}]: {}",
            unmounted.collect::<Vec<_>>().join(" "),
            unattached.collect::<Vec<_>>().join(" "),
            unknown.collect::<Vec<_>>().join(" "),
            why.join("; ")
        ))
    }
}
