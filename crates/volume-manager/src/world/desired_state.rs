use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::world::spec::{PodUid, UniqueName, VolumeSpec};

/// The volumes that have to be mounted on the node: those of the pods that have to run.
///
/// In Kubernetes: `pkg/kubelet/volumemanager/cache.DesiredStateOfWorld`.
#[derive(Debug, Default)]
pub(crate) struct DesiredStateOfWorld {
    volumes: BTreeMap<UniqueName, VolumeToMount>,
    pods: BTreeMap<PodUid, DesiredPod>,
    by_key: BTreeMap<ObjectKey, BTreeSet<PodUid>>,
}

/// A volume, and the pods that need it.
#[derive(Debug)]
pub(crate) struct VolumeToMount {
    pub(crate) spec: Arc<VolumeSpec>,
    pods: Vec<PodUid>,
}

/// A pod that has to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct DesiredPod {
    pub(crate) key: ObjectKey,
    /// Its volumes: their names in the pod, and their unique names.
    pub(crate) volumes: Vec<(String, UniqueName)>,
    /// The volumes whose spec could not be found: the name in the pod, and why. In Kubernetes: `PopPodErrors`.
    pub(crate) failures: Vec<(String, String)>,
}

impl DesiredStateOfWorld {
    /// Sets the volumes that a pod needs.
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
            // The newest spec counts.
            volume.spec = spec;
            if !volume.pods.contains(pod) {
                volume.pods.push(pod.clone());
            }
        }
        self.pods.insert(pod.clone(), desired);
        self.by_key.entry(key.clone()).or_default().insert(pod.clone());
    }

    /// Removes the volumes of a pod.
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

    /// The pods of this name that need volumes.
    pub(crate) fn of_key(&self, key: &ObjectKey) -> impl Iterator<Item = &PodUid> {
        self.by_key.get(key).into_iter().flatten()
    }

    /// Updates the spec of a volume.
    pub(crate) fn learn(&mut self, spec: &Arc<VolumeSpec>) {
        if let Some(volume) = self.volumes.get_mut(&spec.unique_name) {
            volume.spec = spec.clone();
        }
    }

    pub(crate) fn volume(&self, name: &UniqueName) -> Option<&VolumeToMount> {
        self.volumes.get(name)
    }

    /// The spec of a volume of a pod, by its name in the pod.
    pub(crate) fn spec_of(&self, pod: &PodUid, word: &str) -> Option<Arc<VolumeSpec>> {
        let (_, name) = self.pods.get(pod)?.volumes.iter().find(|(own, _)| own == word)?;
        self.volumes.get(name).map(|volume| volume.spec.clone())
    }

    /// Whether a pod needs a volume.
    pub(crate) fn is_wanted_by(&self, name: &UniqueName, pod: &PodUid) -> bool {
        self.volumes.get(name).is_some_and(|volume| volume.pods.contains(pod))
    }

    pub(crate) fn attachable(&self) -> impl Iterator<Item = &UniqueName> {
        self.volumes.iter().filter(|(_, volume)| volume.spec.is_attachable()).map(|(name, _)| name)
    }
}
