use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_api::resource_v1::{DeviceRequestAllocationResult, DeviceTaintRule, ResourceClaim, ResourceSlice};
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::{ObjectKey, Resource};

use super::condition::RuleCounts;
use super::decide::{Eviction, eviction_of, is_evicting, newest, selects};
use crate::resource_claim::reserved_claims;

/// The index of slices, and of claims, by the pools of their devices.
const BY_POOL: &str = "device pool";

/// A driver's name contains no slash.
fn pool(driver: &str, name: &str) -> String {
    format!("{driver}/{name}")
}

/// The pool of a slice.
pub(super) fn pool_of(slice: &ResourceSlice) -> String {
    pool(&slice.spec.driver, &slice.spec.pool.name)
}

/// Indexes slices and claims by pool.
pub(super) fn index_by_pool(slices: &SharedInformer<ResourceSlice>, claims: &SharedInformer<ResourceClaim>) {
    slices.add_index(BY_POOL, |slice| vec![pool_of(slice)]);
    claims.add_index(BY_POOL, |claim| {
        let allocation = claim.status.allocation.as_deref();
        let devices = allocation.into_iter().flat_map(|allocation| &allocation.devices.results);
        let pools: BTreeSet<String> = devices.map(|device| pool(&device.driver, &device.pool)).collect();
        pools.into_iter().collect()
    });
}

/// The caches that an eviction depends on.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    pub(super) pods: Lister<Pod>,
    pub(super) claims: Lister<ResourceClaim>,
    pub(super) slices: Lister<ResourceSlice>,
    /// `None` in a release without rules.
    pub(super) rules: Option<Lister<DeviceTaintRule>>,
}

impl Caches {
    /// The rules that evict pods.
    pub(super) fn evicting_rules(&self) -> Vec<Arc<DeviceTaintRule>> {
        let rules = self.rules.as_ref().map(Lister::list).unwrap_or_default();
        rules.into_iter().filter(|rule| is_evicting(rule)).collect()
    }

    /// When a pod must be evicted, with these rules. In Kubernetes: `podEvictionTime`.
    pub(super) fn eviction_of(&self, pod: &Pod, rules: &[Arc<DeviceTaintRule>]) -> Option<Eviction> {
        pod.node_name()?;
        let claims = reserved_claims(pod, |key| self.claims.get(key));
        let evictions = claims.iter().filter_map(|claim| {
            let slices = |device: &_| self.slices_of(device);
            eviction_of(claim, slices, rules)
        });
        evictions.reduce(Eviction::join)
    }

    fn slices_of(&self, device: &DeviceRequestAllocationResult) -> Vec<Arc<ResourceSlice>> {
        self.slices.by_index(BY_POOL, &pool(&device.driver, &device.pool))
    }

    /// The pods for which a claim is reserved.
    pub(super) fn users_of(&self, claim: &ResourceClaim) -> Vec<Arc<Pod>> {
        let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
        let consumers = claim.status.reserved_for.iter();
        let pods = consumers.filter(|consumer| consumer.api_group.is_empty() && consumer.resource == "pods");
        pods.filter_map(|consumer| {
            let pod = self.pods.get(&ObjectKey::new(namespace, consumer.name.as_str()))?;
            (pod.metadata.uid.as_ref() == Some(&consumer.uid)).then_some(pod)
        })
        .collect()
    }

    /// The pods whose claims have devices of a pool.
    pub(super) fn users_of_pool(&self, pool: &str) -> Vec<Arc<Pod>> {
        self.claims.by_index(BY_POOL, pool).iter().flat_map(|claim| self.users_of(claim)).collect()
    }

    /// The pods whose claims have devices.
    pub(super) fn users_of_devices(&self) -> Vec<Arc<Pod>> {
        let claims = self.claims.list();
        let allocated = claims.iter().filter(|claim| claim.status.allocation.is_some());
        allocated.flat_map(|claim| self.users_of(claim)).collect()
    }

    /// What a rule does, or what a rule with the effect None would do with the effect NoExecute. In Kubernetes:
    /// `countPendingPods`, `countTaintedDevices`.
    pub(super) fn counts(&self, rule: &Arc<DeviceTaintRule>) -> RuleCounts {
        match rule.spec.taint.effect.as_str() {
            "NoExecute" => self.pending(rule, &self.evicting_rules()),
            "None" => {
                let mut evicting = DeviceTaintRule::clone(rule);
                "NoExecute".clone_into(&mut evicting.spec.taint.effect);
                let pending = self.pending(rule, &[Arc::new(evicting)]);
                let (published_devices, allocated_devices) = (self.published(rule), self.allocated(rule));
                RuleCounts { published_devices, allocated_devices, ..pending }
            }
            _ => RuleCounts::default(),
        }
    }

    fn pending(&self, rule: &DeviceTaintRule, rules: &[Arc<DeviceTaintRule>]) -> RuleCounts {
        let uid = rule.metadata.uid.as_deref().unwrap_or_default();
        let is_pending = |pod: &Pod| {
            let eviction = self.eviction_of(pod, rules);
            !pod.metadata.is_terminating() && eviction.is_some_and(|eviction| eviction.rules().any(|(_, of)| of == uid))
        };
        let pods: BTreeSet<ObjectKey> =
            self.users_of_devices().iter().filter(|pod| is_pending(pod)).map(|pod| pod.key()).collect();
        let namespaces: BTreeSet<&str> = pods.iter().map(|pod| pod.namespace.as_str()).collect();
        RuleCounts { pods: pods.len(), namespaces: namespaces.len(), ..RuleCounts::default() }
    }

    fn published(&self, rule: &DeviceTaintRule) -> usize {
        let Some(selector) = rule.spec.device_selector.as_deref() else { return 0 };
        let pools = self.slices.index_values(BY_POOL);
        let slices = pools.iter().flat_map(|pool| newest(self.slices.by_index(BY_POOL, pool)));
        let selected = slices.map(|slice| {
            let (driver, pool) = (&slice.spec.driver, &slice.spec.pool.name);
            slice.spec.devices.iter().filter(|device| selector.selects(driver, pool, &device.name)).count()
        });
        selected.sum()
    }

    fn allocated(&self, rule: &DeviceTaintRule) -> usize {
        let claims = self.claims.list();
        let allocations = claims.iter().filter_map(|claim| claim.status.allocation.as_deref());
        allocations.flat_map(|allocation| &allocation.devices.results).filter(|device| selects(rule, device)).count()
    }
}
