use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{LabelSelector, ObjectKey};

use crate::cycle::{Checks, Unfit};
use crate::framework::Verdict;
use crate::message::FitError;
use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::PodInfo;

/// How many pods of a selection may still be disrupted. In Kubernetes: a PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The namespace of the pods.
    pub namespace: String,
    /// The pods.
    pub selector: LabelSelector,
    /// `status.disruptionsAllowed`
    pub allowed: i64,
}

/// Room on a node, and who has to go for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Victims {
    /// The node.
    pub node: String,
    /// Who has to go, the most important first.
    pub pods: Vec<Arc<PodInfo>>,
    violations: usize,
}

/// Whether preemption makes room for a pod, and if not, what to say about it.
pub fn preempt(pod: &PodInfo, snapshot: &Snapshot, unfit: &Unfit, budgets: &[Budget]) -> Result<Victims, String> {
    if pod.never_preempts {
        return Err("not eligible due to preemptionPolicy=Never.".to_owned());
    }
    if waits_for_a_victim(pod, snapshot) {
        return Err("not eligible due to a terminating pod on the nominated node.".to_owned());
    }
    let mut explanation = FitError { nodes: snapshot.nodes.len(), ..FitError::default() };
    let mut candidates = Vec::new();
    for name in &unfit.resolvable {
        match snapshot.nodes.get(name).map(|node| victims_on(pod, node, snapshot, budgets)) {
            Some(Ok(victims)) => candidates.push(victims),
            Some(Err(reasons)) => explanation.count(reasons),
            None => {}
        }
    }
    let best = candidates.into_iter().min_by(|a, b| rank(a).cmp(&rank(b)));
    best.ok_or_else(|| {
        for _ in unfit.resolvable.len()..snapshot.nodes.len() {
            explanation.count(["Preemption is not helpful for scheduling".to_owned()]);
        }
        explanation.to_string()
    })
}

/// Somebody of lower priority is already ending on the node where room was made.
fn waits_for_a_victim(pod: &PodInfo, snapshot: &Snapshot) -> bool {
    let node = pod.nominated_node.as_ref().and_then(|name| snapshot.nodes.get(name));
    node.is_some_and(|node| node.pods.values().any(|other| other.terminating && other.priority < pod.priority))
}

/// The fewest and least important pods whose going makes room: all of lower priority are taken off, and given back one
/// by one where the pod still fits, those that a budget protects and the most important first.
fn victims_on(pod: &PodInfo, node: &NodeInfo, snapshot: &Snapshot, budgets: &[Budget]) -> Result<Victims, Vec<String>> {
    let mut lower: Vec<Arc<PodInfo>> =
        node.pods.values().filter(|other| other.priority < pod.priority).cloned().collect();
    if lower.is_empty() {
        return Err(vec!["No preemption victims found for incoming pod".to_owned()]);
    }
    lower.sort_by(|a, b| importance(a).cmp(&importance(b)));
    let mut left = node.clone();
    for other in &lower {
        left.remove(&other.key);
    }
    if let Some((_, Verdict::Rejected(reasons) | Verdict::Unresolvable(reasons))) = rejection(pod, &left, snapshot) {
        return Err(reasons);
    }
    let (violating, free) = split_by_budgets(lower, budgets);
    let mut victims = Vec::new();
    let mut violations = 0;
    for (other, violates) in violating.into_iter().map(|p| (p, true)).chain(free.into_iter().map(|p| (p, false))) {
        left.add(other.clone());
        if rejection(pod, &left, snapshot).is_some() {
            left.remove(&other.key);
            victims.push(other);
            violations += usize::from(violates);
        }
    }
    victims.sort_by(|a, b| importance(a).cmp(&importance(b)));
    Ok(Victims { node: node.name.clone(), pods: victims, violations })
}

fn rejection(pod: &PodInfo, node: &NodeInfo, snapshot: &Snapshot) -> Option<(&'static str, Verdict)> {
    let changed = snapshot.with_node(node.clone());
    Checks::prepare(pod, &changed).rejection(node)
}

/// Smaller is more important: higher priority, then longer running.
fn importance(pod: &PodInfo) -> (Reverse<i32>, bool, Option<&str>, &ObjectKey) {
    (Reverse(pod.priority), pod.started.is_none(), pod.started.as_deref(), &pod.key)
}

/// Those whose going would break a budget, and the others, each in the order given.
fn split_by_budgets(pods: Vec<Arc<PodInfo>>, budgets: &[Budget]) -> (Vec<Arc<PodInfo>>, Vec<Arc<PodInfo>>) {
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

/// Smaller is better: fewest violations, lowest highest priority, lowest sum, fewest, latest start of the most important.
fn rank(victims: &Victims) -> (usize, i32, i64, usize, Reverse<Option<String>>, String) {
    let highest = victims.pods.first().map_or(i32::MIN, |pod| pod.priority);
    // Shifted so that many pods of negative priority do not look cheaper than few.
    let sum = victims.pods.iter().map(|pod| i64::from(pod.priority) + i64::from(i32::MAX) + 1).sum();
    let mut starts: BTreeMap<i32, Vec<Option<String>>> = BTreeMap::new();
    for pod in &victims.pods {
        starts.entry(pod.priority).or_default().push(pod.started.clone());
    }
    let earliest = starts.get(&highest).and_then(|starts| starts.iter().flatten().min().cloned());
    (victims.violations, highest, sum, victims.pods.len(), Reverse(earliest), victims.node.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::{Failure, schedule};
    use crate::resources::Resources;
    use coracle_ambient::Random;

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
            let mut node = NodeInfo { name: (*name).to_owned(), allocatable, allowed_pods: 110, ..NodeInfo::default() };
            pods.iter().for_each(|pod| node.add(Arc::new(pod.clone())));
            snapshot.nodes.insert(node.name.clone(), Arc::new(node));
        }
        snapshot
    }

    fn tried(pod: &PodInfo, snapshot: &Snapshot, budgets: &[Budget]) -> Result<(String, Vec<String>), String> {
        match schedule(pod, snapshot, 0, &Random::from_seed(1)) {
            Err(Failure::Unfit(unfit)) => preempt(pod, snapshot, &unfit, budgets)
                .map(|victims| (victims.node, victims.pods.iter().map(|pod| pod.key.name.clone()).collect())),
            other => panic!("the pod fits: {other:?}"),
        }
    }

    #[test]
    fn only_as_many_go_as_have_to_and_the_least_important_first() {
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
    fn while_a_victim_ends_nobody_else_is_pushed_out() {
        let ending = PodInfo { terminating: true, ..pod("low", 0, 1000) };
        let full = snapshot(&[("a", vec![ending, pod("mid", 500, 1000)])]);
        let high = PodInfo { nominated_node: Some("a".to_owned()), ..pod("high", 1000, 1000) };
        assert_eq!(
            tried(&high, &full, &[]).unwrap_err(),
            "not eligible due to a terminating pod on the nominated node."
        );
    }
}
