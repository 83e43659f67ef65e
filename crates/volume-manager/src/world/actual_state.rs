use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::world::spec::{PodUid, UniqueName, VolumeSpec};

/// The mount state of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mount {
    /// It may be mounted: a call has not returned, or the kubelet was restarted.
    Uncertain,
    /// It is mounted.
    Mounted,
}

/// What is attached to the node and mounted on it, as far as the kubelet knows.
///
/// In Kubernetes: `pkg/kubelet/volumemanager/cache.ActualStateOfWorld`.
#[derive(Debug, Default)]
pub(crate) struct ActualStateOfWorld {
    volumes: BTreeMap<UniqueName, AttachedVolume>,
    by_pod: BTreeMap<PodUid, BTreeSet<UniqueName>>,
    by_key: BTreeMap<ObjectKey, BTreeSet<PodUid>>,
    /// The volumes that are mounted for no pod.
    idle: BTreeSet<UniqueName>,
}

/// A volume on the node.
#[derive(Clone, Debug)]
pub(crate) struct AttachedVolume {
    pub(crate) spec: Arc<VolumeSpec>,
    /// Whether its driver has attached it, or it needs no attachment.
    pub(crate) is_attached: bool,
    /// Its mount state on the node, shared by all pods; none if it is not mounted. In Kubernetes: `DeviceMountState`.
    pub(crate) device: Option<Mount>,
    pub(crate) pods: BTreeMap<PodUid, (ObjectKey, Mount)>,
}

impl ActualStateOfWorld {
    pub(crate) fn volume(&self, name: &UniqueName) -> Option<&AttachedVolume> {
        self.volumes.get(name)
    }

    pub(crate) fn volumes(&self) -> impl Iterator<Item = (&UniqueName, &AttachedVolume)> {
        self.volumes.iter()
    }

    /// The volumes that are, or may be, mounted for a pod.
    pub(crate) fn of_pod(&self, pod: &PodUid) -> impl Iterator<Item = &UniqueName> {
        self.by_pod.get(pod).into_iter().flatten()
    }

    /// The mount state of a volume for a pod.
    pub(crate) fn mount(&self, name: &UniqueName, pod: &PodUid) -> Option<Mount> {
        self.volumes.get(name)?.pods.get(pod).map(|(_, mount)| *mount)
    }

    /// The pods of this name for which a volume is, or may be, mounted.
    pub(crate) fn of_key(&self, key: &ObjectKey) -> impl Iterator<Item = &PodUid> {
        self.by_key.get(key).into_iter().flatten()
    }

    /// The keys of the pods for which a volume is, or may be, mounted.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_key.keys()
    }

    /// The volumes that are mounted for no pod.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &AttachedVolume> {
        self.idle.iter().filter_map(|name| self.volumes.get(name))
    }

    fn entry(&mut self, spec: &Arc<VolumeSpec>) -> &mut AttachedVolume {
        let new = || AttachedVolume { spec: spec.clone(), is_attached: false, device: None, pods: BTreeMap::new() };
        let volume = self.volumes.entry(spec.unique_name.clone()).or_insert_with(new);
        volume.spec = spec.clone();
        if volume.pods.is_empty() {
            self.idle.insert(spec.unique_name.clone());
        }
        volume
    }

    pub(crate) fn mark_attached(&mut self, spec: &Arc<VolumeSpec>) {
        self.entry(spec).is_attached = true;
    }

    pub(crate) fn mark_device(&mut self, spec: &Arc<VolumeSpec>, mount: Option<Mount>) {
        self.entry(spec).device = mount;
    }

    pub(crate) fn mark_mounted(&mut self, spec: &Arc<VolumeSpec>, pod: &PodUid, key: &ObjectKey, mount: Mount) {
        self.entry(spec).pods.insert(pod.clone(), (key.clone(), mount));
        self.by_pod.entry(pod.clone()).or_default().insert(spec.unique_name.clone());
        self.by_key.entry(key.clone()).or_default().insert(pod.clone());
        self.idle.remove(&spec.unique_name);
    }

    pub(crate) fn mark_unmounted(&mut self, name: &UniqueName, pod: &PodUid) {
        let Some(volume) = self.volumes.get_mut(name) else { return };
        let Some((key, _)) = volume.pods.remove(pod) else { return };
        if volume.pods.is_empty() {
            self.idle.insert(name.clone());
        }
        let Some(names) = self.by_pod.get_mut(pod) else { return };
        names.remove(name);
        if names.is_empty() {
            self.by_pod.remove(pod);
            if let Some(pods) = self.by_key.get_mut(&key) {
                pods.remove(pod);
                if pods.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }

    /// Forgets the volume. In Kubernetes: `MarkVolumeAsDetached`.
    pub(crate) fn mark_detached(&mut self, name: &UniqueName) {
        self.volumes.remove(name);
        self.idle.remove(name);
    }
}
