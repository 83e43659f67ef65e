use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_api::resource_v1::{DeviceTaintRule, ResourceClaim, ResourceSlice};
use coracle_informer::Notification;
use coracle_meta::{ObjectMeta, Resource};

use super::Key;
use super::caches::{Caches, pool_of};
use super::decide::is_evicting;
use super::timers::{EvictedPods, Timers};

/// Which keys a change queues: pods that are to be evicted, or were, and the rules with the taints of these pods.
#[derive(Clone, Debug)]
pub(super) struct Handlers {
    pub(super) caches: Caches,
    pub(super) timers: Arc<Timers>,
    pub(super) evicted: Arc<EvictedPods>,
}

impl Handlers {
    /// In Kubernetes: `handlePodChange`.
    pub(super) fn of_pod(&self, change: &Notification<Pod>) -> Vec<Key> {
        let is_same = |old: &Pod, new: &Pod| {
            old.spec.node_name == new.spec.node_name
                && old.status.resource_claim_statuses == new.status.resource_claim_statuses
                && old.status.extended_resource_claim_status == new.status.extended_resource_claim_status
        };
        match change {
            Notification::Updated { old, new } if is_same(old, new) => Vec::new(),
            Notification::Added { object: pod, .. } | Notification::Updated { new: pod, .. } => {
                self.of_users([Arc::clone(pod)])
            }
            Notification::Deleted { object, .. } => {
                let key = object.key();
                self.timers.has(&key).then_some(Key::Pod(key)).into_iter().collect()
            }
        }
    }

    /// In Kubernetes: `handleClaimChange`.
    pub(super) fn of_claim(&self, change: &Notification<ResourceClaim>) -> Vec<Key> {
        let claims = change.old().into_iter().chain([change.object()]);
        self.of_users(claims.flat_map(|claim| self.caches.users_of(claim)))
    }

    /// In Kubernetes: `handleSliceChange`.
    pub(super) fn of_slice(&self, change: &Notification<ResourceSlice>) -> Vec<Key> {
        let slice = change.object();
        if change.old().is_some_and(|old| old.spec == slice.spec) {
            return Vec::new();
        }
        let pools: BTreeSet<String> = change.old().into_iter().chain([slice]).map(|one| pool_of(one)).collect();
        self.of_users(pools.iter().flat_map(|pool| self.caches.users_of_pool(pool)))
    }

    /// The rule first. In Kubernetes: `handleRuleChange`.
    pub(super) fn of_rule(&self, change: &Notification<DeviceTaintRule>) -> Vec<Key> {
        let rule = change.object();
        let uid = |metadata: &ObjectMeta| metadata.uid.clone().unwrap_or_default();
        let mut keys = Vec::new();
        match change {
            Notification::Updated { old, new } if old.spec == new.spec && uid(&old.metadata) == uid(&new.metadata) => {
                return keys;
            }
            Notification::Added { .. } | Notification::Updated { .. } => keys.push(Key::Rule(rule.key().name)),
            Notification::Deleted { .. } => self.evicted.forget(&uid(&rule.metadata)),
        }
        if is_evicting(rule) || change.old().is_some_and(|old| is_evicting(old)) {
            let pods = self.of_users(self.caches.users_of_devices());
            keys.extend(pods.into_iter().filter(|key| matches!(key, Key::Pod(_))));
        }
        keys
    }

    fn of_users(&self, pods: impl IntoIterator<Item = Arc<Pod>>) -> Vec<Key> {
        let rules = self.caches.evicting_rules();
        let mut keys = BTreeSet::new();
        for pod in pods {
            let eviction = self.caches.eviction_of(&pod, &rules);
            let key = pod.key();
            if eviction.is_some() || self.timers.has(&key) {
                keys.insert(Key::Pod(key));
            }
            keys.extend(eviction.iter().flat_map(|one| one.rules()).map(|(name, _)| Key::Rule(name.to_owned())));
        }
        keys.into_iter().collect()
    }
}
