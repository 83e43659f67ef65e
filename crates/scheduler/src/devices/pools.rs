use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::NodeTerm;
use coracle_api::core_v1 as core;
use coracle_api::resource_v1::ResourceSlice;

use crate::node_info::NodeInfo;

/// The slices of each pool, by driver and pool.
pub(super) type ByPool = BTreeMap<(String, String), BTreeSet<String>>;

/// The part of a pool that a node can access.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) driver: String,
    pub(super) name: String,
    pub(super) slices: Vec<Arc<ResourceSlice>>,
    /// Whether slices are missing, because the driver is still publishing them.
    pub(super) is_incomplete: bool,
    /// Whether two of its devices have the same name.
    pub(super) is_invalid: bool,
}

/// Whether a term of a selector matches a node.
pub(super) fn chooses(selector: &core::NodeSelector, node: &NodeInfo) -> bool {
    selector.node_selector_terms.iter().any(|term| NodeTerm::from(term).matches(&node.name, &node.labels))
}

/// Whether a node can access the devices of a slice. Per-device node selection belongs to a feature that is off.
fn reaches(slice: &ResourceSlice, node: &NodeInfo) -> bool {
    let spec = &slice.spec;
    if spec.per_device_node_selection.is_some() {
        return false;
    }
    match (spec.node_name.as_deref().unwrap_or_default(), &spec.node_selector) {
        ("", _) if spec.all_nodes == Some(true) => true,
        ("", Some(selector)) => chooses(selector, node),
        ("", None) => false,
        (name, _) => *name == *node.name,
    }
}

/// The pools of a node, sorted by name, each of its newest generation. In Kubernetes: `GatherPools`.
pub(super) fn gather<'a>(
    near: impl Iterator<Item = &'a Arc<ResourceSlice>>,
    all: &BTreeMap<String, Arc<ResourceSlice>>,
    by_pool: &ByPool,
    node: &NodeInfo,
) -> Vec<Pool> {
    let mut found: BTreeMap<(String, String), Vec<Arc<ResourceSlice>>> = BTreeMap::new();
    for slice in near.filter(|slice| reaches(slice, node)) {
        let pool = &slice.spec.pool;
        let slices = found.entry((slice.spec.driver.clone(), pool.name.clone())).or_default();
        let generation = slices.first().map_or(pool.generation, |first| first.spec.pool.generation);
        if pool.generation > generation {
            slices.clear();
        }
        if pool.generation >= generation {
            slices.push(slice.clone());
        }
    }
    found.into_iter().filter_map(|((driver, name), slices)| pool(driver, name, slices, all, by_pool)).collect()
}

/// `None` if inaccessible slices of the pool are newer: the accessible ones are outdated.
fn pool(
    driver: String,
    name: String,
    slices: Vec<Arc<ResourceSlice>>,
    all: &BTreeMap<String, Arc<ResourceSlice>>,
    by_pool: &ByPool,
) -> Option<Pool> {
    let first = &slices.first()?.spec.pool;
    let (generation, count) = (first.generation, first.resource_slice_count);
    let mut seen = slices.len() as i64;
    if seen != count {
        let whole = by_pool.get(&(driver.clone(), name.clone())).into_iter().flatten().filter_map(|name| all.get(name));
        let generations: Vec<i64> = whole.map(|slice| slice.spec.pool.generation).collect();
        if generations.iter().any(|one| *one > generation) {
            return None;
        }
        seen = generations.iter().filter(|one| **one == generation).count() as i64;
    }
    let mut names = BTreeSet::new();
    let mut devices = slices.iter().flat_map(|slice| &slice.spec.devices);
    let is_invalid = !devices.all(|device| names.insert(device.name.as_str()));
    Some(Pool { driver, name, is_incomplete: seen != count, is_invalid, slices: slices.clone() })
}
