use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::resource_v1::{AllocationResult, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
use coracle_meta::{ObjectKey, Resource};

use super::DeviceId;
use super::outcome::outcome;
use super::pools::{self, ByPool, Pool};
use super::request::RequestFields;
use super::search::Search;
use super::selectors::Selectors;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;

/// How many pods can share a claim. In Kubernetes: `ResourceClaimReservedForMaxSize`.
const MOST_WHO_SHARE: usize = 256;

/// All devices, their allocations, and pending allocations.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    slices: BTreeMap<String, Arc<ResourceSlice>>,
    /// The slices of one node, and those of several nodes.
    of_node: BTreeMap<String, BTreeSet<String>>,
    of_several: BTreeSet<String>,
    by_pool: ByPool,
    classes: BTreeMap<String, Arc<DeviceClass>>,
    taint_rules: BTreeMap<String, Arc<DeviceTaintRule>>,
    claims: BTreeMap<ObjectKey, Arc<ResourceClaim>>,
    /// Allocations that are being written, and the pod of each.
    pending: BTreeMap<ObjectKey, (ObjectKey, AllocationResult)>,
    /// How many claims use a device.
    in_use: BTreeMap<DeviceId, usize>,
    selectors: Selectors,
}

/// The devices that an allocation takes exclusively.
fn devices(allocation: &AllocationResult) -> impl Iterator<Item = DeviceId> {
    let results = allocation.devices.results.iter().filter(|result| result.admin_access != Some(true));
    results.map(|one| DeviceId { driver: one.driver.clone(), pool: one.pool.clone(), device: one.device.clone() })
}

impl Inventory {
    /// Adds or updates a slice; `None` if it is deleted.
    pub(crate) fn set_slice(&mut self, name: &str, slice: Option<Arc<ResourceSlice>>) {
        self.selectors.forget();
        if let Some(before) = self.slices.remove(name) {
            let pool = (before.spec.driver.clone(), before.spec.pool.name.clone());
            leave(&mut self.by_pool, &pool, name);
            leave(&mut self.of_node, before.spec.node_name.as_deref().unwrap_or_default(), name);
            self.of_several.remove(name);
        }
        let Some(slice) = slice else { return };
        let pool = (slice.spec.driver.clone(), slice.spec.pool.name.clone());
        self.by_pool.entry(pool).or_default().insert(name.to_owned());
        match slice.spec.node_name.as_ref().filter(|node| !node.is_empty()) {
            Some(node) => self.of_node.entry(node.clone()).or_default().insert(name.to_owned()),
            None => self.of_several.insert(name.to_owned()),
        };
        self.slices.insert(name.to_owned(), slice);
    }

    /// Adds or updates a class; `None` if it is deleted.
    pub(crate) fn set_class(&mut self, name: &str, class: Option<Arc<DeviceClass>>) {
        match class {
            Some(class) => self.classes.insert(name.to_owned(), class),
            None => self.classes.remove(name),
        };
    }

    /// Adds or updates a rule that taints devices; `None` if it is deleted.
    pub(crate) fn set_taint_rule(&mut self, name: &str, rule: Option<Arc<DeviceTaintRule>>) {
        match rule {
            Some(rule) => self.taint_rules.insert(name.to_owned(), rule),
            None => self.taint_rules.remove(name),
        };
    }

    /// Adds or updates a claim; `None` if it is deleted.
    pub(crate) fn set_claim(&mut self, key: &ObjectKey, claim: Option<Arc<ResourceClaim>>) {
        self.count(key, false);
        match claim {
            Some(claim) => self.claims.insert(key.clone(), claim),
            None => self.claims.remove(key),
        };
        self.count(key, true);
    }

    /// Records the pending allocation of a pod's claim.
    pub(crate) fn take(&mut self, pod: &ObjectKey, claim: &ObjectKey, allocation: AllocationResult) {
        self.count(claim, false);
        self.pending.insert(claim.clone(), (pod.clone(), allocation));
        self.count(claim, true);
    }

    /// Removes the pending allocations of a pod: they are written, or failed.
    pub(crate) fn release(&mut self, pod: &ObjectKey) {
        let of_pod = self.pending.iter().filter(|(_, (owner, _))| owner == pod);
        let keys: Vec<_> = of_pod.map(|(claim, _)| claim.clone()).collect();
        for key in keys {
            self.count(&key, false);
            self.pending.remove(&key);
            self.count(&key, true);
        }
    }

    fn count(&mut self, claim: &ObjectKey, comes: bool) {
        let shown = self.claims.get(claim).and_then(|claim| claim.status.allocation.as_deref());
        let Some(allocation) = shown.or_else(|| self.pending.get(claim).map(|(_, one)| one)) else { return };
        for id in devices(allocation) {
            let claims = self.in_use.entry(id.clone()).or_default();
            *claims = if comes { *claims + 1 } else { claims.saturating_sub(1) };
            if *claims == 0 {
                self.in_use.remove(&id);
            }
        }
    }

    /// The claims of a pod.
    ///
    /// # Errors
    /// Why the pod cannot use one of them.
    pub(crate) fn claims_of(&self, pod: &PodInfo) -> Result<Vec<Arc<ResourceClaim>>, String> {
        if let Some(why) = &pod.resource_claims.unknown {
            return Err(why.clone());
        }
        let mut claims = Vec::new();
        for (name, is_made) in &pod.resource_claims.names {
            let key = ObjectKey::new(pod.key.namespace.as_str(), name.as_str());
            let claim = self.claims.get(&key).ok_or_else(|| format!("resourceclaim {name:?} not found"))?;
            if claim.metadata.is_terminating() {
                return Err(format!("resourceclaim {name:?} is being deleted"));
            }
            if *is_made && claim.metadata.controller().is_none_or(|owner| owner.uid != pod.uid) {
                return Err(format!("ResourceClaim {key} was not created for pod {} (pod is not owner)", pod.key));
            }
            claims.push(claim.clone());
        }
        Ok(claims)
    }

    /// Why no node can run the pod. In Kubernetes: `PreFilter` of `DynamicResources`.
    pub(crate) fn refusal(&self, pod: &PodInfo) -> Option<String> {
        let claims = match self.claims_of(pod) {
            Ok(claims) => claims,
            Err(why) => return Some(why),
        };
        claims.iter().find_map(|claim| self.refusal_of(pod, claim).err())
    }

    fn refusal_of(&self, pod: &PodInfo, claim: &ResourceClaim) -> Result<(), String> {
        if claim.status.allocation.is_some() {
            let can_be_shared = claim.status.reserved_for.len() < MOST_WHO_SHARE || is_reserved(claim, pod);
            return if can_be_shared { Ok(()) } else { Err("resourceclaim in use".to_owned()) };
        }
        if self.pending.contains_key(&claim.key()) {
            return Err(format!("resource claim {} is in the process of being allocated", claim.key()));
        }
        for request in &claim.spec.devices.requests {
            for said in RequestFields::of(claim, request)? {
                if !self.classes.contains_key(said.class) {
                    return Err(format!("request {}: device class {} does not exist", said.reference, said.class));
                }
            }
        }
        Ok(())
    }

    /// Allocations for unallocated claims on a node; `None` if there are not enough devices for all.
    ///
    /// # Errors
    /// Why a request is invalid.
    pub(crate) fn allocate(
        &self,
        claims: &[Arc<ResourceClaim>],
        node: &NodeInfo,
    ) -> Result<Option<Vec<AllocationResult>>, String> {
        let pools = self.pools(node);
        let mut search = Search::new(claims, &pools, &self.selectors, &self.classes, &self.in_use, &self.taint_rules);
        if !search.run()? {
            return Ok(None);
        }
        let found = claims.iter().zip(&search.asks).zip(&search.picked);
        found.map(|((claim, asks), picked)| outcome(claim, asks, picked)).collect::<Result<_, _>>().map(Some)
    }

    fn pools(&self, node: &NodeInfo) -> Vec<Pool> {
        let own = self.of_node.get(&*node.name).into_iter().flatten();
        let near = own.chain(&self.of_several).filter_map(|name| self.slices.get(name));
        pools::gather(near, &self.slices, &self.by_pool, node)
    }
}

fn leave<K, Q>(sets: &mut BTreeMap<K, BTreeSet<String>>, key: &Q, name: &str)
where
    K: std::borrow::Borrow<Q> + Ord,
    Q: Ord + ?Sized,
{
    if let Some(set) = sets.get_mut(key) {
        set.remove(name);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

/// Whether a claim is reserved for a pod. In Kubernetes: `IsReservedForPod`.
pub(crate) fn is_reserved(claim: &ResourceClaim, pod: &PodInfo) -> bool {
    claim.status.reserved_for.iter().any(|who| who.uid == pod.uid)
}

/// Whether an allocated claim can be used on a node.
pub(crate) fn is_available(claim: &ResourceClaim, node: &NodeInfo) -> bool {
    let allocation = claim.status.allocation.as_deref();
    let nodes = allocation.and_then(|allocation| allocation.node_selector.as_deref());
    nodes.is_none_or(|nodes| pools::chooses(nodes, node))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
