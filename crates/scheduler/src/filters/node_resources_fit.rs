use coracle_meta::names::is_extended_resource;

use crate::arguments::{Arguments, FitArguments};
use crate::framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter, Reasons};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// Rejects nodes without enough free resources.
#[derive(Debug)]
struct NodeResourcesFit(FitArguments);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Filter> {
    Box::new(NodeResourcesFit(arguments.fit.clone()))
}

impl FitArguments {
    /// Whether another component manages this resource.
    fn ignores(&self, name: &str) -> bool {
        let group = || name.split_once('/').map_or(name, |(group, _)| group);
        (!self.ignored.is_empty() || !self.ignored_groups.is_empty())
            && is_extended_resource(name)
            && (self.ignored.contains(name) || self.ignored_groups.contains(group()))
    }
}

fn verdict(arguments: &FitArguments, pod: &PodInfo, node: &NodeInfo) -> FilterVerdict {
    verdict_beside(arguments, pod, node, &node.requested, node.pods.len() as i64)
}

/// Whether the pod fits on a node with `pods` pods that request `used` in total.
fn verdict_beside(
    arguments: &FitArguments,
    pod: &PodInfo,
    node: &NodeInfo,
    used: &Resources,
    pods: i64,
) -> FilterVerdict {
    let mut reasons = Reasons::default();
    let mut resolvable = true;
    if pods.saturating_add(1) > node.allowed_pods {
        reasons.push("Too many pods");
    }
    if !pod.requests.is_empty() {
        let (has, wants) = (&node.allocatable, &pod.requests);
        let mut lacks = |has: i64, used: i64, wants: i64| {
            let lacks = wants > 0 && wants > has.saturating_sub(used);
            resolvable &= !lacks || wants <= has;
            lacks
        };
        if lacks(has.milli_cpu, used.milli_cpu, wants.milli_cpu) {
            reasons.push("Insufficient cpu");
        }
        if lacks(has.memory, used.memory, wants.memory) {
            reasons.push("Insufficient memory");
        }
        if lacks(has.ephemeral_storage, used.ephemeral_storage, wants.ephemeral_storage) {
            reasons.push("Insufficient ephemeral-storage");
        }
        for (name, wants) in &wants.others {
            let amount = |of: &std::collections::BTreeMap<String, i64>| of.get(name).copied().unwrap_or(0);
            if !arguments.ignores(name) && lacks(amount(&has.others), amount(&used.others), *wants) {
                reasons.push(format!("Insufficient {name}"));
            }
        }
    }
    match (reasons.is_empty(), resolvable) {
        (true, _) => FilterVerdict::Fits,
        (false, true) => FilterVerdict::Rejected(reasons),
        (false, false) => FilterVerdict::Unresolvable(reasons),
    }
}

impl Filter for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Sums
    }

    fn prepare<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> Option<PreparedFilter<'a>> {
        Some(Box::new(|node| verdict(&self.0, pod, node)))
    }

    fn beside(&self, pod: &PodInfo, node: &NodeInfo, used: &Resources, pods: i64) -> Option<FilterVerdict> {
        Some(verdict_beside(&self.0, pod, node, used, pods))
    }

    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. } | ClusterEvent::PodGone(_))
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        match event {
            ClusterEvent::PodGone(_) => Hint::Queue,
            event => Hint::if_node_now_passes(event, |node| verdict(&self.0, pod, node) == FilterVerdict::Fits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn every_lack_is_named_and_what_exceeds_the_node_is_unresolvable() {
        let cpu = |milli_cpu| Resources { milli_cpu, ..Resources::default() };
        let mut node = NodeInfo { allocatable: cpu(2000), allowed_pods: 1, ..NodeInfo::default() };
        let verdict = |pod: &PodInfo, node: &NodeInfo| verdict(&FitArguments::default(), pod, node);
        let pod = |milli_cpu| PodInfo { requests: cpu(milli_cpu), ..PodInfo::default() };
        assert_eq!(verdict(&pod(2000), &node), FilterVerdict::Fits);
        assert_eq!(verdict(&pod(2001), &node), FilterVerdict::unresolvable("Insufficient cpu"));
        node.add(Arc::new(pod(1000)));
        assert_eq!(
            verdict(&pod(1500), &node),
            FilterVerdict::Rejected(["Too many pods", "Insufficient cpu"].into_iter().collect())
        );
        node.allowed_pods = 2;
        assert_eq!(verdict(&pod(0), &node), FilterVerdict::Fits);
    }

    #[test]
    fn ignored_extended_resources_are_not_checked() {
        let others = |name: &str| std::collections::BTreeMap::from([(name.to_owned(), 1)]);
        let pod = |name: &str| PodInfo {
            requests: Resources { others: others(name), ..Resources::default() },
            ..PodInfo::default()
        };
        let node = NodeInfo { allowed_pods: 1, ..NodeInfo::default() };
        let group = FitArguments { ignored_groups: ["example.com".to_owned()].into(), ..FitArguments::default() };
        let name = FitArguments { ignored: ["example.com/gpu".to_owned()].into(), ..FitArguments::default() };
        let lacking = verdict(&name, &pod("example.com/fpga"), &node);
        assert_eq!(lacking, FilterVerdict::Unresolvable(["Insufficient example.com/fpga"].into_iter().collect()));
        assert_eq!(verdict(&name, &pod("example.com/gpu"), &node), FilterVerdict::Fits);
        assert_eq!(verdict(&group, &pod("example.com/fpga"), &node), FilterVerdict::Fits);
    }
}
