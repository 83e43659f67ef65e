//! The pod workers: a reconciler of nodes and of the pods on them. In Kubernetes: `pkg/kubelet/pod_workers.go`.

use std::sync::Arc;

use coracle_ambient::{Clock, Random};
use coracle_api::core_v1::Node;
use coracle_controller_runtime::{Action, Pass, ReconcileError, Reconciler, Speaker};
use coracle_informer::Lister;
use coracle_journal::Recorder;
use coracle_kubelet_api::{DriversStore, StagedKinds};
use coracle_workqueue::WorkQueue;

use crate::Delays;
use crate::images::Images;
use crate::node::nodes::Nodes;
use crate::node::pod_key::PodKey;
use crate::sync::certificate_requests::CertificateRequests;

/// Reconciles the pods of all nodes of a fleet, each with the identity of its node.
pub(crate) struct PodWorkers {
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) node_objects: Lister<Node>,
    pub(crate) delays: Delays,
    pub(crate) images: Images,
    pub(crate) stages: Option<Arc<dyn StagedKinds>>,
    pub(crate) csi_drivers: DriversStore,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    /// Whether the node requests pod certificates: the feature gate PodCertificateRequest.
    pub(crate) has_pod_certificates: bool,
    pub(crate) certificate_requests: CertificateRequests,
    /// The keys to work on: pods, and the node itself when it may be short of a resource.
    pub(crate) queue: WorkQueue<PodKey>,
}

impl Reconciler<PodKey> for PodWorkers {
    fn speaker(&self, key: &PodKey) -> Option<Speaker> {
        self.nodes.agent(&key.node).map(|node| node.pod_speaker.clone())
    }

    async fn reconcile(&self, pass: &Pass, key: &PodKey) -> Result<Action, ReconcileError> {
        // An agent that does not work yet enqueues all its pods when it begins.
        let Some(node) = self.nodes.agent(&key.node).filter(|node| node.is_at_work()) else {
            return pass.done(|| "the node is not at work");
        };
        if key.is_node() { self.sync_node(&node, pass).await } else { self.sync_pod(&node, pass, &key.pod).await }
    }
}
