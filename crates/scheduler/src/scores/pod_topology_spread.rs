use std::collections::BTreeSet;

use crate::arguments::{Arguments, SpreadDefaults};
use crate::filters::interest;
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::{PodInfo, SpreadConstraint};
use crate::snapshot::Snapshot;

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Prefers domains with fewer matching pods; without constraints, by host and zone among the pods of the same owner
/// and services.
#[derive(Debug)]
struct PodTopologySpread(SpreadDefaults);

pub(crate) fn make(arguments: &Arguments) -> Box<dyn Score> {
    Box::new(PodTopologySpread(arguments.spread.clone()))
}

fn constraints(defaults: &SpreadDefaults, pod: &PodInfo) -> Vec<SpreadConstraint> {
    if pod.names_spread {
        return pod.spread.iter().filter(|constraint| !constraint.required).cloned().collect();
    }
    if let SpreadDefaults::List(_) = defaults {
        return defaults.of(pod, false);
    }
    let Some(selector) = &pod.siblings else { return Vec::new() };
    let preferred = |topology_key: &str, max_skew| SpreadConstraint {
        max_skew,
        topology_key: topology_key.to_owned(),
        required: false,
        selector: selector.clone(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    };
    vec![preferred(HOSTNAME, 3), preferred(ZONE, 5)]
}

impl Score for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let constraints = constraints(&self.0, pod);
        if constraints.is_empty() {
            return None;
        }
        // With the system defaults, a node without a label counts too; with explicit constraints, all labels are
        // required.
        let all_labels = pod.names_spread || self.0 != SpreadDefaults::System;
        let labelled = |node: &NodeInfo| {
            !all_labels || constraints.iter().all(|constraint| node.labels.contains_key(&constraint.topology_key))
        };
        let labels: Vec<_> = constraints.iter().map(|constraint| constraint.topology_key.clone()).collect();
        let candidates: Vec<_> = nodes.iter().map(|node| labelled(node)).collect();
        let mut totals = vec![0.0; nodes.len()];
        for constraint in &constraints {
            let tally = snapshot.tally(interest(constraint, pod, if all_labels { &labels } else { &[] }));
            let by_host = constraint.topology_key == HOSTNAME;
            let among = || nodes.iter().zip(&candidates).filter(|(_, labelled)| **labelled).map(|(node, _)| node);
            let size = if by_host {
                among().count()
            } else {
                among().map(|node| tally.domain_of(node)).collect::<BTreeSet<_>>().len()
            };
            // With more domains, each additional pod in one of them weighs more.
            let weight = ((size + 2) as f64).ln();
            for ((node, labelled), total) in nodes.iter().zip(&candidates).zip(&mut totals) {
                let count = tally.around(node, snapshot.namespaces()).filter(|_| *labelled);
                if let Some(count) = count.map(|count| if by_host { tally.on(node) } else { count }) {
                    *total += count as f64 * weight + (constraint.max_skew - 1) as f64;
                }
            }
        }
        Some(reverse(&candidates, &totals))
    }
}

/// Fewer is better; nodes without the labels get zero.
fn reverse(labelled: &[bool], totals: &[f64]) -> Vec<i64> {
    let totals: Vec<i64> = totals.iter().map(|total| total.round() as i64).collect();
    let counted = || totals.iter().zip(labelled).filter(|(_, labelled)| **labelled).map(|(total, _)| *total);
    let (least, most) = (counted().min().unwrap_or(0), counted().max().unwrap_or(0));
    let score = |(total, labelled): (&i64, &bool)| match (labelled, most) {
        (false, _) => 0,
        (true, 0) => MAX_SCORE,
        (true, most) => MAX_SCORE * (most + least - total) / most,
    };
    totals.iter().zip(labelled).map(score).collect()
}
