//! The content of the Endpoints of a Service.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service, ServicePort};
use coracle_meta::format_time;

use crate::service_endpoints::{
    HEADLESS, LAST_CHANGE_TRIGGER_TIME, belongs, find_port, has_cluster_ip, has_host_name, parse_ip, repack, target_of,
};

/// The controller's name, in its events and in labels.
pub(super) const MANAGER: &str = "endpoint-controller";
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// The annotation that addresses were left out.
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// The maximum number of addresses in Endpoints.
const CAPACITY: usize = 1000;

/// The Endpoints to write; `None` if they are up to date.
pub(super) fn wanted(
    service: &Service,
    pods: &[Arc<Pod>],
    current: Option<&Endpoints>,
    trigger: Option<Timestamp>,
) -> Option<Endpoints> {
    let mut subsets = repack(&pods.iter().flat_map(|pod| subsets_of(service, pod)).collect::<Vec<_>>());
    let truncated = truncate(&mut subsets);
    let labels = labels(service);
    if let Some(current) = current {
        let is_marked = current.metadata.annotations.contains_key(OVER_CAPACITY);
        let same = current.metadata.labels == labels && is_marked == truncated;
        if same && canonical(&current.subsets) == canonical(&subsets) {
            return None;
        }
    }
    let mut endpoints = current.cloned().unwrap_or_default();
    endpoints.metadata.name.clone_from(&service.metadata.name);
    endpoints.metadata.namespace.clone_from(&service.metadata.namespace);
    endpoints.metadata.labels = labels;
    let annotations = &mut endpoints.metadata.annotations;
    set(annotations, LAST_CHANGE_TRIGGER_TIME, trigger.map(format_time));
    set(annotations, OVER_CAPACITY, truncated.then(|| "truncated".to_owned()));
    endpoints.subsets = subsets;
    Some(endpoints)
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(pods: usize, wanted: Option<&Endpoints>) -> String {
    let Some(wanted) = wanted else { return format!("see {pods} pods: nothing to do") };
    let count = |of: fn(&EndpointSubset) -> usize| wanted.subsets.iter().map(of).sum::<usize>();
    let (ready, not_ready) = (count(|subset| subset.addresses.len()), count(|subset| subset.not_ready_addresses.len()));
    format!("see {pods} pods: write {ready} addresses that are ready, {not_ready} that are not")
}

fn set(annotations: &mut BTreeMap<String, String>, name: &str, value: Option<String>) {
    match value {
        Some(value) => drop(annotations.insert(name.to_owned(), value)),
        None => drop(annotations.remove(name)),
    }
}

/// The Service's labels, and the controller's own.
fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone();
    set(&mut labels, HEADLESS, (!has_cluster_ip(service)).then(String::new));
    set(&mut labels, MANAGED_BY, Some(MANAGER.to_owned()));
    labels
}

/// One subset for each address and port; a headless Service may have no ports.
fn subsets_of(service: &Service, pod: &Pod) -> Vec<EndpointSubset> {
    if !belongs(pod, service.spec.publish_not_ready_addresses) {
        return Vec::new();
    }
    let Some(address) = address_of(service, pod) else { return Vec::new() };
    let is_ready = service.spec.publish_not_ready_addresses || pod.is_ready();
    let subset = |ports| {
        let (addresses, not_ready_addresses) =
            if is_ready { (vec![address.clone()], Vec::new()) } else { (Vec::new(), vec![address.clone()]) };
        EndpointSubset { addresses, not_ready_addresses, ports, unknown: None }
    };
    if service.spec.ports.is_empty() {
        return if service.spec.cluster_ip == "None" { vec![subset(Vec::new())] } else { Vec::new() };
    }
    let port = |port: &ServicePort| {
        let number = find_port(pod, port)?;
        Some(EndpointPort {
            name: port.name.clone(),
            port: number,
            protocol: port.protocol.clone(),
            app_protocol: port.app_protocol.clone(),
            unknown: None,
        })
    };
    service.spec.ports.iter().filter_map(port).map(|port| subset(vec![port])).collect()
}

/// The pod's address of the Service's first family.
fn address_of(service: &Service, pod: &Pod) -> Option<EndpointAddress> {
    let wants_v6 = service.spec.ip_families.first().is_some_and(|family| family == "IPv6");
    let mut addresses = pod.status.pod_ips.iter().filter_map(|address| parse_ip(&address.ip));
    let address = addresses.find(|address| matches!(address, IpAddr::V6(_)) == wants_v6)?;
    Some(EndpointAddress {
        ip: address.to_string(),
        node_name: pod.node_name().map(str::to_owned),
        hostname: if has_host_name(pod, service) { pod.spec.hostname.clone() } else { String::new() },
        target_ref: Some(Box::new(target_of(pod))),
        unknown: None,
    })
}

/// Subsets in the form for comparison: in one layout, without the resource versions of pods.
fn canonical(subsets: &[EndpointSubset]) -> Vec<EndpointSubset> {
    let mut subsets = repack(subsets);
    for subset in &mut subsets {
        for address in subset.addresses.iter_mut().chain(&mut subset.not_ready_addresses) {
            if let Some(target) = &mut address.target_ref {
                target.resource_version.clear();
            }
        }
        subset.ports.sort_by(|a, b| (&a.name, a.port, &a.protocol).cmp(&(&b.name, b.port, &b.protocol)));
    }
    let first = |subset: &EndpointSubset| {
        subset.ports.first().map(|port| (port.name.clone(), port.port, port.protocol.clone()))
    };
    subsets.sort_by_key(first);
    subsets
}

/// Truncates to the maximum number of addresses, ready ones first, each subset in proportion; returns whether any
/// were removed.
fn truncate(subsets: &mut [EndpointSubset]) -> bool {
    let count = |of: fn(&EndpointSubset) -> usize| subsets.iter().map(of).sum::<usize>();
    let ready = count(|subset| subset.addresses.len());
    let not_ready = count(|subset| subset.not_ready_addresses.len());
    if ready + not_ready <= CAPACITY {
        return false;
    }
    let (room, total) = if ready > CAPACITY { (CAPACITY, ready) } else { (CAPACITY - ready, not_ready) };
    let mut left = room;
    for subset in subsets {
        if ready > CAPACITY {
            subset.not_ready_addresses.clear();
        }
        let list = if ready > CAPACITY { &mut subset.addresses } else { &mut subset.not_ready_addresses };
        list.truncate((list.len() * room).div_ceil(total).min(left));
        left -= list.len();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::{PodCondition, PodIP};
    use coracle_meta::IntOrString;
    use proptest::prelude::*;

    fn service(port: impl Into<IntOrString>) -> Service {
        let mut service = Service::default();
        service.metadata.name = Some("web".to_owned());
        service.spec.cluster_ip = "10.0.0.1".to_owned();
        service.spec.ip_families = vec!["IPv4".to_owned()];
        let port = ServicePort { target_port: Some(port.into()), ..ServicePort::default() };
        service.spec.ports = vec![port];
        service
    }

    fn pod(last: u8, ready: bool) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = Some(format!("pod-{last}"));
        pod.metadata.uid = Some(format!("uid-{last}"));
        pod.status.pod_ips =
            ["fd00::1".to_owned(), format!("10.1.0.{last}")].map(|ip| PodIP { ip, ..PodIP::default() }).into();
        let status = if ready { "True" } else { "False" }.to_owned();
        pod.status.conditions = vec![PodCondition { type_: "Ready".to_owned(), status, ..PodCondition::default() }];
        Arc::new(pod)
    }

    fn ips(addresses: &[EndpointAddress]) -> Vec<&str> {
        addresses.iter().map(|address| address.ip.as_str()).collect()
    }

    #[test]
    fn addresses_of_the_services_family_are_ready_or_not_and_nothing_is_written_twice() {
        let pods = [pod(2, true), pod(1, false)];
        let endpoints = wanted(&service(8080), &pods, None, None).unwrap();
        let subset = &endpoints.subsets[0];
        assert_eq!((ips(&subset.addresses), ips(&subset.not_ready_addresses)), (vec!["10.1.0.2"], vec!["10.1.0.1"]));
        assert_eq!(subset.ports[0].port, 8080);
        assert_eq!(wanted(&service(8080), &pods, Some(&endpoints), None), None);
        assert!(wanted(&service(8080), &pods[..1], Some(&endpoints), None).is_some());
        assert!(wanted(&service("missing"), &pods, None, None).unwrap().subsets.is_empty());
    }

    #[test]
    fn a_service_that_publishes_them_all_has_pods_that_are_not_ready_or_ending() {
        let mut service = service(80);
        service.spec.publish_not_ready_addresses = true;
        let mut ending = pod(3, false).as_ref().clone();
        ending.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        let endpoints = wanted(&service, &[pod(1, false), Arc::new(ending)], None, None).unwrap();
        assert_eq!(ips(&endpoints.subsets[0].addresses), ["10.1.0.1", "10.1.0.3"]);
    }

    #[test]
    fn endpoints_that_a_user_changed_are_restored() {
        let endpoints = wanted(&service(80), &[pod(1, true)], None, None).unwrap();
        let mut mangled = endpoints.clone();
        mangled.metadata.labels.insert("mine".to_owned(), "yes".to_owned());
        assert_eq!(wanted(&service(80), &[pod(1, true)], Some(&mangled), None).as_ref(), Some(&endpoints));
        mangled = endpoints.clone();
        mangled.metadata.annotations.insert(OVER_CAPACITY.to_owned(), "truncated".to_owned());
        assert_eq!(wanted(&service(80), &[pod(1, true)], Some(&mangled), None).as_ref(), Some(&endpoints));
    }

    proptest! {
        #[test]
        fn never_more_than_the_capacity_and_not_ready_ones_go_first(
            sizes in prop::collection::vec((0..800_usize, 0..800_usize), 0..5),
        ) {
            let list = |count| vec![EndpointAddress::default(); count];
            let subset = |(ready, not_ready): &(usize, usize)| EndpointSubset {
                addresses: list(*ready), not_ready_addresses: list(*not_ready), ..EndpointSubset::default()
            };
            let mut subsets: Vec<_> = sizes.iter().map(subset).collect();
            let ready: usize = sizes.iter().map(|(ready, _)| ready).sum();
            let all = ready + sizes.iter().map(|(_, not_ready)| not_ready).sum::<usize>();
            prop_assert_eq!(truncate(&mut subsets), all > CAPACITY);
            let left: usize = subsets.iter().map(|subset| subset.addresses.len() + subset.not_ready_addresses.len()).sum();
            prop_assert_eq!(left, all.min(CAPACITY));
            let left_ready: usize = subsets.iter().map(|subset| subset.addresses.len()).sum();
            prop_assert_eq!(left_ready, ready.min(CAPACITY));
        }
    }
}
