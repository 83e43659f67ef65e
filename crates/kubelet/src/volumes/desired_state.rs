use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_meta::ObjectKey;

use super::spec::{PodUid, UniqueName, VolumeSpec};

/// What is to be mounted on the node: the volumes of the pods that are to run.
///
/// In Kubernetes: `pkg/kubelet/volumemanager/cache.DesiredStateOfWorld`.
#[derive(Debug, Default)]
pub(crate) struct DesiredStateOfWorld {
    volumes: BTreeMap<UniqueName, VolumeToMount>,
    pods: BTreeMap<PodUid, DesiredPod>,
    by_key: BTreeMap<ObjectKey, BTreeSet<PodUid>>,
}

/// A volume, and the pods that want it.
#[derive(Debug)]
pub(crate) struct VolumeToMount {
    pub(crate) spec: Arc<VolumeSpec>,
    pods: Vec<PodUid>,
}

/// A pod that is to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct DesiredPod {
    pub(crate) key: ObjectKey,
    /// Its volumes: what the pod calls them, and what they are.
    pub(crate) volumes: Vec<(String, UniqueName)>,
    /// What could not be found out: the pod's word for the volume, and why. In Kubernetes: `PopPodErrors`.
    pub(crate) failures: Vec<(String, String)>,
}

impl DesiredStateOfWorld {
    /// A pod wants these volumes, and no others.
    pub(crate) fn put(
        &mut self,
        pod: &PodUid,
        key: &ObjectKey,
        volumes: Vec<(String, Arc<VolumeSpec>)>,
        failures: Vec<(String, String)>,
    ) {
        self.remove(pod);
        let mut desired = DesiredPod { key: key.clone(), volumes: Vec::new(), failures };
        for (word, spec) in volumes {
            let name = spec.unique_name.clone();
            desired.volumes.push((word, name.clone()));
            let volume =
                self.volumes.entry(name).or_insert_with(|| VolumeToMount { spec: spec.clone(), pods: Vec::new() });
            // What was learned last is as things are.
            volume.spec = spec;
            if !volume.pods.contains(pod) {
                volume.pods.push(pod.clone());
            }
        }
        self.pods.insert(pod.clone(), desired);
        self.by_key.entry(key.clone()).or_default().insert(pod.clone());
    }

    /// A pod wants nothing any more.
    pub(crate) fn remove(&mut self, pod: &PodUid) {
        let Some(desired) = self.pods.remove(pod) else { return };
        if let Some(pods) = self.by_key.get_mut(&desired.key) {
            pods.remove(pod);
            if pods.is_empty() {
                self.by_key.remove(&desired.key);
            }
        }
        for (_, name) in desired.volumes {
            if let Some(volume) = self.volumes.get_mut(&name) {
                volume.pods.retain(|one| one != pod);
                if volume.pods.is_empty() {
                    self.volumes.remove(&name);
                }
            }
        }
    }

    pub(crate) fn pod(&self, pod: &PodUid) -> Option<&DesiredPod> {
        self.pods.get(pod)
    }

    /// The pods of this name that want volumes.
    pub(crate) fn of_key(&self, key: &ObjectKey) -> impl Iterator<Item = &PodUid> {
        self.by_key.get(key).into_iter().flatten()
    }

    /// More is known of a volume than was.
    pub(crate) fn learn(&mut self, spec: &Arc<VolumeSpec>) {
        if let Some(volume) = self.volumes.get_mut(&spec.unique_name) {
            volume.spec = spec.clone();
        }
    }

    pub(crate) fn volume(&self, name: &UniqueName) -> Option<&VolumeToMount> {
        self.volumes.get(name)
    }

    /// What is known of the volume that a pod calls so.
    pub(crate) fn spec_of(&self, pod: &PodUid, word: &str) -> Option<Arc<VolumeSpec>> {
        let (_, name) = self.pods.get(pod)?.volumes.iter().find(|(own, _)| own == word)?;
        self.volumes.get(name).map(|volume| volume.spec.clone())
    }

    /// Whether a pod wants a volume.
    pub(crate) fn is_wanted_by(&self, name: &UniqueName, pod: &PodUid) -> bool {
        self.volumes.get(name).is_some_and(|volume| volume.pods.contains(pod))
    }

    pub(crate) fn attachable(&self) -> impl Iterator<Item = &UniqueName> {
        self.volumes.iter().filter(|(_, volume)| volume.spec.is_attachable()).map(|(name, _)| name)
    }
}
