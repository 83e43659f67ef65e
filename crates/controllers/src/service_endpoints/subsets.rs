use std::collections::BTreeMap;

use coracle_api::core_v1::{EndpointAddress, EndpointPort, EndpointSubset};

/// The identity of an address: two pods may share the address of their node.
type AddressKey = (String, String);
/// The identity of a port; `None` for a headless Service without ports.
type PortKey = Option<(String, String, i32, Option<String>)>;

/// The same addresses and ports with as few subsets as possible: ports with the same addresses share a subset. An
/// address that is both ready and not ready for a port counts as not ready. Addresses keep their order; ports have
/// the order of the first address that has them.
/// first address that has them.
///
/// In Kubernetes: `endpoints.RepackSubsets`. Unlike Kubernetes: subsets are ordered by their ports instead of by
/// their hashes.
pub(crate) fn repack(subsets: &[EndpointSubset]) -> Vec<EndpointSubset> {
    let mut addresses: BTreeMap<AddressKey, &EndpointAddress> = BTreeMap::new();
    let mut ports: Vec<(PortKey, Option<&EndpointPort>, BTreeMap<AddressKey, bool>)> = Vec::new();
    for subset in subsets {
        let without = subset.ports.is_empty().then_some(None);
        for port in subset.ports.iter().map(Some).chain(without) {
            let key = port.map(key_of_port);
            let place = ports.iter().position(|(known, ..)| *known == key).unwrap_or_else(|| {
                ports.push((key, port, BTreeMap::new()));
                ports.len() - 1
            });
            let ready = subset.addresses.iter().map(|address| (address, true));
            for (address, is_ready) in ready.chain(subset.not_ready_addresses.iter().map(|address| (address, false))) {
                let key = key_of_address(address);
                addresses.entry(key.clone()).or_insert(address);
                let known = ports[place].2.entry(key).or_insert(is_ready);
                *known &= is_ready;
            }
        }
    }
    let mut packed: Vec<(BTreeMap<AddressKey, bool>, Vec<EndpointPort>)> = Vec::new();
    for (_, port, behind) in ports {
        let place = packed.iter().position(|(known, _)| *known == behind).unwrap_or_else(|| {
            packed.push((behind, Vec::new()));
            packed.len() - 1
        });
        packed[place].1.extend(port.cloned());
    }
    let subset = |(behind, ports): (BTreeMap<AddressKey, bool>, Vec<EndpointPort>)| {
        let those = |wanted: bool| {
            let keys = behind.iter().filter(move |(_, is_ready)| **is_ready == wanted);
            keys.map(|(key, _)| addresses[key].clone()).collect()
        };
        EndpointSubset { addresses: those(true), not_ready_addresses: those(false), ports, unknown: None }
    };
    packed.into_iter().map(subset).collect()
}

fn key_of_address(address: &EndpointAddress) -> AddressKey {
    let target = address.target_ref.as_ref().map(|target| target.uid.clone());
    (address.ip.clone(), target.unwrap_or_default())
}

fn key_of_port(port: &EndpointPort) -> (String, String, i32, Option<String>) {
    (port.name.clone(), port.protocol.clone(), port.port, port.app_protocol.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn subset(ready: &[u8], not_ready: &[u8], ports: &[i32]) -> EndpointSubset {
        let addresses = |last: &[u8]| {
            let address = |last| EndpointAddress { ip: format!("10.0.0.{last}"), ..EndpointAddress::default() };
            last.iter().map(address).collect()
        };
        EndpointSubset {
            addresses: addresses(ready),
            not_ready_addresses: addresses(not_ready),
            ports: ports.iter().map(|port| EndpointPort { port: *port, ..EndpointPort::default() }).collect(),
            unknown: None,
        }
    }

    #[test]
    fn ports_with_the_same_addresses_stand_together_and_not_ready_wins() {
        let parts = [subset(&[1], &[], &[80]), subset(&[1], &[], &[81]), subset(&[], &[2], &[80, 81])];
        assert_eq!(repack(&parts), [subset(&[1], &[2], &[80, 81])]);
        assert_eq!(repack(&[subset(&[1], &[], &[80]), subset(&[], &[1], &[80])]), [subset(&[], &[1], &[80])]);
        assert_eq!(repack(&[subset(&[1], &[], &[]), subset(&[2], &[], &[])]), [subset(&[1, 2], &[], &[])]);
    }

    proptest! {
        #[test]
        fn repacking_loses_nothing_and_changes_nothing_the_second_time(
            parts in prop::collection::vec((prop::collection::vec(0..4_u8, 0..3), prop::collection::vec(1..4_i32, 1..3)), 0..5),
        ) {
            let parts: Vec<_> = parts.iter().map(|(ready, ports)| subset(ready, &[], ports)).collect();
            let pairs = |subsets: &[EndpointSubset]| -> BTreeSet<(String, i32)> {
                let of = |subset: &EndpointSubset| {
                    let of_port = |port: &EndpointPort| {
                        let number = port.port;
                        subset.addresses.iter().map(|address| (address.ip.clone(), number)).collect::<Vec<_>>()
                    };
                    subset.ports.iter().flat_map(of_port).collect::<Vec<_>>()
                };
                subsets.iter().flat_map(of).collect()
            };
            let packed = repack(&parts);
            prop_assert_eq!(pairs(&packed), pairs(&parts));
            prop_assert_eq!(repack(&packed), packed);
        }
    }
}
