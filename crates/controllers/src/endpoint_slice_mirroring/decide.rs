//! The slices that mirror an Endpoints object.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{EndpointAddress, Endpoints};
use coracle_api::discovery_v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use coracle_controller_runtime::ownership::controller_reference;

use crate::service_endpoints::{
    EndpointKey, LAST_CHANGE_TRIGGER_TIME, LEADER, MANAGED_BY, PortsKey, SERVICE_NAME, SliceWrites, by_ports,
    is_as_wanted, key_of_endpoint, key_of_ports, parse_ip, repack, slice_prefix,
};

/// The value of the `managed-by` label of the slices.
pub(super) const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
/// The label that excludes Endpoints from mirroring.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// Annotations that are not copied.
const NOT_COPIED: [&str; 2] = [LAST_CHANGE_TRIGGER_TIME, "kubectl.kubernetes.io/last-applied-configuration"];

/// Whether Endpoints are mirrored, if their Service has no selector.
pub(super) fn is_mirrored(endpoints: &Endpoints) -> bool {
    let skips = endpoints.metadata.labels.get(SKIP).is_some_and(|value| value == "true");
    !skips && !endpoints.metadata.annotations.contains_key(LEADER)
}

/// The changes to the slices.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) writes: SliceWrites,
    /// Warning events: reason and message.
    pub(super) warnings: Vec<(&'static str, String)>,
}

/// The endpoints with the same ports, of one family.
#[derive(Default)]
struct Group {
    ports: Vec<EndpointPort>,
    endpoints: BTreeMap<EndpointKey, Endpoint>,
}

/// One slice for the addresses of each family with the same ports; existing slices are overwritten.
pub(super) fn plan(endpoints: &Endpoints, slices: &[Arc<EndpointSlice>], max: usize) -> Plan {
    let mut plan = Plan::default();
    let mut groups = groups(endpoints, max, &mut plan.warnings);
    for family in ["IPv4", "IPv6", "FQDN"] {
        let slices: Vec<_> = slices.iter().filter(|slice| slice.address_type == family).cloned().collect();
        let mut existing = by_ports(&slices);
        for (ports, group) in groups.remove(family).unwrap_or_default() {
            let mut there = existing.remove(&ports).unwrap_or_default().into_iter();
            let first = there.next();
            plan.writes.delete.extend(there);
            if first.as_ref().is_some_and(|slice| says_that(slice, endpoints, &group.endpoints)) {
                continue;
            }
            let slice = slice_of(endpoints, group, family, first.as_deref(), max);
            if slice.metadata.name.is_some() { &mut plan.writes.update } else { &mut plan.writes.create }.push(slice);
        }
        plan.writes.delete.extend(existing.into_values().flatten());
    }
    plan.writes.recycle(|_| true);
    if endpoints.metadata.is_terminating() {
        plan.writes.create.clear();
    }
    plan
}

/// The wanted endpoints, by family and ports. Families and ports without endpoints may have slices to delete.
fn groups(
    endpoints: &Endpoints,
    max: usize,
    warnings: &mut Vec<(&'static str, String)>,
) -> BTreeMap<&'static str, BTreeMap<PortsKey, Group>> {
    let mut groups: BTreeMap<&'static str, BTreeMap<PortsKey, Group>> = BTreeMap::new();
    let (mut invalid, mut skipped) = (0, 0);
    for subset in repack(&endpoints.subsets) {
        let ports: Vec<_> = subset.ports.iter().map(port_of).collect();
        let ready = subset.addresses.iter().map(|address| (address, true));
        let all = ready.chain(subset.not_ready_addresses.iter().map(|address| (address, false)));
        let (mut total, mut added) = (0, 0);
        for (address, is_ready) in all {
            total += 1;
            if added == max {
                continue;
            }
            let Some((family, endpoint)) = endpoint_of(address, is_ready) else {
                invalid += 1;
                continue;
            };
            let group = groups.entry(family).or_default().entry(key_of_ports(&ports)).or_default();
            group.ports.clone_from(&ports);
            group.endpoints.insert(key_of_endpoint(&endpoint), endpoint);
            added += 1;
        }
        skipped += total - added;
    }
    if invalid > 0 {
        let message = format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
        warnings.push(("InvalidIPAddress", message));
    }
    if skipped > invalid {
        let message = format!(
            "A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} addresses were skipped"
        );
        warnings.push(("TooManyAddressesToMirror", message));
    }
    groups
}

/// In Kubernetes: `addressToEndpoint`.
fn endpoint_of(address: &EndpointAddress, is_ready: bool) -> Option<(&'static str, Endpoint)> {
    let ip = parse_ip(&address.ip)?;
    let endpoint = Endpoint {
        addresses: vec![ip.to_string()],
        conditions: EndpointConditions { ready: Some(is_ready), ..EndpointConditions::default() },
        target_ref: address.target_ref.clone(),
        node_name: address.node_name.clone(),
        hostname: Some(address.hostname.clone()).filter(|name| !name.is_empty()),
        ..Endpoint::default()
    };
    Some((if ip.is_ipv6() { "IPv6" } else { "IPv4" }, endpoint))
}

fn port_of(port: &coracle_api::core_v1::EndpointPort) -> EndpointPort {
    EndpointPort {
        name: Some(port.name.clone()),
        port: Some(port.port),
        protocol: Some(port.protocol.clone()),
        app_protocol: port.app_protocol.clone(),
        unknown: None,
    }
}

/// Whether the slice is up to date.
fn says_that(slice: &EndpointSlice, endpoints: &Endpoints, wanted: &BTreeMap<EndpointKey, Endpoint>) -> bool {
    let is_wanted = |there: &Endpoint| wanted.get(&key_of_endpoint(there)).is_some_and(|one| is_as_wanted(one, there));
    let is_of_another = slice.metadata.owner_references.iter().any(|owner| {
        owner.kind == "Endpoints"
            && Some(&owner.name) == endpoints.metadata.name.as_ref()
            && Some(&owner.uid) != endpoints.metadata.uid.as_ref()
    });
    slice.endpoints.len() == wanted.len()
        && slice.endpoints.iter().all(is_wanted)
        && slice.metadata.labels == labels(endpoints)
        && slice.metadata.annotations == annotations(endpoints)
        && !is_of_another
}

/// A new slice; only the name is taken from the slice that it overwrites.
fn slice_of(
    endpoints: &Endpoints,
    group: Group,
    family: &str,
    existing: Option<&EndpointSlice>,
    max: usize,
) -> EndpointSlice {
    let mut slice = EndpointSlice {
        address_type: family.to_owned(),
        ports: group.ports,
        endpoints: group.endpoints.into_values().take(max).collect(),
        ..EndpointSlice::default()
    };
    let meta = &mut slice.metadata;
    meta.namespace.clone_from(&endpoints.metadata.namespace);
    meta.owner_references = vec![controller_reference(endpoints)];
    meta.labels = labels(endpoints);
    meta.annotations = annotations(endpoints);
    match existing {
        Some(existing) => meta.name.clone_from(&existing.metadata.name),
        None => meta.generate_name = Some(slice_prefix(endpoints.metadata.name.as_deref().unwrap_or_default())),
    }
    slice
}

fn labels(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let mut labels = endpoints.metadata.labels.clone();
    labels.insert(SERVICE_NAME.to_owned(), endpoints.metadata.name.clone().unwrap_or_default());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

fn annotations(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let copied = endpoints.metadata.annotations.iter().filter(|(name, _)| !NOT_COPIED.contains(&name.as_str()));
    copied.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::EndpointSubset;

    fn endpoints(addresses: &[&str]) -> Endpoints {
        let mut endpoints = Endpoints::default();
        endpoints.metadata.name = Some("ext".to_owned());
        endpoints.metadata.uid = Some("u".to_owned());
        let address = |ip: &&str| EndpointAddress { ip: (*ip).to_owned(), ..EndpointAddress::default() };
        endpoints.subsets =
            vec![EndpointSubset { addresses: addresses.iter().map(address).collect(), ..EndpointSubset::default() }];
        endpoints
    }

    fn made(mut slice: EndpointSlice) -> Arc<EndpointSlice> {
        slice.metadata.name.get_or_insert_with(|| "ext-1".to_owned());
        Arc::new(slice)
    }

    #[test]
    fn a_slice_follows_its_endpoints_in_place_and_goes_with_the_last_address() {
        let first = plan(&endpoints(&["10.0.0.1"]), &[], 1000).writes;
        let slice = made(first.create[0].clone());
        assert!(plan(&endpoints(&["10.0.0.1"]), std::slice::from_ref(&slice), 1000).writes.is_empty());
        let followed = plan(&endpoints(&["10.0.0.2"]), std::slice::from_ref(&slice), 1000).writes;
        assert_eq!(followed.update[0].metadata.name.as_deref(), Some("ext-1"));
        assert_eq!(followed.update[0].endpoints[0].addresses, ["10.0.0.2"]);
        assert_eq!(plan(&endpoints(&[]), std::slice::from_ref(&slice), 1000).writes.delete, [slice]);
    }

    #[test]
    fn each_address_family_has_its_own_slices_and_invalid_addresses_are_reported() {
        let plan = plan(&endpoints(&["10.0.0.1", "fd00::1", "nowhere"]), &[], 1000);
        let families: Vec<_> = plan.writes.create.iter().map(|slice| slice.address_type.as_str()).collect();
        assert_eq!(families, ["IPv4", "IPv6"]);
        let message = "Skipped 1 invalid IP addresses when mirroring to EndpointSlices";
        assert_eq!(plan.warnings, [("InvalidIPAddress", message.to_owned())]);
    }

    #[test]
    fn too_many_addresses_are_truncated_and_reported() {
        let plan = plan(&endpoints(&["10.0.0.1", "10.0.0.2", "10.0.0.3"]), &[], 2);
        assert_eq!(plan.writes.create[0].endpoints.len(), 2);
        assert_eq!(plan.warnings[0].0, "TooManyAddressesToMirror");
    }

    #[test]
    fn a_slice_that_a_person_changed_or_that_endpoints_before_left_is_written_again() {
        let slice = plan(&endpoints(&["10.0.0.1"]), &[], 1000).writes.create.remove(0);
        let updates = |slice: EndpointSlice| plan(&endpoints(&["10.0.0.1"]), &[made(slice)], 1000).writes.update.len();
        let mut mangled = slice.clone();
        mangled.metadata.annotations.insert("a".to_owned(), "b".to_owned());
        assert_eq!(updates(mangled), 1);
        let mut old = slice.clone();
        old.metadata.owner_references[0].uid = "before".to_owned();
        assert_eq!((updates(old), updates(slice)), (1, 0));
    }
}
