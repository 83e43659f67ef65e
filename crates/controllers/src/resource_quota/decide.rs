//! The status of a quota, from counted usage.

use coracle_api::core_v1::{ResourceQuota, ResourceQuotaStatus};
use coracle_api::pod_resources::{Amounts, add};
use coracle_api::quota_usage;
use coracle_meta::{GroupResource, Quantity};

/// The limits of a quota that concern a resource, all zero, to which its objects are added.
pub(super) fn nothing_of(resource: &GroupResource, quota: &ResourceQuota) -> Amounts {
    let names = quota.spec.hard.keys().filter(|name| quota_usage::tracks(resource, name));
    names.map(|name| (name.clone(), Quantity::default())).collect()
}

/// Adds the usage of one object, for the counted limits.
pub(super) fn count_in(counted: &mut Amounts, usage: &Amounts) {
    let limited = usage.iter().filter(|(name, _)| counted.contains_key(*name));
    let limited: Amounts = limited.map(|(name, amount)| (name.clone(), *amount)).collect();
    add(counted, &limited);
}

/// The status after a count, if it changed. A limit that could not be counted keeps its value.
pub(super) fn status(quota: &ResourceQuota, counts: &Amounts) -> Option<ResourceQuotaStatus> {
    let (hard, before) = (&quota.spec.hard, &quota.status);
    let used: Amounts = hard
        .keys()
        .filter_map(|name| Some((name.clone(), *counts.get(name).or_else(|| before.used.get(name))?)))
        .collect();
    let is_first = before.hard.is_empty() && before.used.is_empty();
    let changed = is_first || before.hard != *hard || before.used != used;
    changed.then(|| ResourceQuotaStatus { hard: hard.clone(), used, ..before.clone() })
}

/// The result as a sentence, for the event log.
pub(super) fn sentence(quota: &ResourceQuota, status: &ResourceQuotaStatus) -> String {
    let changed = status.used.iter().filter(|(name, amount)| quota.status.used.get(*name) != Some(amount));
    let parts: Vec<_> = changed
        .map(|(name, amount)| match quota.status.used.get(name) {
            Some(before) => format!("{name} {before} -> {amount}"),
            None => format!("{name} {amount}"),
        })
        .collect();
    if parts.is_empty() { "the limits are others".to_owned() } else { format!("used: {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(pairs: &[(&str, &str)]) -> Amounts {
        pairs.iter().map(|(name, amount)| ((*name).to_owned(), amount.parse().unwrap())).collect()
    }

    fn quota(hard: &[(&str, &str)], used: &[(&str, &str)]) -> ResourceQuota {
        let mut quota = ResourceQuota::default();
        quota.spec.hard = amounts(hard);
        quota.status.hard = amounts(hard);
        quota.status.used = amounts(used);
        quota
    }

    #[test]
    fn only_limited_resources_are_counted_and_uncounted_ones_keep_their_value() {
        let quota = quota(&[("pods", "3"), ("count/boats.sea", "9")], &[("pods", "2"), ("count/boats.sea", "4")]);
        let mut counted = nothing_of(&GroupResource::new("", "pods"), &quota);
        count_in(&mut counted, &amounts(&[("pods", "1"), ("cpu", "2")]));
        assert_eq!(counted, amounts(&[("pods", "1")]));
        let status = status(&quota, &counted).unwrap();
        assert_eq!(status.used, amounts(&[("pods", "1"), ("count/boats.sea", "4")]));
        assert_eq!(sentence(&quota, &status), "used: pods 2 -> 1");
    }

    #[test]
    fn the_same_count_again_is_no_change_and_new_limits_drop_what_was_counted_for_the_old() {
        let mut quota = quota(&[("pods", "3")], &[("pods", "1")]);
        assert_eq!(status(&quota, &amounts(&[("pods", "1000m")])), None);
        quota.spec.hard = amounts(&[("secrets", "1")]);
        let changed = status(&quota, &amounts(&[("secrets", "0")])).unwrap();
        assert_eq!((changed.hard, changed.used), (amounts(&[("secrets", "1")]), amounts(&[("secrets", "0")])));
    }
}
