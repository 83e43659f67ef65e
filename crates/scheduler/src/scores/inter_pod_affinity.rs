use crate::arguments::{Arguments, PodAffinityArguments};
use crate::filters::meant;
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers nodes by preferred pod affinity and anti-affinity, of the pod and of existing pods.
#[derive(Debug)]
struct InterPodAffinity(PodAffinityArguments);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Score> {
    Box::new(InterPodAffinity(arguments.pod_affinity.clone()))
}

impl Score for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let preferred = pod.preferred_pods.iter();
        let preferred: Vec<_> = preferred.map(|(weight, term)| (weight, snapshot.tally(meant(term)))).collect();
        if preferred.is_empty() && self.0.ignores_preferred {
            return None;
        }
        let (liking, needing) = (snapshot.liking(pod), snapshot.needing(pod));
        if preferred.is_empty() && liking.is_empty() && needing.is_empty() {
            return None;
        }
        let namespaces = snapshot.namespaces();
        let total = |node: &&NodeInfo| {
            let own = preferred.iter().map(|(weight, tally)| *weight * tally.around(node, namespaces).unwrap_or(0));
            let others = liking.iter().map(|term| snapshot.liking_around(term, node));
            let hard = needing.iter().map(|term| self.0.hard_weight * snapshot.needing_around(term, node));
            own.chain(others).chain(hard).sum::<i64>()
        };
        let totals: Vec<i64> = nodes.iter().map(total).collect();
        let (least, most) = (totals.iter().min().copied()?, totals.iter().max().copied()?);
        let scale = |total: &i64| if most > least { MAX_SCORE * (total - least) / (most - least) } else { 0 };
        Some(totals.iter().map(scale).collect())
    }
}
