use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::actual_state::{ActualStateOfWorld, Mount};
use super::spec::{PodUid, UniqueName, VolumeSpec};
use crate::written;

/// What is mounted on a machine: it outlives the kubelet that mounted it, as the folders of pods do.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    /// Which of the kubelets that the machine has had writes to it.
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

/// The folders of one volume as they are saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SavedVolume {
    spec: Arc<VolumeSpec>,
    is_staged: bool,
    pods: Vec<SavedFolder>,
}

/// The folder of one pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedFolder {
    uid: PodUid,
    #[serde(with = "written::key")]
    pod: ObjectKey,
}

impl Disk {
    /// What is mounted.
    pub(crate) fn save(&self) -> Vec<SavedVolume> {
        let content = self.content.lock();
        let saved = content.volumes.values().map(|folders| SavedVolume {
            spec: folders.spec.clone(),
            is_staged: folders.is_staged,
            pods: folders.pods.iter().map(|(uid, key)| SavedFolder { uid: uid.clone(), pod: key.clone() }).collect(),
        });
        saved.collect()
    }

    /// A disk on which this is mounted.
    pub(crate) fn of(saved: Vec<SavedVolume>) -> Self {
        let volumes = saved.into_iter().map(|volume| {
            let pods = volume.pods.into_iter().map(|folder| (folder.uid, folder.pod)).collect();
            let folders = Folders { spec: volume.spec.clone(), is_staged: volume.is_staged, pods };
            (volume.spec.unique_name.clone(), folders)
        });
        Self { content: Mutex::new(Content { term: 0, volumes: volumes.collect() }) }
    }

    /// A kubelet begins: what others write from now on does not arrive. Gives its term and what it finds, all of it
    /// uncertain, since the machine may have been without power. In Kubernetes: `reconstructVolumes`.
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

    /// Writes down how far a volume is mounted, if the kubelet of this term is still there; whether it is.
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

    /// The kubelet of this term has ended: from now on nothing that it writes arrives.
    pub(crate) fn end(&self, term: u64) {
        let mut content = self.content.lock();
        if content.term == term {
            content.term += 1;
        }
    }

    /// Whether the kubelet of this term is still there.
    pub(crate) fn is_at(&self, term: u64) -> bool {
        self.content.lock().term == term
    }
}
