//! Which pods of older templates are replaced next.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::core_v1::Pod;

use super::observed::ObservedDaemonSet;
use super::placement::Placement;

/// Nodes to create pods for, and pods to delete. In Kubernetes: `rollingUpdate`.
pub(super) fn replace(observed: &ObservedDaemonSet) -> (Vec<String>, Vec<Arc<Pod>>) {
    let desired = observed.desired();
    let surge = observed.surge(desired);
    if surge == 0 {
        let unavailable = observed.max_unavailable(desired);
        return (Vec::new(), one_for_one(observed, if unavailable == 0 { 1 } else { unavailable }));
    }
    side_by_side(observed, surge, desired)
}

/// The pods of one node that stay, by template.
struct OnNode<'a> {
    node: &'a str,
    new: Option<&'a Arc<Pod>>,
    old: Option<&'a Arc<Pod>>,
}

/// The nodes that have pods or should have one; `None` for a node with several pods of one template, whose surplus is
/// deleted first.
fn nodes(observed: &ObservedDaemonSet) -> impl Iterator<Item = Option<OnNode<'_>>> {
    let wanted = observed.placements.iter().filter(|(_, placement)| **placement == Placement::Run);
    let names: BTreeSet<&String> = observed.pods.keys().chain(wanted.map(|(node, _)| node)).collect();
    names.into_iter().map(|node| {
        let pods = observed.pods.get(node).into_iter().flatten().filter(|pod| !pod.is_terminating());
        let (new, old): (Vec<_>, Vec<_>) = pods.partition(|pod| observed.is_updated(pod));
        (new.len() < 2 && old.len() < 2).then(|| OnNode { node, new: new.first().copied(), old: old.first().copied() })
    })
}

/// Deletes old pods, such that at most `max_unavailable` nodes lack an available pod; the next sync creates their
/// replacements. An old pod that is not available is always deleted.
fn one_for_one(observed: &ObservedDaemonSet, max_unavailable: i32) -> Vec<Arc<Pod>> {
    let mut unavailable = 0;
    let (mut useless, mut candidates) = (Vec::new(), Vec::new());
    for on_node in nodes(observed) {
        match on_node {
            Some(OnNode { new: Some(new), old: None, .. }) => unavailable += i32::from(!observed.is_available(new)),
            Some(OnNode { new: None, old: Some(old), .. }) if observed.is_available(old) => {
                candidates.push(old.clone())
            }
            Some(OnNode { new: None, old: Some(old), .. }) => {
                useless.push(old.clone());
                unavailable += 1;
            }
            _ => unavailable += 1,
        }
    }
    candidates.truncate(usize::try_from(max_unavailable.saturating_sub(unavailable)).unwrap_or(0));
    useless.extend(candidates);
    useless
}

/// Creates new pods next to old ones, at most `max_surge` next to available ones; an old pod is deleted once the new
/// one is available. On a node that should not have a pod any more, it is deleted once enough others are available.
fn side_by_side(observed: &ObservedDaemonSet, max_surge: i32, desired: i32) -> (Vec<String>, Vec<Arc<Pod>>) {
    let (mut surge, mut available) = (0, 0);
    let (mut needed, mut candidates) = (Vec::new(), Vec::new());
    let (mut delete, mut misplaced) = (Vec::new(), Vec::new());
    for on_node in nodes(observed) {
        let Some(OnNode { node, new, old }) = on_node else {
            surge += 1;
            continue;
        };
        available += i32::from(old.or(new).is_some_and(|pod| observed.is_available(pod)));
        let Some(old) = old else { continue };
        let Some(placement) = observed.placements.get(node) else { continue };
        match new {
            Some(new) if observed.is_available(new) => delete.push(old.clone()),
            Some(_) => surge += 1,
            None => match (*placement == Placement::Run, observed.is_available(old)) {
                (true, true) => candidates.push(node.to_owned()),
                (true, false) => needed.push(node.to_owned()),
                (false, true) => misplaced.push(old.clone()),
                (false, false) => delete.push(old.clone()),
            },
        }
    }
    misplaced.truncate(usize::try_from(available - desired).unwrap_or(0));
    delete.extend(misplaced);
    candidates.truncate(usize::try_from(max_surge - surge).unwrap_or(0));
    needed.extend(candidates);
    (needed, delete)
}
