use std::collections::BTreeMap;

use coracle_container_programs::{ProjectedSource, Texts};
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

/// The files of pod certificates on a machine, by pod. They outlive the kubelet, and are lost with the power, since a
/// node keeps them in memory.
#[derive(Debug, Default)]
pub(crate) struct Credentials(Mutex<BTreeMap<ObjectKey, OfPod>>);

#[derive(Debug, Default)]
struct OfPod {
    uid: String,
    files: BTreeMap<ProjectedSource, Texts>,
}

impl Credentials {
    /// Writes the files of some sources of a pod; the files of its other sources stay.
    pub(crate) fn write(&self, pod: &ObjectKey, uid: &str, files: impl Iterator<Item = (ProjectedSource, Texts)>) {
        let mut files = files.peekable();
        if files.peek().is_none() {
            return;
        }
        let all = &mut *self.0.lock();
        let own = all.entry(pod.clone()).or_default();
        if own.uid != uid {
            *own = OfPod { uid: uid.to_owned(), ..OfPod::default() };
        }
        own.files.extend(files);
    }

    /// The files of a pod.
    pub(crate) fn read(&self, pod: &ObjectKey, uid: &str) -> BTreeMap<ProjectedSource, Texts> {
        let all = self.0.lock();
        all.get(pod).filter(|own| own.uid == uid).map(|own| own.files.clone()).unwrap_or_default()
    }

    /// Removes the files of a pod.
    pub(crate) fn forget(&self, pod: &ObjectKey) {
        self.0.lock().remove(pod);
    }

    /// Removes all files.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
