//! How many replicas each set of a rollout may have next.

use std::collections::BTreeMap;

/// The numbers of one ReplicaSet that a rollout reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetSize {
    /// Its name.
    pub(super) name: String,
    /// Its `creationTimestamp`; RFC 3339 in UTC and whole seconds, so that text order is time order.
    pub(super) created: String,
    /// `spec.replicas`
    pub(super) replicas: i32,
    /// `status.availableReplicas`
    pub(super) available: i32,
    /// The annotation `deployment.kubernetes.io/max-replicas`: the maximum when the set was last scaled.
    pub(super) max_replicas: Option<i32>,
}

/// The limits of the Deployment as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// `spec.replicas`
    pub(super) replicas: i32,
    /// How many extra replicas may exist during the rollout.
    pub(super) surge: i32,
    /// How many may be unavailable.
    pub(super) unavailable: i32,
}

impl Bounds {
    /// From the two settings as numbers. With both zero a rollout could never progress, so one replica may be
    /// unavailable. In Kubernetes: `ResolveFenceposts`.
    pub(super) fn rolling(replicas: i32, surge: i32, unavailable: i32) -> Self {
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        let unavailable = if replicas == 0 { 0 } else { unavailable.min(replicas) };
        Self { replicas, surge, unavailable }
    }

    /// With neither surge nor unavailability: the strategy `Recreate`.
    pub(super) fn recreate(replicas: i32) -> Self {
        Self { replicas, surge: 0, unavailable: 0 }
    }

    fn min_available(self) -> i32 {
        self.replicas - self.unavailable
    }

    /// The maximum number of replicas during the rollout.
    pub(super) fn most(self) -> i32 {
        self.replicas.saturating_add(self.surge)
    }
}

/// Sums may exceed the range of a set's size; no single size does.
fn narrow(count: i64) -> i32 {
    i32::try_from(count).unwrap_or(if count < 0 { i32::MIN } else { i32::MAX })
}

fn sum(counts: impl Iterator<Item = i32>) -> i64 {
    counts.map(i64::from).sum()
}

/// The new set's size, given the sum of all sizes including its own.
pub(super) fn new_size(bounds: Bounds, new: i32, sum: i64) -> i32 {
    if new >= bounds.replicas {
        return bounds.replicas;
    }
    let room = narrow((i64::from(bounds.replicas) + i64::from(bounds.surge) - sum).max(0));
    new + room.min(bounds.replicas - new)
}

impl SetSize {
    /// How many of its available replicas stay. A status from before the set was scaled down counts some that are
    /// about to be deleted.
    ///
    /// Unlike Kubernetes: there such a status makes the sync fail, and it is retried.
    fn lasting(&self) -> i32 {
        self.available.min(self.replicas)
    }
}

/// One round of scaling the old sets down: first their unhealthy pods, then as many as availability allows, in both
/// cases the oldest set first. Returns only the sets that change.
pub(super) fn shrink_old(bounds: Bounds, new: &SetSize, old: &[SetSize]) -> BTreeMap<String, i32> {
    let old_sum = sum(old.iter().map(|set| set.replicas));
    let budget = narrow(old_sum + i64::from(new.lasting()) - i64::from(bounds.min_available()));
    if old_sum == 0 || budget <= 0 {
        return BTreeMap::new();
    }
    let mut old = old.to_vec();
    old.sort_by(|a, b| (&a.created, &a.name).cmp(&(&b.created, &b.name)));
    let before: BTreeMap<String, i32> = old.iter().map(|set| (set.name.clone(), set.replicas)).collect();
    take(&mut old, budget, |set| set.replicas - set.lasting());
    let available = i64::from(new.lasting()) + sum(old.iter().map(SetSize::lasting));
    take(&mut old, narrow(available - i64::from(bounds.min_available())), |set| set.replicas);
    old.into_iter().filter(|set| before[&set.name] != set.replicas).map(|set| (set.name, set.replicas)).collect()
}

/// Removes up to `budget` replicas, from each set in turn at most what `spare` allows.
fn take(sets: &mut [SetSize], budget: i32, spare: impl Fn(&SetSize) -> i32) {
    let mut left = budget;
    for set in sets {
        let taken = spare(set).clamp(0, left.max(0));
        set.replicas -= taken;
        left -= taken;
    }
}

/// Distributes a change of `spec.replicas` during a rollout over the sets that have replicas, in proportion to their
/// sizes. `reported` is the Deployment's `status.replicas`, for sets without the annotation. Returns every set,
/// changed or not, because their annotations are updated too.
pub(super) fn in_proportion(bounds: Bounds, active: &[SetSize], reported: i32) -> BTreeMap<String, i32> {
    let most = if bounds.replicas > 0 { i64::from(bounds.replicas) + i64::from(bounds.surge) } else { 0 };
    let change = narrow(most - sum(active.iter().map(|set| set.replicas)));
    let mut sets = active.to_vec();
    sets.sort_by(|a, b| {
        let by_age = (&a.created, &a.name).cmp(&(&b.created, &b.name));
        let by_age = if change > 0 { by_age.reverse() } else { by_age };
        b.replicas.cmp(&a.replicas).then(by_age)
    });
    let mut done = 0;
    let mut sizes: Vec<(String, i32)> = Vec::with_capacity(sets.len());
    for set in &sets {
        let allowed = change.saturating_sub(done);
        let share = if set.replicas == 0 || allowed == 0 { 0 } else { fraction(bounds, set, reported) };
        let share = if change > 0 { share.min(allowed) } else { share.max(allowed) };
        done = done.saturating_add(share);
        sizes.push((set.name.clone(), set.replicas.saturating_add(share)));
    }
    if let Some((_, largest)) = sizes.first_mut() {
        *largest = narrow(i64::from(*largest) + i64::from(change) - i64::from(done)).max(0);
    }
    sizes.into_iter().collect()
}

fn fraction(bounds: Bounds, set: &SetSize, reported: i32) -> i32 {
    if bounds.replicas == 0 {
        return -set.replicas;
    }
    let before = set.max_replicas.filter(|most| *most != 0).unwrap_or(reported);
    if before == 0 {
        return 0;
    }
    let size = f64::from(set.replicas) * (f64::from(bounds.replicas) + f64::from(bounds.surge)) / f64::from(before);
    (size.round() as i32).saturating_sub(set.replicas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(name: &str, replicas: i32, available: i32, max_replicas: i32) -> SetSize {
        SetSize {
            name: name.to_owned(),
            created: format!("2026-01-01T00:00:0{}Z", name.len()),
            replicas,
            available,
            max_replicas: Some(max_replicas),
        }
    }

    #[test]
    fn a_new_set_grows_into_the_surge() {
        let bounds = Bounds::rolling(4, 1, 1);
        assert_eq!(new_size(bounds, 0, 4), 1);
        assert_eq!(new_size(bounds, 1, 5), 1);
        assert_eq!(new_size(bounds, 6, 6), 4);
        assert_eq!(new_size(Bounds::recreate(3), 0, 0), 3);
    }

    #[test]
    fn old_sets_shrink_only_as_far_as_enough_stay_available() {
        let bounds = Bounds::rolling(10, 3, 2);
        assert_eq!(shrink_old(bounds, &set("new", 3, 0, 13), &[set("o", 10, 10, 10)])["o"], 8);
        assert!(shrink_old(bounds, &set("new", 5, 0, 13), &[set("o", 8, 8, 10)]).is_empty());
    }

    #[test]
    fn a_status_from_before_a_set_was_made_smaller_makes_it_no_smaller_still() {
        let bounds = Bounds::rolling(3, 2, 1);
        let sizes = shrink_old(bounds, &set("new", 2, 0, 5), &[set("o", 3, 7, 5)]);
        assert_eq!(sizes, BTreeMap::from([("o".to_owned(), 2)]));
    }

    #[test]
    fn unhealthy_replicas_of_old_sets_go_first() {
        let bounds = Bounds::rolling(4, 1, 1);
        let sizes = shrink_old(bounds, &set("new", 1, 1, 5), &[set("o", 3, 3, 5), set("ol", 2, 0, 5)]);
        assert_eq!(sizes, BTreeMap::from([("o".to_owned(), 2), ("ol".to_owned(), 0)]));
    }

    #[test]
    fn a_change_in_the_middle_is_shared_in_proportion_and_the_rest_goes_to_the_largest() {
        let up = in_proportion(Bounds::rolling(9, 2, 1), &[set("o", 5, 5, 8), set("new", 3, 0, 8)], 8);
        assert_eq!(up, BTreeMap::from([("o".to_owned(), 7), ("new".to_owned(), 4)]));
        let down = in_proportion(Bounds::rolling(3, 2, 1), &[set("o", 7, 5, 11), set("new", 4, 0, 11)], 11);
        assert_eq!(down, BTreeMap::from([("o".to_owned(), 3), ("new".to_owned(), 2)]));
        let gone = in_proportion(Bounds::rolling(0, 2, 1), &[set("o", 7, 5, 11), set("new", 4, 0, 11)], 11);
        assert!(gone.values().all(|size| *size == 0));
    }

    proptest! {
        #[test]
        fn a_rollout_never_takes_more_than_may_be_unavailable(
            replicas in 1..50, surge in 0..10, unavailable in 0..10,
            new in (0..50_i32, 0.0..=1.0_f64), old in proptest::collection::vec((0..30_i32, 0.0..=1.0_f64), 1..4),
        ) {
            let bounds = Bounds::rolling(replicas, surge, unavailable);
            let part = |(size, share): (i32, f64)| (size, (f64::from(size) * share) as i32);
            let (size, available) = part(new);
            let new = set("new", size, available, 0);
            let old: Vec<SetSize> = old.into_iter().enumerate().map(|(index, old)| {
                let (size, available) = part(old);
                set(&"o".repeat(index + 4), size, available, 0)
            }).collect();
            let sizes = shrink_old(bounds, &new, &old);
            let left = |set: &SetSize| sizes.get(&set.name).copied().unwrap_or(set.replicas).min(set.available);
            let available_before: i32 = new.available + old.iter().map(|set| set.available).sum::<i32>();
            // A set drops its unavailable replicas first, so what stays available is the smaller of size and availability.
            let available_after: i32 = new.available + old.iter().map(left).sum::<i32>();
            prop_assert!(available_after >= available_before.min(bounds.min_available()));
            prop_assert!(sizes.values().all(|size| *size >= 0));
        }

        #[test]
        fn in_proportion_the_sets_add_up_to_what_is_allowed_unless_the_largest_would_fall_below_none(
            replicas in 0..100, surge in 0..20, sizes in proptest::collection::vec((1..60_i32, 1..100_i32), 1..5),
        ) {
            let bounds = Bounds::rolling(replicas, surge, 1);
            let sets: Vec<SetSize> = sizes.into_iter().enumerate()
                .map(|(index, (size, most))| set(&"s".repeat(index + 1), size, 0, most)).collect();
            let sizes = in_proportion(bounds, &sets, 0);
            let sum: i32 = sizes.values().sum();
            let allowed = if replicas > 0 { replicas + surge } else { 0 };
            prop_assert!(sum == allowed || (sum > allowed && sizes.values().any(|size| *size == 0)));
        }
    }
}
