use std::sync::{Arc, OnceLock};

use coracle_api::certificates_v1::PodCertificateRequest;
use coracle_informer::{InformerFactory, Lister, Selection};
use coracle_meta::ObjectKey;
use coracle_workqueue::WorkQueue;

use crate::node::nodes::Nodes;
use crate::node::pod_key::PodKey;

/// The cache of the PodCertificateRequests of a fleet. Its informer starts with the first pod that needs a certificate.
/// In Kubernetes it starts with the kubelet.
pub(crate) struct CertificateRequests {
    pub(crate) informers: InformerFactory,
    pub(crate) selection: Selection,
    pub(crate) actor: String,
    pub(crate) nodes: Arc<Nodes>,
    /// Whether the fleet is that of a node with its own informers.
    pub(crate) is_of_one_node: bool,
    pub(crate) queue: WorkQueue<PodKey>,
    pub(crate) lister: OnceLock<Lister<PodCertificateRequest>>,
}

impl CertificateRequests {
    /// Whether this fleet requests the certificates of a node.
    pub(crate) fn has_node(&self, node: &str) -> bool {
        self.nodes.has_own_informers(node) == self.is_of_one_node
    }

    /// The cache. Each change of a request enqueues its pod.
    pub(crate) fn lister(&self) -> &Lister<PodCertificateRequest> {
        self.lister.get_or_init(|| {
            let requests = self.informers.selected::<PodCertificateRequest>(self.selection.clone());
            let (nodes, queue) = (Arc::clone(&self.nodes), self.queue.clone());
            requests.add_handler(&self.actor, move |change, causes| {
                let (spec, meta) = (&change.object().spec, &change.object().metadata);
                if let Some(agent) = nodes.agent(&spec.node_name) {
                    let namespace = meta.namespace.as_deref().unwrap_or_default();
                    let pod = ObjectKey::new(namespace, spec.pod_name.as_str());
                    queue.add(PodKey { node: agent.name.clone(), pod }, causes);
                }
            });
            requests.lister()
        })
    }
}
