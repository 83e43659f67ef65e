use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_kubelet_api::save_format;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::world::actual_state::{ActualStateOfWorld, Mount};
use crate::world::spec::{PodUid, UniqueName, VolumeSpec};

/// The mounted volumes on a machine. They survive a restart of the kubelet, like the folders of pods on a disk.
#[derive(Debug, Default)]
pub struct Disk {
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    /// Counts the kubelets of the machine; only the current one may write.
    term: u64,
    volumes: BTreeMap<UniqueName, Folders>,
}

/// The folders of one volume.
#[derive(Debug)]
struct Folders {
    spec: Arc<VolumeSpec>,
    is_staged: bool,
    pods: BTreeMap<PodUid, ObjectKey>,
}

/// The saved form of the folders of one volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedVolume {
    spec: Arc<VolumeSpec>,
    is_staged: bool,
    pods: Vec<SavedFolder>,
}

/// The folder of one pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedFolder {
    uid: PodUid,
    #[serde(with = "save_format::key")]
    pod: ObjectKey,
}

impl Disk {
    /// The mounted volumes.
    pub fn save(&self) -> Vec<SavedVolume> {
        let content = self.content.lock();
        let saved = content.volumes.values().map(|folders| SavedVolume {
            spec: folders.spec.clone(),
            is_staged: folders.is_staged,
            pods: folders.pods.iter().map(|(uid, key)| SavedFolder { uid: uid.clone(), pod: key.clone() }).collect(),
        });
        saved.collect()
    }

    /// A disk with these mounted volumes.
    pub fn of(saved: Vec<SavedVolume>) -> Self {
        let volumes = saved.into_iter().map(|volume| {
            let pods = volume.pods.into_iter().map(|folder| (folder.uid, folder.pod)).collect();
            let folders = Folders { spec: volume.spec.clone(), is_staged: volume.is_staged, pods };
            (volume.spec.unique_name.clone(), folders)
        });
        Self { content: Mutex::new(Content { term: 0, volumes: volumes.collect() }) }
    }

    /// Starts the term of a new kubelet; writes of earlier kubelets have no effect from now on. Returns the term and
    /// the volumes on the disk. All of them are uncertain, since the machine may have lost power. In Kubernetes:
    /// `reconstructVolumes`.
    pub(crate) fn reconstruct(&self) -> (u64, ActualStateOfWorld) {
        let mut content = self.content.lock();
        content.term += 1;
        let mut actual = ActualStateOfWorld::default();
        for folders in content.volumes.values() {
            if folders.is_staged {
                actual.mark_device(&folders.spec, Some(Mount::Uncertain));
            }
            for (pod, key) in &folders.pods {
                actual.mark_mounted(&folders.spec, pod, key, Mount::Uncertain);
            }
        }
        (content.term, actual)
    }

    /// Writes the mount state of a volume if the kubelet of this term is the current one; returns whether it is.
    pub(crate) fn write(
        &self,
        term: u64,
        spec: &Arc<VolumeSpec>,
        is_staged: bool,
        pods: BTreeMap<PodUid, ObjectKey>,
    ) -> bool {
        let mut content = self.content.lock();
        if content.term != term {
            return false;
        }
        if is_staged || !pods.is_empty() {
            content.volumes.insert(spec.unique_name.clone(), Folders { spec: spec.clone(), is_staged, pods });
        } else {
            content.volumes.remove(&spec.unique_name);
        }
        true
    }

    /// Ends the term of a kubelet: its later writes have no effect.
    pub(crate) fn end(&self, term: u64) {
        let mut content = self.content.lock();
        if content.term == term {
            content.term += 1;
        }
    }

    /// Whether the kubelet of this term is the current one.
    pub(crate) fn is_at(&self, term: u64) -> bool {
        self.content.lock().term == term
    }
}
