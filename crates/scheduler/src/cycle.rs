use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Random;

use crate::filters::FILTERS;
use crate::framework::{Check, Verdict};
use crate::message::FitError;
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::PodInfo;
use crate::scores::SCORES;

/// Up to this many nodes all are looked at; above, only so many that enough fit.
const LEAST_NODES_TO_FIND: usize = 100;

/// Which node a pod gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node.
    pub node: String,
    /// How many nodes were looked at.
    pub evaluated: usize,
    /// How many of those fit.
    pub feasible: usize,
}

/// Why a pod gets no node.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// There is no node at all; no plug-in rejected the pod, so only time brings it back.
    NoNodes,
    /// No node fits.
    Unfit(Box<Unfit>),
}

/// No node fits: what to say, whom to ask again, and where preemption may help.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfit {
    /// What to say.
    pub error: FitError,
    /// The filters that rejected nodes.
    pub rejected_by: BTreeSet<&'static str>,
    /// The nodes where the pod might fit if others went away.
    pub resolvable: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNodes => f.write_str("no nodes available to schedule pods"),
            Self::Unfit(unfit) => unfit.error.fmt(f),
        }
    }
}

/// The filters with one pod, ready to look at nodes.
pub(crate) struct Checks<'a> {
    pod: &'a PodInfo,
    snapshot: &'a Snapshot,
    checks: Vec<(&'static str, Check<'a>)>,
}

impl<'a> Checks<'a> {
    /// Prepares all filters.
    pub(crate) fn prepare(pod: &'a PodInfo, snapshot: &'a Snapshot) -> Self {
        let prepared = FILTERS.iter().filter_map(|filter| Some((filter.name(), filter.prepare(pod, snapshot)?)));
        Self { pod, snapshot, checks: prepared.collect() }
    }

    /// The first filter that rejects the node, with its verdict; none if the pod fits.
    ///
    /// Where room is being made for other pods of at least the same priority, the pod has to fit beside them too.
    pub(crate) fn rejection(&self, node: &NodeInfo) -> Option<(&'static str, Verdict)> {
        let expected = self.snapshot.nominated.get(&node.name).into_iter().flatten();
        let mut expected = expected.filter(|other| other.priority >= self.pod.priority && other.uid != self.pod.uid);
        if let Some(first) = expected.next() {
            let mut fuller = node.clone();
            fuller.add(first.clone());
            expected.for_each(|other| fuller.add(other.clone()));
            if let Some(rejection) = self.first(&fuller) {
                return Some(rejection);
            }
        }
        self.first(node)
    }

    fn first(&self, node: &NodeInfo) -> Option<(&'static str, Verdict)> {
        let verdicts = self.checks.iter().map(|(name, check)| (*name, check(node)));
        verdicts.into_iter().find(|(_, verdict)| *verdict != Verdict::Fits)
    }
}

/// Chooses a node for a pod. `start` says with which node to begin, so that in a large cluster all get their turn.
pub fn schedule(pod: &PodInfo, snapshot: &Snapshot, start: usize, random: &Random) -> Result<Choice, Failure> {
    if snapshot.nodes.is_empty() {
        return Err(Failure::NoNodes);
    }
    let checks = Checks::prepare(pod, snapshot);
    if let Some(node) = pod.nominated_node.as_ref().and_then(|name| snapshot.nodes.get(name))
        && checks.rejection(node).is_none()
    {
        return Ok(Choice { node: node.name.clone(), evaluated: 1, feasible: 1 });
    }
    let mut unfit =
        Unfit { error: FitError { nodes: snapshot.nodes.len(), ..FitError::default() }, ..Unfit::default() };
    let mut feasible = Vec::new();
    let mut evaluated = 0;
    for node in candidates(pod, snapshot, start, &mut unfit) {
        evaluated += 1;
        match checks.rejection(node) {
            None => feasible.push(node.clone()),
            Some((name, verdict)) => unfit.count(name, verdict, &node.name),
        }
        if feasible.len() >= nodes_to_find(snapshot.nodes.len()) {
            break;
        }
    }
    match feasible.as_slice() {
        [] => Err(Failure::Unfit(Box::new(unfit))),
        [only] => Ok(Choice { node: only.name.clone(), evaluated, feasible: 1 }),
        several => Ok(Choice { node: best(pod, snapshot, several, random), evaluated, feasible: several.len() }),
    }
}

impl Unfit {
    /// No node comes into question at all, as a filter says.
    pub(crate) fn refused(by: &'static str, nodes: usize, why: String) -> Self {
        // Nobody knows of room that could be made then, and that is said in these words.
        let post_filter = Some("not found".to_owned());
        let error = FitError { nodes, pre_filter: Some(why), post_filter, ..FitError::default() };
        Self { error, rejected_by: BTreeSet::from([by]), resolvable: Vec::new() }
    }

    fn count(&mut self, by: &'static str, verdict: Verdict, node: &str) {
        self.rejected_by.insert(by);
        match verdict {
            Verdict::Fits => {}
            Verdict::Unresolvable(reasons) => self.error.count(reasons),
            Verdict::Rejected(reasons) => {
                self.error.count(reasons);
                self.resolvable.push(node.to_owned());
            }
        }
    }
}

/// The nodes to look at, from `start` on; those that the pod itself excludes by name are counted at once.
fn candidates<'a>(pod: &PodInfo, snapshot: &'a Snapshot, start: usize, unfit: &mut Unfit) -> Vec<&'a Arc<NodeInfo>> {
    let only = FILTERS.iter().find_map(|filter| Some((filter.name(), filter.only_nodes(pod)?)));
    let Some((filter, names)) = only else {
        let start = start % snapshot.nodes.len();
        return snapshot.nodes.values().cycle().skip(start).take(snapshot.nodes.len()).collect();
    };
    let nodes: Vec<_> =
        names.iter().collect::<BTreeSet<_>>().into_iter().filter_map(|n| snapshot.nodes.get(n)).collect();
    unfit.rejected_by.insert(filter);
    for _ in nodes.len()..snapshot.nodes.len() {
        unfit.error.count([format!("node(s) didn't satisfy plugin(s) [{filter}]")]);
    }
    nodes
}

/// How many nodes that fit are enough. In Kubernetes: `numFeasibleNodesToFind`.
fn nodes_to_find(all: usize) -> usize {
    if all <= LEAST_NODES_TO_FIND {
        return all;
    }
    let percentage = 50_usize.saturating_sub(all / 125).max(5);
    (all * percentage / 100).max(LEAST_NODES_TO_FIND)
}

/// The node with the highest total; one of the best at random.
fn best(pod: &PodInfo, snapshot: &Snapshot, nodes: &[Arc<NodeInfo>], random: &Random) -> String {
    let mut totals: BTreeMap<usize, i64> = (0..nodes.len()).map(|index| (index, 0)).collect();
    for plugin in SCORES {
        for (index, score) in plugin.score(pod, snapshot, nodes).into_iter().flatten().enumerate() {
            *totals.entry(index).or_default() += score * plugin.weight();
        }
    }
    let highest = totals.values().copied().max().unwrap_or(0);
    let best: Vec<usize> = totals.iter().filter(|(_, total)| **total == highest).map(|(index, _)| *index).collect();
    let chosen = best[random.below(best.len() as u64) as usize];
    nodes[chosen].name.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Resources;
    use crate::taints::Taint;
    use coracle_meta::ObjectKey;
    use proptest::prelude::*;

    fn node(name: &str, milli_cpu: i64, memory: i64) -> NodeInfo {
        let allocatable = Resources { milli_cpu, memory, ..Resources::default() };
        NodeInfo { name: name.to_owned(), allocatable, allowed_pods: 110, ..NodeInfo::default() }
    }

    fn pod(name: &str, milli_cpu: i64, memory: i64) -> PodInfo {
        let requests = Resources { milli_cpu, memory, ..Resources::default() };
        PodInfo {
            key: ObjectKey::new("default", name),
            uid: name.to_owned(),
            assumed: requests.clone(),
            requests,
            ..PodInfo::default()
        }
    }

    fn snapshot(nodes: Vec<NodeInfo>) -> Snapshot {
        Snapshot {
            nodes: nodes.into_iter().map(|node| (node.name.clone(), Arc::new(node))).collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn without_a_node_nobody_rejects_the_pod() {
        let failure = schedule(&pod("a", 0, 0), &Snapshot::default(), 0, &Random::from_seed(1)).unwrap_err();
        assert_eq!(failure.to_string(), "no nodes available to schedule pods");
    }

    #[test]
    fn the_first_filter_that_rejects_a_node_gives_its_reason() {
        let mut cordoned = node("gamma", 1000, 0);
        cordoned.unschedulable = true;
        cordoned.taints = vec![Taint::new("node.kubernetes.io/unschedulable", "NoSchedule")];
        let mut tainted = node("beta", 4000, 0);
        tainted.taints = vec![Taint::new("dedicated", "NoSchedule")];
        let snapshot = snapshot(vec![node("alpha", 2000, 0), tainted, cordoned]);
        let failure = schedule(&pod("a", 3000, 0), &snapshot, 0, &Random::from_seed(1)).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
        );
        let Failure::Unfit(unfit) = failure else { panic!() };
        assert!(unfit.resolvable.is_empty(), "no pod's going makes a node of 2 cores hold 3");
    }

    #[test]
    fn the_emptier_node_is_preferred() {
        let mut full = node("a", 8000, 8000);
        full.add(Arc::new(pod("x", 4000, 4000)));
        let snapshot = snapshot(vec![full, node("b", 8000, 8000)]);
        let choice = schedule(&pod("new", 1000, 1000), &snapshot, 0, &Random::from_seed(1)).unwrap();
        assert_eq!((choice.node.as_str(), choice.feasible), ("b", 2));
    }

    #[test]
    fn a_pod_leaves_room_for_one_of_higher_priority_that_waits_for_victims_to_end() {
        let mut snapshot = snapshot(vec![node("a", 1000, 0)]);
        let waiting = PodInfo { priority: 10, ..pod("waiting", 1000, 0) };
        snapshot.nominated.insert("a".to_owned(), vec![Arc::new(waiting.clone())]);
        assert!(schedule(&pod("new", 1000, 0), &snapshot, 0, &Random::from_seed(1)).is_err());
        let waiting = PodInfo { nominated_node: Some("a".to_owned()), ..waiting };
        assert!(schedule(&waiting, &snapshot, 0, &Random::from_seed(1)).is_ok());
    }

    proptest! {
        #[test]
        fn no_node_is_ever_given_more_than_it_has(
            seed: u64,
            nodes in proptest::collection::vec((0..4000_i64, 0..4000_i64, 0..6_i64), 1..6),
            pods in proptest::collection::vec((0..2000_i64, 0..2000_i64), 0..40),
        ) {
            let random = Random::from_seed(seed);
            let nodes = nodes.into_iter().enumerate().map(|(index, (cpu, memory, allowed_pods))| {
                NodeInfo { allowed_pods, ..node(&format!("n{index}"), cpu, memory) }
            });
            let mut snapshot = snapshot(nodes.collect());
            for (index, (cpu, memory)) in pods.into_iter().enumerate() {
                let pod = pod(&format!("p{index}"), cpu, memory);
                if let Ok(choice) = schedule(&pod, &snapshot, index, &random) {
                    let mut node = NodeInfo::clone(&snapshot.nodes[&choice.node]);
                    node.add(Arc::new(pod));
                    snapshot = snapshot.with_node(node);
                }
            }
            for node in snapshot.nodes.values() {
                prop_assert!(node.requested.milli_cpu <= node.allocatable.milli_cpu);
                prop_assert!(node.requested.memory <= node.allocatable.memory);
                prop_assert!(node.pods.len() as i64 <= node.allowed_pods);
            }
        }
    }
}
