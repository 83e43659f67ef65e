use crate::framework::{Check, ClusterEvent, Filter, Hint, Verdict};
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::PodInfo;

/// Never gives out more of a node than it has.
pub(super) struct NodeResourcesFit;

fn verdict(pod: &PodInfo, node: &NodeInfo) -> Verdict {
    let mut reasons = Vec::new();
    let mut resolvable = true;
    if node.pods.len() as i64 + 1 > node.allowed_pods {
        reasons.push("Too many pods".to_owned());
    }
    if !pod.requests.is_empty() {
        let (has, used, wants) = (&node.allocatable, &node.requested, &pod.requests);
        let mut need = |name: &str, has: i64, used: i64, wants: i64| {
            if wants > 0 && wants > has - used {
                reasons.push(format!("Insufficient {name}"));
                resolvable &= wants <= has;
            }
        };
        need("cpu", has.milli_cpu, used.milli_cpu, wants.milli_cpu);
        need("memory", has.memory, used.memory, wants.memory);
        need("ephemeral-storage", has.ephemeral_storage, used.ephemeral_storage, wants.ephemeral_storage);
        for (name, wants) in &wants.others {
            let amount = |of: &std::collections::BTreeMap<String, i64>| of.get(name).copied().unwrap_or(0);
            need(name, amount(&has.others), amount(&used.others), *wants);
        }
    }
    match (reasons.is_empty(), resolvable) {
        (true, _) => Verdict::Fits,
        (false, true) => Verdict::Rejected(reasons),
        (false, false) => Verdict::Unresolvable(reasons),
    }
}

impl Filter for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn prepare<'a>(&self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<Check<'a>> {
        Some(Box::new(|node| verdict(pod, node)))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        match event {
            ClusterEvent::PodGone(_) => Hint::Queue,
            event => Hint::if_node_now_passes(event, |node| verdict(pod, node) == Verdict::Fits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Resources;
    use std::sync::Arc;

    #[test]
    fn every_lack_is_named_and_what_exceeds_the_node_is_unresolvable() {
        let cpu = |milli_cpu| Resources { milli_cpu, ..Resources::default() };
        let mut node = NodeInfo { allocatable: cpu(2000), allowed_pods: 1, ..NodeInfo::default() };
        let pod = |milli_cpu| PodInfo { requests: cpu(milli_cpu), ..PodInfo::default() };
        assert_eq!(verdict(&pod(2000), &node), Verdict::Fits);
        assert_eq!(verdict(&pod(2001), &node), Verdict::unresolvable("Insufficient cpu"));
        node.add(Arc::new(pod(1000)));
        assert_eq!(
            verdict(&pod(1500), &node),
            Verdict::Rejected(vec!["Too many pods".to_owned(), "Insufficient cpu".to_owned()])
        );
        node.allowed_pods = 2;
        assert_eq!(verdict(&pod(0), &node), Verdict::Fits);
    }
}
