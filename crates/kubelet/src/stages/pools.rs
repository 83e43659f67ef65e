//! Which address a node or a pod has that lives by stages. In KWOK: `ipPool`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use coracle_api::core_v1::{Node, Pod};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::functions::Addresses;

/// Where the addresses of nodes begin that tell of none.
const FIRST_NODE: u32 = u32::from_be_bytes([172, 18, 128, 1]);
/// Where the addresses of pods begin whose node has no range of its own; each node has a share of [`SHARE`].
const FIRST_POD: u32 = u32::from_be_bytes([10, 192, 0, 0]);
/// How many addresses such a node has.
const SHARE: u32 = 1024;

/// Gives pods addresses of their nodes' ranges.
#[derive(Debug)]
pub(crate) struct Pools {
    nodes: Lister<Node>,
    given: Mutex<Given>,
}

#[derive(Debug, Default)]
struct Given {
    /// The numbers of nodes, in the order in which they were first asked for.
    numbers: BTreeMap<String, u32>,
    pods: BTreeMap<ObjectKey, Vec<String>>,
    taken: BTreeSet<String>,
    /// Where the search in a range goes on.
    last: BTreeMap<String, u128>,
}

impl Pools {
    pub(crate) fn new(nodes: Lister<Node>) -> Self {
        Self { nodes, given: Mutex::default() }
    }

    /// A pod that has addresses keeps them from others.
    pub(crate) fn note(&self, key: &ObjectKey, pod: &Pod) {
        if pod.status.pod_ips.is_empty() || pod.spec.host_network {
            return;
        }
        let mut given = self.given.lock();
        let addresses: Vec<String> = pod.status.pod_ips.iter().map(|address| address.ip.clone()).collect();
        given.taken.extend(addresses.iter().cloned());
        given.pods.entry(key.clone()).or_insert(addresses);
    }

    /// A pod that is gone needs none.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        let mut given = self.given.lock();
        for address in given.pods.remove(key).unwrap_or_default() {
            given.taken.remove(&address);
        }
    }

    fn ranges(&self, node: &str, given: &mut Given) -> Vec<String> {
        let found = self.nodes.get(&ObjectKey::cluster(node));
        let spec = found.as_ref().map(|node| &node.spec);
        let mut ranges: Vec<String> = spec.map(|spec| spec.pod_cidrs.clone()).unwrap_or_default();
        if ranges.is_empty() {
            ranges.extend(spec.map(|spec| spec.pod_cidr.clone()).filter(|range| !range.is_empty()));
        }
        if ranges.is_empty() {
            let first = FIRST_POD.wrapping_add(given.number(node).wrapping_mul(SHARE));
            ranges.push(format!("{}/22", Ipv4Addr::from(first)));
        }
        ranges
    }
}

impl Given {
    fn number(&mut self, node: &str) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or_default();
        *self.numbers.entry(node.to_owned()).or_insert(next)
    }

    /// The next address of a range that nobody has; none if it is no range, or full.
    fn next(&mut self, range: &str) -> Option<String> {
        let (first, bits) = range.split_once('/')?;
        let (first, width): (u128, u32) = match first.parse::<IpAddr>().ok()? {
            IpAddr::V4(address) => (u32::from(address).into(), 32),
            IpAddr::V6(address) => (address.into(), 128),
        };
        let size = 1_u128.checked_shl(width.checked_sub(bits.parse().ok()?)?).unwrap_or(u128::MAX);
        let last = self.last.get(range).copied().unwrap_or_default();
        // The first of a range names the network and the last all of it; a search that finds nothing ends some time.
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
        let told = found.iter().flat_map(|node| &node.status.addresses).filter(|address| address.type_ == "InternalIP");
        let told: Vec<String> = told.map(|address| address.address.clone()).collect();
        if !told.is_empty() {
            return told;
        }
        let number = self.given.lock().number(node);
        vec![Ipv4Addr::from(FIRST_NODE.wrapping_add(number)).to_string()]
    }

    fn of_pod(&self, node: &str, pod: &ObjectKey) -> Vec<String> {
        let mut given = self.given.lock();
        if let Some(addresses) = given.pods.get(pod) {
            return addresses.clone();
        }
        let ranges = self.ranges(node, &mut given);
        let addresses: Vec<String> = ranges.iter().filter_map(|range| given.next(range)).collect();
        given.pods.insert(pod.clone(), addresses.clone());
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_gives_each_address_once() {
        let mut given = Given::default();
        assert_eq!(given.next("10.0.0.5/30").as_deref(), Some("10.0.0.5"));
        assert_eq!(given.next("10.0.0.5/30").as_deref(), Some("10.0.0.6"));
        assert_eq!(given.next("10.0.0.5/30"), None);
        given.taken.remove("10.0.0.5");
        assert_eq!(given.next("10.0.0.5/30").as_deref(), Some("10.0.0.5"));
        assert_eq!(given.next("fd00::/64").as_deref(), Some("fd00::1"));
        for range in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/32", "::/0x", "", "::/-1"] {
            assert_eq!(given.next(range), None, "{range}");
        }
        assert!(given.next("::/0").is_some());
    }
}
