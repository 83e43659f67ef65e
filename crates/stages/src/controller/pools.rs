//! Allocates addresses for nodes and pods whose status is written by stages. In KWOK: `ipPool`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use coracle_api::core_v1::{Node, Pod};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use crate::expressions::functions::Addresses;

/// The first address of nodes without one.
const FIRST_NODE: u32 = u32::from_be_bytes([172, 18, 128, 1]);
/// The first address of pods whose node has no range; each such node has a block of [`SHARE`] addresses.
const FIRST_POD: u32 = u32::from_be_bytes([10, 192, 0, 0]);
/// How many addresses such a node has.
const SHARE: u32 = 1024;

/// Allocates pod addresses from the ranges of their nodes.
#[derive(Debug)]
pub(crate) struct Pools {
    nodes: Lister<Node>,
    allocations: Mutex<Allocations>,
}

#[derive(Debug, Default)]
struct Allocations {
    /// The numbers of nodes, in the order in which they were first needed.
    numbers: BTreeMap<String, u32>,
    pods: BTreeMap<ObjectKey, Vec<String>>,
    taken: BTreeSet<String>,
    /// Where the search in a range continues.
    last: BTreeMap<String, u128>,
}

impl Pools {
    pub(crate) fn new(nodes: Lister<Node>) -> Self {
        Self { nodes, allocations: Mutex::default() }
    }

    /// Records the addresses that a pod has already.
    pub(crate) fn note(&self, key: &ObjectKey, pod: &Pod) {
        if pod.status.pod_ips.is_empty() || pod.spec.host_network {
            return;
        }
        let mut allocations = self.allocations.lock();
        let addresses: Vec<String> = pod.status.pod_ips.iter().map(|address| address.ip.clone()).collect();
        allocations.taken.extend(addresses.iter().cloned());
        allocations.pods.entry(key.clone()).or_insert(addresses);
    }

    /// Releases the addresses of a pod that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        let mut allocations = self.allocations.lock();
        for address in allocations.pods.remove(key).unwrap_or_default() {
            allocations.taken.remove(&address);
        }
    }

    fn ranges(&self, node: &str, allocations: &mut Allocations) -> Vec<String> {
        let found = self.nodes.get(&ObjectKey::cluster(node));
        let spec = found.as_ref().map(|node| &node.spec);
        let mut ranges: Vec<String> = spec.map(|spec| spec.pod_cidrs.clone()).unwrap_or_default();
        if ranges.is_empty() {
            ranges.extend(spec.map(|spec| spec.pod_cidr.clone()).filter(|range| !range.is_empty()));
        }
        if ranges.is_empty() {
            let first = FIRST_POD.wrapping_add(allocations.number(node).wrapping_mul(SHARE));
            ranges.push(format!("{}/22", Ipv4Addr::from(first)));
        }
        ranges
    }
}

impl Allocations {
    fn number(&mut self, node: &str) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or_default();
        *self.numbers.entry(node.to_owned()).or_insert(next)
    }

    /// The next free address of a range; none if it is not a range, or full.
    fn next(&mut self, range: &str) -> Option<String> {
        let (first, bits) = range.split_once('/')?;
        let (first, width): (u128, u32) = match first.parse::<IpAddr>().ok()? {
            IpAddr::V4(address) => (u32::from(address).into(), 32),
            IpAddr::V6(address) => (address.into(), 128),
        };
        let size = 1_u128.checked_shl(width.checked_sub(bits.parse().ok()?)?).unwrap_or(u128::MAX);
        let last = self.last.get(range).copied().unwrap_or_default();
        // The first address of a range is the network's and the last is the broadcast address. The search is bounded.
        let room = size.checked_sub(2).filter(|room| *room > 0)?;
        let tried = (0..room.min(100_000)).map(|at| (last + at) % room + 1);
        let (at, address) = tried
            .map(|at| {
                let number = (first & !(size - 1)).wrapping_add(at);
                let v4 =
                    u32::try_from(number).ok().filter(|_| width == 32).map(|number| Ipv4Addr::from(number).to_string());
                (at, v4.unwrap_or_else(|| Ipv6Addr::from(number).to_string()))
            })
            .find(|(_, address)| !self.taken.contains(address))?;
        self.last.insert(range.to_owned(), at);
        self.taken.insert(address.clone());
        Some(address)
    }
}

impl Addresses for Pools {
    fn of_node(&self, node: &str) -> Vec<String> {
        let found = self.nodes.get(&ObjectKey::cluster(node));
        let internal =
            found.iter().flat_map(|node| &node.status.addresses).filter(|address| address.type_ == "InternalIP");
        let internal: Vec<String> = internal.map(|address| address.address.clone()).collect();
        if !internal.is_empty() {
            return internal;
        }
        let number = self.allocations.lock().number(node);
        vec![Ipv4Addr::from(FIRST_NODE.wrapping_add(number)).to_string()]
    }

    fn of_pod(&self, node: &str, pod: &ObjectKey) -> Vec<String> {
        let mut allocations = self.allocations.lock();
        if let Some(addresses) = allocations.pods.get(pod) {
            return addresses.clone();
        }
        let ranges = self.ranges(node, &mut allocations);
        let addresses: Vec<String> = ranges.iter().filter_map(|range| allocations.next(range)).collect();
        allocations.pods.insert(pod.clone(), addresses.clone());
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_gives_each_address_once() {
        let mut allocations = Allocations::default();
        assert_eq!(allocations.next("10.0.0.5/30").as_deref(), Some("10.0.0.5"));
        assert_eq!(allocations.next("10.0.0.5/30").as_deref(), Some("10.0.0.6"));
        assert_eq!(allocations.next("10.0.0.5/30"), None);
        allocations.taken.remove("10.0.0.5");
        assert_eq!(allocations.next("10.0.0.5/30").as_deref(), Some("10.0.0.5"));
        assert_eq!(allocations.next("fd00::/64").as_deref(), Some("fd00::1"));
        for range in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/32", "::/0x", "", "::/-1"] {
            assert_eq!(allocations.next(range), None, "{range}");
        }
        assert!(allocations.next("::/0").is_some());
    }
}
