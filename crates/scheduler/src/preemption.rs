use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use coracle_ambient::Random;
use coracle_meta::LabelSelector;

use crate::candidate::{Candidate, CandidateResult};
use crate::checks::Checks;
use crate::cycle::Unfit;
use crate::framework::FilterVerdict;
use crate::memo::Memo;
use crate::message::FitError;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::profile::Profile;
use crate::snapshot::Snapshot;

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// How many pods of a selector may still be disrupted. In Kubernetes: a PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The namespace of the pods.
    pub namespace: String,
    /// The pods.
    pub selector: LabelSelector,
    /// `status.disruptionsAllowed`
    pub allowed: i64,
}

/// The node that preemption chose, and the victims.
#[derive(Clone, Debug, PartialEq)]
pub struct Victims {
    /// The node.
    pub node: String,
    /// The victims, the most important first.
    pub pods: Vec<Arc<PodInfo>>,
}

impl Victims {
    /// What the message about the pod says of them.
    pub(crate) fn sentence(&self) -> String {
        let (node, count) = (&self.node, self.pods.len());
        format!("preemption: found a potential placement for pod on node {node}, preempting {count} victims")
    }
}

/// Finds victims whose deletion makes room for a pod. With many nodes only some are tried, starting at a random one.
///
/// # Errors
/// The message if preemption does not help.
pub fn preempt(
    profile: &Arc<Profile>,
    pod: &PodInfo,
    snapshot: &Snapshot,
    unfit: &Unfit,
    budgets: &[Budget],
    random: &Random,
) -> Result<Victims, String> {
    preempt_with(&mut Memo::default(), profile, pod, snapshot, unfit, budgets, random)
}

/// As [`preempt`], with the memo of previous pods.
pub(crate) fn preempt_with(
    memo: &mut Memo,
    profile: &Arc<Profile>,
    pod: &PodInfo,
    snapshot: &Snapshot,
    unfit: &Unfit,
    budgets: &[Budget],
    random: &Random,
) -> Result<Victims, String> {
    let arguments = profile.preemption.clone().unwrap_or_default();
    check_eligible(pod, snapshot)?;
    let mut explanation = FitError { nodes: snapshot.len(), ..FitError::default() };
    let checks = Checks::prepare(profile, pod, snapshot);
    let tried = unfit.resolvable.len();
    let enough = (tried * arguments.percentage / 100).max(arguments.absolute);
    let offset = if tried > enough { random.below(tried as u64) as usize } else { 0 };
    let (before, after) = unfit.resolvable.split_at(offset);
    let find = if checks.look_at_pods() { victims_by_trial } else { victims_by_sums };
    // What budgets allow changes with each victim.
    let mut memo = Memo::of(memo, profile, pod, &checks).filter(|_| budgets.is_empty());
    let mut candidates: Vec<Cow<'_, Candidate>> = Vec::new();
    let mut remembered: Vec<&NodeInfo> = Vec::new();
    let mut some_violates_nothing = false;
    for node in after.iter().chain(before).filter_map(|slot| snapshot.at(*slot)) {
        let asked = || find(pod, node, &checks, budgets);
        match &mut memo {
            Some(memo) => match memo.victims(node, snapshot, asked) {
                Ok(_) => {
                    some_violates_nothing = true;
                    remembered.push(node);
                }
                Err(reasons) => explanation.count(reasons.clone()),
            },
            None => match asked() {
                Ok(victims) => {
                    some_violates_nothing |= victims.violations == 0;
                    candidates.push(Cow::Owned(victims));
                }
                Err(reasons) => explanation.count(reasons),
            },
        }
        if candidates.len() + remembered.len() >= enough && some_violates_nothing {
            break;
        }
    }
    if let Some(memo) = memo {
        let memo: &Memo = memo;
        candidates.extend(remembered.iter().filter_map(|node| memo.known_victims(node)).map(Cow::Borrowed));
    }
    let best = candidates.iter().min_by_key(|candidate| candidate.rank());
    let victims = |best: &Cow<'_, Candidate>| Victims { node: best.node.to_string(), pods: best.pods.clone() };
    best.map(victims).ok_or_else(|| {
        explanation.count_nodes(snapshot.len() - tried, "Preemption is not helpful for scheduling");
        explanation.to_string()
    })
}

fn check_eligible(pod: &PodInfo, snapshot: &Snapshot) -> Result<(), String> {
    if pod.never_preempts {
        return Err("not eligible due to preemptionPolicy=Never.".to_owned());
    }
    if waits_for_a_victim(pod, snapshot) {
        return Err("not eligible due to a terminating pod on the nominated node.".to_owned());
    }
    Ok(())
}

/// Whether a pod of lower priority on the nominated node is already being deleted.
fn waits_for_a_victim(pod: &PodInfo, snapshot: &Snapshot) -> bool {
    let node = pod.nominated_node.as_ref().and_then(|name| snapshot.node(name));
    node.is_some_and(|node| node.pods.iter().any(|other| other.terminating && other.priority < pod.priority))
}

/// As [`victims_by_trial`], for filters that read sums only: victims are subtracted from the sum instead of being
/// removed from a copy.
fn victims_by_sums(pod: &PodInfo, node: &NodeInfo, checks: &Checks<'_>, budgets: &[Budget]) -> CandidateResult {
    let expected = checks.expected(node);
    let full = expected.as_deref().unwrap_or(node);
    let (mut used, mut pods) = (full.requested.clone(), full.pods.len() as i64);
    let lower = node.by_priority.iter().take_while(|equals| equals.priority < pod.priority);
    for equals in lower {
        used.subtract(&equals.requested);
        pods -= equals.pods;
    }
    if pods == full.pods.len() as i64 {
        return Err([NO_VICTIMS].into_iter().collect());
    }
    let rejection = match checks.beside(node, &used, pods) {
        FilterVerdict::Fits => checks.rejection_by_the_node(node).map(|(_, verdict)| verdict),
        verdict => Some(verdict),
    };
    if let Some(FilterVerdict::Rejected(reasons) | FilterVerdict::Unresolvable(reasons)) = rejection {
        return Err(reasons);
    }
    let stays = |other: &Arc<PodInfo>| {
        used.add(&other.requests);
        pods += 1;
        let stays = checks.beside(node, &used, pods) == FilterVerdict::Fits;
        if !stays {
            used.subtract(&other.requests);
            pods -= 1;
        }
        stays
    };
    Ok(give_back(node, lower_than(pod, node), budgets, stays))
}

/// The fewest and least important victims: all pods of lower priority are removed, and then added back one by one if
/// the pod still fits, those protected by a budget and the most important ones first.
fn victims_by_trial(pod: &PodInfo, node: &NodeInfo, checks: &Checks<'_>, budgets: &[Budget]) -> CandidateResult {
    let lower = lower_than(pod, node);
    if lower.is_empty() {
        return Err([NO_VICTIMS].into_iter().collect());
    }
    let mut left = node.supposed();
    for other in &lower {
        left.remove(&other.key);
    }
    if let Some((_, FilterVerdict::Rejected(reasons) | FilterVerdict::Unresolvable(reasons))) = checks.rejection(&left)
    {
        return Err(reasons);
    }
    let stays = |other: &Arc<PodInfo>| {
        left.add(other.clone());
        let stays = checks.rejection(&left).is_none();
        if !stays {
            left.remove(&other.key);
        }
        stays
    };
    Ok(give_back(node, lower, budgets, stays))
}

/// The pods of lower priority, the most important first.
fn lower_than<'a>(pod: &PodInfo, node: &'a NodeInfo) -> Vec<&'a Arc<PodInfo>> {
    let are_all = node.by_priority.last().is_none_or(|equals| equals.priority < pod.priority);
    let mut lower: Vec<_> = node.pods.iter().filter(|other| are_all || other.priority < pod.priority).collect();
    lower.sort_by(|a, b| importance(a).cmp(&importance(b)));
    lower
}

fn give_back(
    node: &NodeInfo,
    lower: Vec<&Arc<PodInfo>>,
    budgets: &[Budget],
    mut stays: impl FnMut(&Arc<PodInfo>) -> bool,
) -> Candidate {
    let (mut violating, mut pods) = split_by_budgets(lower, budgets);
    violating.retain(|other| !stays(other));
    pods.retain(|other| !stays(other));
    let violations = violating.len();
    if violations > 0 {
        pods.extend(violating);
        pods.sort_by(|a, b| (importance(a), &a.key).cmp(&(importance(b), &b.key)));
    }
    Candidate { node: node.name.clone(), pods: pods.into_iter().cloned().collect(), violations }
}

/// Smaller is more important: higher priority, then earlier start, then the order by key.
fn importance(pod: &PodInfo) -> (Reverse<i32>, bool, Option<&str>) {
    (Reverse(pod.priority), pod.started.is_none(), pod.started.as_deref())
}

type Split<'a> = (Vec<&'a Arc<PodInfo>>, Vec<&'a Arc<PodInfo>>);

/// The pods whose deletion would violate a budget, and the others, each in the given order.
fn split_by_budgets<'a>(pods: Vec<&'a Arc<PodInfo>>, budgets: &[Budget]) -> Split<'a> {
    if budgets.is_empty() {
        return (Vec::new(), pods);
    }
    let mut allowed: Vec<i64> = budgets.iter().map(|budget| budget.allowed).collect();
    pods.into_iter().partition(|pod| {
        let mut violates = false;
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            let protects = budget.namespace == pod.key.namespace
                && !budget.selector.is_everything()
                && budget.selector.matches(&pod.labels);
            if protects {
                *allowed -= 1;
                violates |= *allowed < 0;
            }
        }
        violates
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::{SchedulingFailure, schedule};
    use crate::resources::Resources;
    use coracle_meta::ObjectKey;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn pod(name: &str, priority: i32, milli_cpu: i64) -> PodInfo {
        PodInfo {
            key: ObjectKey::new("default", name),
            uid: name.to_owned(),
            priority,
            labels: BTreeMap::from([("name".to_owned(), name.to_owned())]),
            requests: Resources { milli_cpu, ..Resources::default() },
            ..PodInfo::default()
        }
    }

    fn snapshot(nodes: &[(&str, Vec<PodInfo>)]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (name, pods) in nodes {
            let allocatable = Resources { milli_cpu: 2000, ..Resources::default() };
            let mut node = NodeInfo { name: (*name).into(), allocatable, allowed_pods: 110, ..NodeInfo::default() };
            pods.iter().for_each(|pod| node.add(Arc::new(pod.clone())));
            snapshot.put(node);
        }
        snapshot
    }

    fn tried(pod: &PodInfo, snapshot: &Snapshot, budgets: &[Budget]) -> Result<(String, Vec<String>), String> {
        match schedule(&Arc::default(), pod, snapshot, 0, &Random::from_seed(1)) {
            Err(SchedulingFailure::Unfit(unfit)) => {
                preempt(&Arc::default(), pod, snapshot, &unfit, budgets, &Random::from_seed(1))
                    .map(|victims| (victims.node, victims.pods.iter().map(|pod| pod.key.name.clone()).collect()))
            }
            other => panic!("the pod fits: {other:?}"),
        }
    }

    #[test]
    fn only_the_necessary_pods_are_preempted_the_least_important_first() {
        let full = snapshot(&[("a", vec![pod("low", 0, 1000), pod("mid", 500, 1000)])]);
        assert_eq!(tried(&pod("high", 1000, 1000), &full, &[]), Ok(("a".to_owned(), vec!["low".to_owned()])));
        let both = tried(&pod("high", 1000, 2000), &full, &[]).unwrap();
        assert_eq!(both.1, ["mid", "low"]);
    }

    #[test]
    fn equal_priority_is_never_preempted() {
        let full = snapshot(&[("a", vec![pod("x", 10, 2000)])]);
        assert_eq!(
            tried(&pod("y", 10, 1000), &full, &[]).unwrap_err(),
            "0/1 nodes are available: 1 No preemption victims found for incoming pod."
        );
        let polite = PodInfo { never_preempts: true, ..pod("z", 100, 1000) };
        assert_eq!(tried(&polite, &full, &[]).unwrap_err(), "not eligible due to preemptionPolicy=Never.");
    }

    #[test]
    fn the_node_with_the_least_important_victims_is_taken_unless_a_budget_would_break() {
        let full = snapshot(&[("a", vec![pod("low", 0, 2000)]), ("b", vec![pod("mid", 500, 2000)])]);
        assert_eq!(tried(&pod("high", 1000, 1000), &full, &[]).unwrap().0, "a");
        let budget = Budget {
            namespace: "default".to_owned(),
            selector: LabelSelector::of_labels(&BTreeMap::from([("name".to_owned(), "low".to_owned())])),
            allowed: 0,
        };
        assert_eq!(tried(&pod("high", 1000, 1000), &full, &[budget]).unwrap().0, "b");
    }

    #[test]
    fn no_further_pod_is_preempted_while_a_victim_terminates() {
        let ending = PodInfo { terminating: true, ..pod("low", 0, 1000) };
        let full = snapshot(&[("a", vec![ending, pod("mid", 500, 1000)])]);
        let high = PodInfo { nominated_node: Some("a".to_owned()), ..pod("high", 1000, 1000) };
        assert_eq!(
            tried(&high, &full, &[]).unwrap_err(),
            "not eligible due to a terminating pod on the nominated node."
        );
    }

    #[test]
    fn of_many_nodes_a_tenth_is_tried_from_a_random_one_on() {
        let nodes = (0..2000).map(|at| {
            let allocatable = Resources { milli_cpu: 2000, ..Resources::default() };
            let mut node = NodeInfo { name: format!("{at:04}").into(), allocatable, ..NodeInfo::default() };
            node.allowed_pods = 110;
            node.add(Arc::new(pod(&format!("low-{at}"), 0, 2000)));
            node
        });
        let full: Snapshot = nodes.collect();
        let high = pod("high", 10, 1000);
        let Err(SchedulingFailure::Unfit(unfit)) = schedule(&Arc::default(), &high, &full, 0, &Random::from_seed(1))
        else {
            panic!("it fits")
        };
        let (random, profile) = (Random::from_seed(1), Arc::default());
        let chosen: std::collections::BTreeSet<_> =
            (0..20).map(|_| preempt(&profile, &high, &full, &unfit, &[], &random).unwrap().node).collect();
        assert!(chosen.len() > 10, "of equals the first by name is taken, among other nodes each time: {chosen:?}");
    }

    proptest! {
        #[test]
        fn taking_sums_finds_the_victims_that_trying_finds(
            pods in proptest::collection::vec((0..3_i32, 100..900_i64), 0..8),
            nominated in proptest::collection::vec((0..4_i32, 100..900_i64), 0..3),
            allowed_pods in 1..8_i64,
            wanted in 100..2000_i64,
            budget in proptest::option::of(0..3_i64),
        ) {
            let pods = pods.into_iter().enumerate().map(|(at, (priority, cpu))| pod(&format!("p{at}"), priority, cpu));
            let mut snapshot = snapshot(&[("a", pods.collect())]);
            let node = NodeInfo { allowed_pods, ..NodeInfo::clone(snapshot.node("a").unwrap()) };
            snapshot.put(node);
            for (at, (priority, cpu)) in nominated.into_iter().enumerate() {
                snapshot.nominate("a", &Arc::new(pod(&format!("n{at}"), priority, cpu)), true);
            }
            let selector = LabelSelector::parse("name!=p0").unwrap();
            let budget = budget.map(|allowed| Budget { namespace: "default".to_owned(), selector, allowed });
            let (new, budgets) = (pod("new", 2, wanted), budget.as_slice());
            let profile: Arc<Profile> = Arc::default();
            let checks = Checks::prepare(&profile, &new, &snapshot);
            let node = snapshot.node("a").unwrap();
            let shown = |found: CandidateResult| found;
            prop_assert_eq!(
                shown(victims_by_sums(&new, node, &checks, budgets)),
                shown(victims_by_trial(&new, node, &checks, budgets))
            );
        }
    }
}
