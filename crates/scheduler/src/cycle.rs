use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Random;

use crate::checks::Checks;
use crate::framework::FilterVerdict;
use crate::memo::{FITS, Memo};
use crate::message::FitError;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::profile::Profile;
use crate::snapshot::Snapshot;

/// With up to this many nodes all are checked; with more, the search stops when enough nodes fit.
const LEAST_NODES_TO_FIND: usize = 100;
/// How many nodes a choice reports with their scores.
const SCORES_TOLD: usize = 5;

/// Which node a pod gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node.
    pub node: String,
    /// How many nodes were checked.
    pub evaluated: usize,
    /// How many of those fit.
    pub feasible: usize,
    /// The total scores of the chosen node and the next best ones, five at most; empty if there was only one
    /// candidate.
    pub scores: BTreeMap<String, i64>,
}

/// Why a pod gets no node.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulingFailure {
    /// There are no nodes; no plug-in rejected the pod, so it is retried only after some time.
    NoNodes,
    /// No node fits.
    Unfit(Box<Unfit>),
}

/// No node fits: the message, the plug-ins that rejected the pod, and the nodes where preemption may help.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfit {
    /// The message.
    pub error: FitError,
    /// The filters that rejected nodes.
    pub rejected_by: BTreeSet<&'static str>,
    /// The slots of the nodes where preemption may help.
    pub(crate) resolvable: Vec<usize>,
}

impl std::fmt::Display for SchedulingFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNodes => f.write_str("no nodes available to schedule pods"),
            Self::Unfit(unfit) => unfit.error.fmt(f),
        }
    }
}

/// Chooses a node for a pod. `start` is the node to begin with, so that in a large cluster all nodes get their turn.
///
/// # Errors
/// Why the pod gets no node.
pub fn schedule(
    profile: &Arc<Profile>,
    pod: &PodInfo,
    snapshot: &Snapshot,
    start: usize,
    random: &Random,
) -> Result<Choice, SchedulingFailure> {
    schedule_with(&mut Memo::default(), profile, pod, snapshot, start, random)
}

/// As [`schedule`], with the memo of previous pods.
pub(crate) fn schedule_with(
    memo: &mut Memo,
    profile: &Arc<Profile>,
    pod: &PodInfo,
    snapshot: &Snapshot,
    start: usize,
    random: &Random,
) -> Result<Choice, SchedulingFailure> {
    if let Some(failure) = refusal(profile, pod, snapshot) {
        return Err(failure);
    }
    let checks = Checks::prepare(profile, pod, snapshot);
    if let Some(node) = feasible_nomination(pod, snapshot, &checks) {
        return Ok(Choice { node: node.name.to_string(), evaluated: 1, feasible: 1, scores: BTreeMap::new() });
    }
    let error = FitError { nodes: snapshot.len(), ..FitError::default() };
    let mut unfit = Unfit { error, ..Unfit::default() };
    let mut feasible: Vec<usize> = Vec::new();
    let mut evaluated = 0;
    let enough = nodes_to_find(snapshot.len(), profile.percentage_of_nodes_to_score);
    let mut memo = Memo::of(memo, profile, pod, &checks);
    let mut counts: Vec<usize> = Vec::new();
    let mut look_at = |node: &'_ Arc<NodeInfo>| {
        evaluated += 1;
        match &mut memo {
            Some(memo) => match memo.verdict(node, snapshot, &checks) {
                FITS => feasible.push(node.slot),
                number => unfit.number(memo, number, &mut counts, node),
            },
            None => match checks.rejection(node) {
                None => feasible.push(node.slot),
                Some((name, verdict)) => unfit.count(name, verdict, node),
            },
        }
        feasible.len() < enough
    };
    match only_nodes(profile, pod) {
        None => {
            let _ = snapshot.nodes_from(start).all(&mut look_at);
        }
        Some((filter, names)) => {
            let nodes: Vec<_> = names.iter().filter_map(|name| snapshot.node(name)).collect();
            let _ = nodes.iter().all(|node| look_at(node));
            unfit.excluded(filter, snapshot.len() - nodes.len());
        }
    }
    if let Some(memo) = memo {
        unfit.count_numbers(memo, &counts);
    }
    let feasible: Vec<&NodeInfo> =
        feasible.into_iter().filter_map(|slot| snapshot.at(slot)).map(AsRef::as_ref).collect();
    match feasible.as_slice() {
        [] => Err(SchedulingFailure::Unfit(Box::new(unfit))),
        [only] => Ok(Choice { node: only.name.to_string(), evaluated, feasible: 1, scores: BTreeMap::new() }),
        several => {
            let (node, scores) = choose(profile, pod, snapshot, several, random);
            Ok(Choice { node, evaluated, feasible: several.len(), scores })
        }
    }
}

/// Why no node at all can run the pod: there are no nodes, or a filter excludes all of them.
fn refusal(profile: &Profile, pod: &PodInfo, snapshot: &Snapshot) -> Option<SchedulingFailure> {
    if snapshot.is_empty() {
        return Some(SchedulingFailure::NoNodes);
    }
    let mut refusals = profile.filters.iter().filter_map(|filter| Some((filter, filter.refuse(pod, snapshot)?)));
    let (filter, why) = refusals.next()?;
    Some(SchedulingFailure::Unfit(Box::new(Unfit::refused(filter.name(), snapshot.len(), why))))
}

/// The pod's nominated node, if the pod fits there.
fn feasible_nomination<'s>(pod: &PodInfo, snapshot: &'s Snapshot, checks: &Checks<'_>) -> Option<&'s Arc<NodeInfo>> {
    let node = snapshot.node(pod.nominated_node.as_ref()?)?;
    checks.rejection(node).is_none().then_some(node)
}

impl Unfit {
    /// A filter excludes all nodes.
    fn refused(by: &'static str, nodes: usize, why: String) -> Self {
        let error = FitError { nodes, pre_filter: Some(why), ..FitError::default() };
        Self { error, rejected_by: BTreeSet::from([by]), resolvable: Vec::new() }
    }

    fn count(&mut self, by: &'static str, verdict: FilterVerdict, node: &NodeInfo) {
        self.rejected_by.insert(by);
        match verdict {
            FilterVerdict::Fits => {}
            FilterVerdict::Unresolvable(reasons) => self.error.count(reasons),
            FilterVerdict::Rejected(reasons) => {
                self.error.count(reasons);
                self.resolvable.push(node.slot);
            }
        }
    }

    /// Records the number of a node's verdict; its reasons are counted at the end.
    fn number(&mut self, memo: &Memo, number: u32, counts: &mut Vec<usize>, node: &NodeInfo) {
        let at = number as usize;
        if counts.len() <= at {
            counts.resize(at + 1, 0);
        }
        counts[at] += 1;
        if matches!(memo.verdicts()[at].1, FilterVerdict::Rejected(_)) {
            self.resolvable.push(node.slot);
        }
    }

    fn count_numbers(&mut self, memo: &Memo, counts: &[usize]) {
        for ((by, verdict), count) in memo.verdicts().iter().zip(counts).filter(|(_, count)| **count > 0) {
            self.rejected_by.insert(by);
            if let FilterVerdict::Rejected(reasons) | FilterVerdict::Unresolvable(reasons) = verdict {
                reasons.clone().into_iter().for_each(|reason| self.error.count_nodes(*count, reason));
            }
        }
    }

    /// The pod itself selects nodes by name, which excludes the others.
    fn excluded(&mut self, by: &'static str, nodes: usize) {
        self.rejected_by.insert(by);
        self.error.count_nodes(nodes, format!("node(s) didn't satisfy plugin(s) [{by}]"));
    }
}

/// The only possible nodes, by name, and the filter that restricts them.
fn only_nodes(profile: &Profile, pod: &PodInfo) -> Option<(&'static str, BTreeSet<String>)> {
    profile.filters.iter().find_map(|filter| Some((filter.name(), filter.only_nodes(pod)?.into_iter().collect())))
}

/// How many feasible nodes are enough. In Kubernetes: `numFeasibleNodesToFind`.
fn nodes_to_find(all: usize, percentage: usize) -> usize {
    if all <= LEAST_NODES_TO_FIND {
        return all;
    }
    let percentage = if percentage == 0 { 50_usize.saturating_sub(all / 125).max(5) } else { percentage };
    (all * percentage / 100).max(LEAST_NODES_TO_FIND)
}

/// The best of several feasible nodes, and the highest total scores.
fn choose(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot,
    nodes: &[&NodeInfo],
    random: &Random,
) -> (String, BTreeMap<String, i64>) {
    let totals = totals(profile, pod, snapshot, nodes);
    let chosen = best(&totals, random);
    (nodes[chosen].name.to_string(), highest(nodes, &totals, chosen))
}

/// The total score of each node.
fn totals(profile: &Profile, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Vec<i64> {
    let mut totals = vec![0; nodes.len()];
    for (plugin, weight) in &profile.scores {
        for (total, score) in totals.iter_mut().zip(plugin.score(pod, snapshot, nodes).into_iter().flatten()) {
            *total += score * weight;
        }
    }
    totals
}

/// The index of the highest total; a random one of several.
fn best(totals: &[i64], random: &Random) -> usize {
    let highest = totals.iter().copied().max().unwrap_or(0);
    let mut best = totals.iter().enumerate().filter(|(_, total)| **total == highest);
    let how_many = best.clone().count();
    best.nth(random.below(how_many as u64) as usize).expect("one of them is the best").0
}

/// The chosen node and those with the next highest totals, with their totals; ties are ordered by name.
fn highest(nodes: &[&NodeInfo], totals: &[i64], chosen: usize) -> BTreeMap<String, i64> {
    let ranked = nodes.iter().zip(totals).enumerate();
    let mut told: Vec<_> =
        ranked.map(|(place, (node, total))| (place != chosen, Reverse(*total), &*node.name)).collect();
    if told.len() > SCORES_TOLD {
        told.select_nth_unstable(SCORES_TOLD);
        told.truncate(SCORES_TOLD);
    }
    told.into_iter().map(|(_, Reverse(total), name)| (name.to_owned(), total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Resources;
    use coracle_api::core_v1::Taint;
    use coracle_meta::ObjectKey;
    use proptest::prelude::*;

    fn node(name: &str, milli_cpu: i64, memory: i64) -> NodeInfo {
        let allocatable = Resources { milli_cpu, memory, ..Resources::default() };
        NodeInfo { name: name.into(), allocatable, allowed_pods: 110, ..NodeInfo::default() }
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
        nodes.into_iter().collect()
    }

    #[test]
    fn without_a_node_no_plugin_rejects_the_pod() {
        let failure =
            schedule(&Arc::default(), &pod("a", 0, 0), &Snapshot::default(), 0, &Random::from_seed(1)).unwrap_err();
        assert_eq!(failure.to_string(), "no nodes available to schedule pods");
    }

    #[test]
    fn the_first_filter_that_rejects_a_node_gives_its_reason() {
        let mut cordoned = node("gamma", 1000, 0);
        cordoned.unschedulable = true;
        cordoned.taints = [Taint::new("node.kubernetes.io/unschedulable", "NoSchedule")].into();
        let mut tainted = node("beta", 4000, 0);
        tainted.taints = [Taint::new("dedicated", "NoSchedule")].into();
        let snapshot = snapshot(vec![node("alpha", 2000, 0), tainted, cordoned]);
        let failure = schedule(&Arc::default(), &pod("a", 3000, 0), &snapshot, 0, &Random::from_seed(1)).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
        );
        let SchedulingFailure::Unfit(unfit) = failure else { panic!() };
        assert!(unfit.resolvable.is_empty(), "no pod's going makes a node of 2 cores hold 3");
    }

    #[test]
    fn the_emptier_node_is_preferred() {
        let mut full = node("a", 8000, 8000);
        full.add(Arc::new(pod("x", 4000, 4000)));
        let snapshot = snapshot(vec![full, node("b", 8000, 8000)]);
        let choice = schedule(&Arc::default(), &pod("new", 1000, 1000), &snapshot, 0, &Random::from_seed(1)).unwrap();
        assert_eq!((choice.node.as_str(), choice.feasible), ("b", 2));
        assert!(choice.scores["b"] > choice.scores["a"], "{:?}", choice.scores);
    }

    #[test]
    fn the_chosen_node_is_recorded_with_its_score_among_equal_ones() {
        let mut chosen = BTreeSet::new();
        for seed in 0..40 {
            let mut nodes: Vec<_> = (0..12).map(|at| node(&format!("n{at:02}"), 8000, 8000)).collect();
            nodes[3].add(Arc::new(pod("x", 4000, 4000)));
            let random = Random::from_seed(seed);
            let choice = schedule(&Arc::default(), &pod("new", 100, 100), &snapshot(nodes), 0, &random).unwrap();
            assert_eq!(choice.scores.len(), SCORES_TOLD);
            let highest = choice.scores.values().max();
            assert_eq!(choice.scores.get(&choice.node), highest);
            assert!(choice.scores.values().all(|score| Some(score) == highest), "{:?}", choice.scores);
            chosen.insert(choice.node);
        }
        assert!(chosen.len() > SCORES_TOLD, "{chosen:?}");
    }

    #[test]
    fn a_pod_leaves_room_for_one_of_higher_priority_that_waits_for_victims_to_end() {
        let mut snapshot = snapshot(vec![node("a", 1000, 0)]);
        let waiting = PodInfo { priority: 10, ..pod("waiting", 1000, 0) };
        snapshot.nominate("a", &Arc::new(waiting.clone()), true);
        assert!(schedule(&Arc::default(), &pod("new", 1000, 0), &snapshot, 0, &Random::from_seed(1)).is_err());
        let waiting = PodInfo { nominated_node: Some("a".to_owned()), ..waiting };
        assert!(schedule(&Arc::default(), &waiting, &snapshot, 0, &Random::from_seed(1)).is_ok());
    }

    #[test]
    fn a_large_cluster_is_looked_at_in_parts_that_take_turns_over_its_zones() {
        let nodes = (0..300).map(|at| {
            node(&format!("n{at:03}"), 1000, 1000).with_label("topology.kubernetes.io/zone", &(at / 100).to_string())
        });
        let snapshot = snapshot(nodes.collect());
        let choice = schedule(&Arc::default(), &pod("a", 1, 1), &snapshot, 0, &Random::from_seed(1)).unwrap();
        assert_eq!((choice.evaluated, choice.feasible), (144, 144));
        let order: Vec<_> = snapshot.nodes_from(1).take(5).map(|node| node.name.to_string()).collect();
        assert_eq!(order, ["n100", "n200", "n001", "n101", "n201"]);
        assert_eq!(&*snapshot.nodes_from(299).nth(1).unwrap().name, "n000");
    }

    proptest! {
        #[test]
        fn no_node_is_allocated_more_than_it_has(
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
                if let Ok(choice) = schedule(&Arc::default(), &pod, &snapshot, index, &random) {
                    snapshot.add_pod(&choice.node, Arc::new(pod));
                }
            }
            for node in snapshot.nodes() {
                prop_assert!(node.requested.milli_cpu <= node.allocatable.milli_cpu);
                prop_assert!(node.requested.memory <= node.allocatable.memory);
                prop_assert!(node.pods.len() as i64 <= node.allowed_pods);
            }
        }
    }

    proptest! {
        #[test]
        fn cached_results_equal_fresh_ones(
            nodes in proptest::collection::vec(0..3_i64, 2..8),
            steps in proptest::collection::vec((0..8_usize, 0..4_u8, 0..2_i32), 1..40),
        ) {
            let nodes = nodes.into_iter().enumerate();
            let mut snapshot = snapshot(nodes.map(|(at, cores)| node(&format!("n{at}"), cores * 1000, 4000)).collect());
            let profile: Arc<Profile> = Arc::default();
            let mut memo = Memo::default();
            for (at, (which, what, priority)) in steps.into_iter().enumerate() {
                let name = format!("n{}", which % snapshot.len());
                match what {
                    0 => {
                        snapshot.add_pod(&name, Arc::new(pod(&format!("there-{at}"), 400, 100)));
                    }
                    1 => {
                        let waiting = PodInfo { priority: 1, ..pod(&format!("nominated-{at}"), 700, 0) };
                        snapshot.nominate(&name, &Arc::new(waiting), true);
                    }
                    2 => {
                        let changed = NodeInfo { unschedulable: at % 2 == 0, ..NodeInfo::clone(snapshot.node(&name).unwrap()) };
                        snapshot.put(changed);
                    }
                    _ => {}
                }
                let new = PodInfo { priority, ..pod(&format!("new-{at}"), 600, 100) };
                let (one, other) = (Random::from_seed(1), Random::from_seed(1));
                let remembered = schedule_with(&mut memo, &profile, &new, &snapshot, at, &one);
                prop_assert_eq!(remembered, schedule(&profile, &new, &snapshot, at, &other));
            }
        }
    }
}
