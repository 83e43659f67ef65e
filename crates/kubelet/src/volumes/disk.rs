use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::actual_state::{ActualStateOfWorld, Mount};
use super::spec::{PodUid, UniqueName, VolumeSpec};

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

impl Disk {
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
