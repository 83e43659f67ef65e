use async_trait::async_trait;
use coracle_meta::Status;
use coracle_meta::fields::Fields;
use coracle_registry::{Admission, Operation, Review};

use crate::refusal::forbidden;

/// `LimitPodHardAntiAffinityTopology`: required anti-affinity of a pod can only use the topology key of nodes.
pub(crate) struct LimitPodHardAntiAffinityTopology;

const HOST: &str = "kubernetes.io/hostname";

#[async_trait]
impl Admission for LimitPodHardAntiAffinityTopology {
    fn name(&self) -> &'static str {
        "LimitPodHardAntiAffinityTopology"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let Some(pod) = review.object().filter(|_| review.is_about("", "pods")) else { return Ok(()) };
        let terms = pod.list("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution");
        match terms.iter().map(|term| term.text("topologyKey")).find(|key| *key != HOST) {
            None => Ok(()),
            Some(key) => Err(forbidden(
                review,
                format!(
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOST} is allowed"
                ),
            )),
        }
    }
}
