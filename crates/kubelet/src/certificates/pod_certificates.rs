use std::collections::BTreeMap;

use coracle_container_programs::ProjectedSource;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::pod_certificate::PodCertificate;

/// The pod certificates of a node, for the lifetime of one kubelet: a kubelet that starts requests all of them again.
///
/// In Kubernetes: `credStore` of `IssuingManager`.
#[derive(Debug, Default)]
pub(crate) struct PodCertificates(Mutex<BTreeMap<ObjectKey, OfPod>>);

/// The certificates of a pod by volume and index of the source.
#[derive(Debug, Default)]
struct OfPod {
    uid: String,
    certificates: BTreeMap<ProjectedSource, PodCertificate>,
}

impl PodCertificates {
    /// The state of a certificate of the pod.
    pub(crate) fn get(&self, pod: &ObjectKey, uid: &str, at: &ProjectedSource) -> PodCertificate {
        let all = self.0.lock();
        let own = all.get(pod).filter(|own| own.uid == uid).and_then(|own| own.certificates.get(at));
        own.cloned().unwrap_or_default()
    }

    /// Sets the state of a certificate of the pod. Those of an earlier pod of this name are forgotten.
    pub(crate) fn set(&self, pod: &ObjectKey, uid: &str, at: &ProjectedSource, certificate: PodCertificate) {
        let all = &mut *self.0.lock();
        let own = all.entry(pod.clone()).or_default();
        if own.uid != uid {
            *own = OfPod { uid: uid.to_owned(), ..OfPod::default() };
        }
        own.certificates.insert(at.clone(), certificate);
    }

    /// Forgets the certificates of a pod. In Kubernetes: `ForgetPod`.
    pub(crate) fn forget(&self, pod: &ObjectKey) {
        self.0.lock().remove(pod);
    }
}
