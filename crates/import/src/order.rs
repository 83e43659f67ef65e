use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::Object;

/// The rank of an object in the order of creation. Owners take precedence over it. Objects that others need come first.
/// Objects that may refuse or change others come last.
pub(crate) fn rank(object: &Object, namespaced: bool) -> u8 {
    match object.kind() {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        "APIService"
        | "ValidatingWebhookConfiguration"
        | "MutatingWebhookConfiguration"
        | "ValidatingAdmissionPolicy"
        | "ValidatingAdmissionPolicyBinding" => 9,
        "LimitRange" | "ResourceQuota" => 8,
        _ if !namespaced => 2,
        "ServiceAccount" => 3,
        "ConfigMap" | "Secret" => 4,
        "PersistentVolumeClaim" => 5,
        "Pod" => 6,
        _ => 7,
    }
}

/// An order in which each object comes after those that it needs. Among those that may be next, the lowest rank comes
/// first, then the order of the file. `needs` holds pairs of an object and one that must come before it.
///
/// # Errors
/// The objects that need each other.
pub(crate) fn order(ranks: &[u8], needs: &[(usize, usize)]) -> Result<Vec<usize>, Vec<usize>> {
    let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut holds: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (one, before) in needs {
        waits.entry(*one).or_default().insert(*before);
        holds.entry(*before).or_default().insert(*one);
    }
    let free = (0..ranks.len()).filter(|one| !waits.contains_key(one));
    let mut next: BTreeSet<(u8, usize)> = free.map(|one| (ranks[one], one)).collect();
    let mut ordered = Vec::new();
    while let Some((_, one)) = next.pop_first() {
        ordered.push(one);
        for held in holds.remove(&one).unwrap_or_default() {
            let left = waits.get_mut(&held);
            if left.is_some_and(|left| left.remove(&one) && left.is_empty()) {
                waits.remove(&held);
                next.insert((ranks[held], held));
            }
        }
    }
    if ordered.len() == ranks.len() { Ok(ordered) } else { Err(waits.into_keys().collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn objects_follow_their_dependencies_and_a_cycle_is_reported(
            ranks in proptest::collection::vec(0..3_u8, 1..8),
            pairs in proptest::collection::vec((0..8_usize, 0..8_usize), 0..12),
        ) {
            let needs: Vec<_> = pairs.into_iter().map(|(a, b)| (a % ranks.len(), b % ranks.len())).collect();
            match order(&ranks, &needs) {
                Ok(ordered) => {
                    let at = |one: usize| ordered.iter().position(|other| *other == one).unwrap();
                    prop_assert!(needs.iter().all(|(one, before)| at(*before) < at(*one)));
                }
                Err(circle) => {
                    // Each of them waits for another of them.
                    prop_assert!(circle.iter().all(|one| needs.iter().any(|(a, b)| a == one && circle.contains(b))));
                }
            }
        }
    }

    #[test]
    fn without_needs_ranks_decide_and_then_the_file() {
        assert_eq!(order(&[2, 0, 2, 1], &[]), Ok(vec![1, 3, 0, 2]));
        assert_eq!(order(&[0, 1], &[(0, 1)]), Ok(vec![1, 0]));
    }
}
