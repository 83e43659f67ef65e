//! When the pods that use a claim must be evicted, and why.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::resource_v1::{
    DeviceRequestAllocationResult, DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceClaim, ResourceSlice,
};
use coracle_meta::{Resource, parse_time};
use jiff::SignedDuration;

/// The effect of a taint that evicts pods.
const NO_EXECUTE: &str = "NoExecute";

/// The origin of a taint that is not tolerated. In Kubernetes: `trackedTaint`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaintOrigin {
    Rule { name: String, uid: String },
    Slice { driver: String, pool: String, device: String, taint: usize, slice: String },
}

impl TaintOrigin {
    fn of_rule(rule: &DeviceTaintRule) -> Self {
        let uid = rule.metadata.uid.clone().unwrap_or_default();
        Self::Rule { name: rule.key().name, uid }
    }
}

impl fmt::Display for TaintOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { name, .. } => write!(f, "DeviceTaintRule {name}"),
            Self::Slice { driver, pool, device, taint, slice } => {
                write!(f, "ResourceSlice {slice} {driver}/{pool}/{device} taint #{taint}")
            }
        }
    }
}

/// The time from which a pod must not run, and the taints that it does not tolerate. In Kubernetes:
/// `evictionAndReason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Eviction {
    pub(super) at: Timestamp,
    pub(super) origins: BTreeSet<TaintOrigin>,
}

impl Eviction {
    /// The earlier one, for the reasons of both.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.at = self.at.min(other.at);
        self.origins.extend(other.origins);
        self
    }

    /// The rules whose taints are among the reasons: name and uid.
    pub(super) fn rules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.origins.iter().filter_map(|origin| match origin {
            TaintOrigin::Rule { name, uid } => Some((name.as_str(), uid.as_str())),
            TaintOrigin::Slice { .. } => None,
        })
    }

    /// The reasons, for the event log.
    pub(super) fn reasons(&self) -> String {
        self.origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a rule evicts pods.
pub(super) fn is_evicting(rule: &DeviceTaintRule) -> bool {
    rule.spec.taint.effect == NO_EXECUTE
}

/// Whether a rule selects an allocated device.
pub(super) fn selects(rule: &DeviceTaintRule, device: &DeviceRequestAllocationResult) -> bool {
    let selector = rule.spec.device_selector.as_deref();
    selector.is_some_and(|selector| selector.selects(&device.driver, &device.pool, &device.device))
}

/// The slices of the newest generation among the slices of a pool.
pub(super) fn newest(mut pool: Vec<Arc<ResourceSlice>>) -> Vec<Arc<ResourceSlice>> {
    let newest = pool.iter().map(|slice| slice.spec.pool.generation).max();
    pool.retain(|slice| Some(slice.spec.pool.generation) == newest);
    pool
}

/// When the pods that use a claim must be evicted; `None` while they tolerate the taints of all its devices.
///
/// `pool` returns the slices of the pool of an allocated device, `rules` are those that evict pods. In Kubernetes:
/// `claimEvictionTime`.
pub(super) fn eviction_of(
    claim: &ResourceClaim,
    pool: impl Fn(&DeviceRequestAllocationResult) -> Vec<Arc<ResourceSlice>>,
    rules: &[Arc<DeviceTaintRule>],
) -> Option<Eviction> {
    let allocation = claim.status.allocation.as_deref()?;
    let mut eviction: Option<Eviction> = None;
    let mut add = |device: &DeviceRequestAllocationResult, taint: &DeviceTaint, origin: TaintOrigin| {
        let Some(at) = end_of_toleration(&device.tolerations, taint) else { return };
        let new = Eviction { at, origins: BTreeSet::from([origin]) };
        eviction = Some(match eviction.take() {
            Some(before) => before.join(new),
            None => new,
        });
    };
    for device in &allocation.devices.results {
        let pool = newest(pool(device));
        let published = pool.iter().find_map(|slice| {
            let found = slice.spec.devices.iter().find(|one| one.name == device.device);
            found.map(|found| (slice, found))
        });
        if let Some((slice, found)) = published {
            let evicting = found.taints.iter().enumerate().filter(|(_, taint)| taint.effect == NO_EXECUTE);
            for (at, taint) in evicting {
                let origin = TaintOrigin::Slice {
                    driver: device.driver.clone(),
                    pool: device.pool.clone(),
                    device: device.device.clone(),
                    taint: at,
                    slice: slice.key().name,
                };
                add(device, taint, origin);
            }
        }
        for rule in rules.iter().filter(|rule| selects(rule, device)) {
            add(device, &rule.spec.taint, TaintOrigin::of_rule(rule));
        }
    }
    eviction
}

/// When the tolerations of a taint end; `None` for never. A toleration of all effects does not tolerate an eviction.
fn end_of_toleration(tolerations: &[DeviceToleration], taint: &DeviceTaint) -> Option<Timestamp> {
    // The API server sets the time of each taint.
    let added = taint.time_added.as_deref().and_then(parse_time)?;
    let mut shortest = None;
    for toleration in tolerations.iter().filter(|one| one.effect == NO_EXECUTE && one.tolerates(taint)) {
        let seconds = toleration.toleration_seconds?.max(0);
        shortest = Some(shortest.map_or(seconds, |shortest: i64| shortest.min(seconds)));
    }
    Some(added.later(SignedDuration::from_secs(shortest.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn taint(effect: &str) -> Value {
        json!({"key": "k", "value": "v", "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"})
    }

    fn slice(name: &str, generation: i64, taints: Value) -> Arc<ResourceSlice> {
        let pool = json!({"name": "p", "generation": generation, "resourceSliceCount": 1});
        let devices = json!([{"name": "one", "taints": taints}]);
        let spec = json!({"driver": "d", "pool": pool, "devices": devices});
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
    }

    fn rule(name: &str, device: &str, effect: &str) -> Arc<DeviceTaintRule> {
        let spec = json!({"deviceSelector": {"device": device}, "taint": taint(effect)});
        serde_json::from_value(json!({"metadata": {"name": name, "uid": name}, "spec": spec})).unwrap()
    }

    fn claim(tolerations: Value) -> ResourceClaim {
        let device = json!({"driver": "d", "pool": "p", "device": "one", "tolerations": tolerations});
        let allocation = json!({"devices": {"results": [device]}});
        serde_json::from_value(json!({"status": {"allocation": allocation}})).unwrap()
    }

    fn tolerating(seconds: &[Option<i64>]) -> ResourceClaim {
        let one = |seconds: &Option<i64>| json!({"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        claim(seconds.iter().map(one).collect())
    }

    fn time(claim: &ResourceClaim, slices: &[Arc<ResourceSlice>]) -> Option<Timestamp> {
        eviction_of(claim, |_| slices.to_vec(), &[]).map(|eviction| eviction.at)
    }

    #[test]
    fn pods_go_when_the_taint_came_after_their_shortest_toleration_or_never() {
        let slices = [slice("s", 1, json!([taint("NoExecute")]))];
        assert_eq!(time(&tolerating(&[]), &slices), Some(at(0)));
        assert_eq!(time(&tolerating(&[Some(60), Some(30)]), &slices), Some(at(30)));
        assert_eq!(time(&tolerating(&[Some(-5)]), &slices), Some(at(0)));
        assert_eq!(time(&tolerating(&[Some(60), None]), &slices), None);
        let of_all_effects = json!([{"key": "k", "operator": "Exists"}]);
        assert_eq!(time(&claim(of_all_effects), &slices), Some(at(0)), "only one of the effect NoExecute counts");
        assert_eq!(time(&tolerating(&[]), &[slice("s", 1, json!([taint("NoSchedule")]))]), None);
        assert_eq!(time(&ResourceClaim::default(), &slices), None, "it is not allocated");
    }

    #[test]
    fn only_slices_of_the_newest_generation_count() {
        let (old, new) = (slice("old", 1, json!([taint("NoExecute")])), slice("new", 2, json!([])));
        assert_eq!(time(&tolerating(&[]), &[old, new]), None);
    }

    #[test]
    fn rules_and_slices_are_named_as_reasons_and_the_earliest_counts() {
        let slices = vec![slice("s", 1, json!([taint("NoSchedule"), taint("NoExecute")]))];
        let rules = [rule("r", "one", "NoExecute"), rule("other", "two", "NoExecute")];
        let eviction = eviction_of(&tolerating(&[]), |_| slices.clone(), &rules).unwrap();
        assert_eq!(eviction.reasons(), "DeviceTaintRule r, ResourceSlice s d/p/one taint #1");
        assert_eq!(eviction.rules().collect::<Vec<_>>(), [("r", "r")]);
        let later = Eviction { at: at(9), origins: BTreeSet::new() };
        assert_eq!(later.join(eviction.clone()), eviction);
    }
}
