use super::normalize;
use crate::arguments::Arguments;
use crate::filters::to_allocate;
use crate::framework::Score;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// The maximum number of alternatives of a request. In Kubernetes: `FirstAvailableDeviceRequestMaxSize`.
const MOST_ALTERNATIVES: i64 = 8;

/// Prefers nodes where earlier alternatives of requests are available.
#[derive(Debug)]
struct DynamicResources;

pub(crate) fn make(_: &Arguments) -> Box<dyn Score> {
    Box::new(DynamicResources)
}

impl Score for DynamicResources {
    fn name(&self) -> &'static str {
        "DynamicResources"
    }

    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        if !pod.claims_devices() {
            return None;
        }
        let wanting = to_allocate(&snapshot.inventory().claims_of(pod).ok()?);
        let mut requests = wanting.iter().flat_map(|claim| &claim.spec.devices.requests);
        if !requests.any(|request| !request.first_available.is_empty()) {
            return None;
        }
        let score = |node: &&NodeInfo| {
            let allocations = snapshot.inventory().allocate(&wanting, node).ok().flatten().unwrap_or_default();
            let mut score = 0;
            for (claim, allocation) in wanting.iter().zip(&allocations) {
                let taken = |reference: &str| allocation.devices.results.iter().any(|one| one.request == reference);
                for request in &claim.spec.devices.requests {
                    for (at, one) in request.first_available.iter().enumerate() {
                        if taken(&format!("{}/{}", request.name, one.name)) {
                            score += MOST_ALTERNATIVES - at as i64;
                        }
                    }
                }
            }
            score
        };
        let mut scores: Vec<i64> = nodes.iter().map(score).collect();
        normalize(&mut scores, false);
        Some(scores)
    }
}
