//! The endpoints of a Service, and the changes to its slices.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Pod, Service};
use coracle_api::discovery_v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use coracle_controller_runtime::ownership::controller_reference;
use coracle_meta::{Resource, format_time};

use super::placing::{Group, place};
use crate::service_endpoints::{
    HEADLESS, LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME, SliceWrites, belongs, by_ports, find_port,
    has_cluster_ip, has_host_name, key_of_endpoint, key_of_ports, parse_ip, slice_prefix, target_of,
};

/// The value of the `managed-by` label of the slices.
pub(super) const MANAGER: &str = "endpointslice-controller.k8s.io";

/// What a sync sees in addition to the slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedService<'a> {
    pub(super) service: &'a Service,
    /// The pods that the Service's selector matches.
    pub(super) pods: &'a [Arc<Pod>],
    /// The existing nodes, with their zones.
    pub(super) nodes: &'a BTreeMap<String, Option<String>>,
    /// The maximum number of endpoints in a slice.
    pub(super) max_endpoints: usize,
}

/// The changes to the slices of one address family.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) writes: SliceWrites,
    /// Slices that stay as they are.
    pub(super) unchanged: Vec<Arc<EndpointSlice>>,
    /// Errors while building endpoints.
    pub(super) failures: Vec<String>,
}

impl Plan {
    /// Records the slices that are neither changed nor deleted as unchanged.
    pub(super) fn consider_unchanged(&mut self, slices: &[Arc<EndpointSlice>]) {
        let is_written = |slice: &EndpointSlice| {
            let updates = self.writes.update.iter().map(|slice| &slice.metadata.name);
            let deletes = self.writes.delete.iter().map(|slice| &slice.metadata.name);
            updates.chain(deletes).any(|name| *name == slice.metadata.name)
        };
        self.unchanged = slices.iter().filter(|slice| !is_written(slice)).cloned().collect();
    }

    /// The writes: slices to delete are reused for slices to create, each write carries the trigger time, and a
    /// Service that is being deleted gets no new slices.
    pub(super) fn into_writes(self, service: &Service, trigger: Option<Timestamp>) -> SliceWrites {
        let mut writes = self.writes;
        writes.recycle(|slice| is_owned(slice, service));
        if service.metadata.is_terminating() {
            writes.create.clear();
        }
        for slice in writes.create.iter_mut().chain(&mut writes.update) {
            let annotations = &mut slice.metadata.annotations;
            match trigger {
                Some(time) => drop(annotations.insert(LAST_CHANGE_TRIGGER_TIME.to_owned(), format_time(time))),
                None => drop(annotations.remove(LAST_CHANGE_TRIGGER_TIME)),
            }
        }
        writes
    }
}

/// The address families of a Service, with its slices; for slices of other families no endpoints are wanted.
pub(super) fn by_address_type(
    service: &Service,
    slices: &[Arc<EndpointSlice>],
) -> Vec<(&'static str, Vec<Arc<EndpointSlice>>)> {
    let of = |family: &'static str| {
        let slices: Vec<_> = slices.iter().filter(|slice| slice.address_type == family).cloned().collect();
        (families(service).contains(&family) || !slices.is_empty()).then_some((family, slices))
    };
    ["IPv4", "IPv6", "FQDN"].into_iter().filter_map(of).collect()
}

/// In Kubernetes: `getAddressTypesForService`.
fn families(service: &Service) -> Vec<&'static str> {
    let known = |family: &String| ["IPv4", "IPv6"].into_iter().find(|known| known == family);
    let families: Vec<_> = service.spec.ip_families.iter().filter_map(known).collect();
    match (families.is_empty(), has_cluster_ip(service)) {
        (false, _) => families,
        (true, true) if service.spec.cluster_ip.contains(':') => vec!["IPv6"],
        (true, true) => vec!["IPv4"],
        (true, false) => vec!["IPv4", "IPv6"],
    }
}

/// The changes to the slices of one address family.
pub(super) fn plan(observed: &ObservedService<'_>, address_type: &str, slices: &[Arc<EndpointSlice>]) -> Plan {
    let service = observed.service;
    let mut plan = Plan::default();
    if !families(service).contains(&address_type) {
        plan.writes.delete = slices.to_vec();
        return plan;
    }
    let (owned, foreign): (Vec<_>, Vec<_>) = slices.iter().cloned().partition(|slice| is_owned(slice, service));
    plan.writes.delete = foreign;
    let mut existing = by_ports(&owned);
    for (ports, group) in groups(observed, address_type, &mut plan.failures) {
        let labels = labels(service);
        let new = || empty_slice(service, address_type, group.ports.clone());
        let there = existing.remove(&ports).unwrap_or_default();
        let mut writes = place(&there, group.endpoints, &labels, observed.max_endpoints, new);
        plan.writes.create.append(&mut writes.create);
        plan.writes.update.append(&mut writes.update);
        plan.writes.delete.append(&mut writes.delete);
    }
    plan.writes.delete.extend(existing.into_values().flatten());
    // A Service always has a slice, even without endpoints.
    if plan.writes.delete.len() == slices.len() && plan.writes.create.is_empty() {
        let placeholder = empty_slice(service, address_type, Vec::new());
        match plan.writes.delete.as_slice() {
            [slice] if is_placeholder(slice, &placeholder) => plan.writes.delete.clear(),
            _ => plan.writes.create.push(placeholder),
        }
    }
    plan
}

/// The wanted endpoints, grouped by their ports.
fn groups(
    observed: &ObservedService<'_>,
    address_type: &str,
    failures: &mut Vec<String>,
) -> BTreeMap<crate::service_endpoints::PortsKey, Group> {
    let service = observed.service;
    let mut groups = BTreeMap::new();
    for pod in observed.pods.iter().filter(|pod| belongs(pod, true)) {
        let ports = ports_of(service, pod);
        let group = groups.entry(key_of_ports(&ports)).or_insert_with(|| Group { ports, ..Group::default() });
        let node = observed.nodes.get(&pod.spec.node_name);
        if node.is_none() && !service.spec.publish_not_ready_addresses {
            let key = service.key();
            let (name, node) = (pod.name(), &pod.spec.node_name);
            let of = format!("{}/{}", key.namespace, key.name);
            failures.push(format!("skipping Pod {name} for Service {of}: Node {node} Not Found"));
            continue;
        }
        let endpoint = endpoint_of(service, pod, node.cloned().flatten(), address_type);
        if !endpoint.addresses.is_empty() {
            group.endpoints.insert(key_of_endpoint(&endpoint), endpoint);
        }
    }
    groups
}

/// In Kubernetes: `podToEndpoint`.
fn endpoint_of(service: &Service, pod: &Pod, zone: Option<String>, address_type: &str) -> Endpoint {
    let addresses = pod.status.pod_ips.iter().filter_map(|address| parse_ip(&address.ip));
    let addresses = addresses.filter(|address| address.is_ipv6() == (address_type == "IPv6"));
    let (serving, terminating) = (pod.is_ready(), pod.is_terminating());
    Endpoint {
        addresses: addresses.map(|address| address.to_string()).collect(),
        conditions: EndpointConditions {
            ready: Some(service.spec.publish_not_ready_addresses || (serving && !terminating)),
            serving: Some(serving),
            terminating: Some(terminating),
            unknown: None,
        },
        target_ref: Some(Box::new(target_of(pod))),
        node_name: pod.node_name().map(str::to_owned),
        zone,
        hostname: has_host_name(pod, service).then(|| pod.spec.hostname.clone()),
        ..Endpoint::default()
    }
}

/// The Service's ports, resolved for this pod.
fn ports_of(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let port = |port: &coracle_api::core_v1::ServicePort| {
        Some(EndpointPort {
            port: Some(find_port(pod, port)?),
            name: Some(port.name.clone()),
            protocol: Some(port.protocol.clone()),
            app_protocol: port.app_protocol.clone(),
            unknown: None,
        })
    };
    service.spec.ports.iter().filter_map(port).collect()
}

fn empty_slice(service: &Service, address_type: &str, ports: Vec<EndpointPort>) -> EndpointSlice {
    let mut slice = EndpointSlice { address_type: address_type.to_owned(), ports, ..EndpointSlice::default() };
    slice.metadata.generate_name = Some(slice_prefix(service.metadata.name.as_deref().unwrap_or_default()));
    slice.metadata.namespace.clone_from(&service.metadata.namespace);
    slice.metadata.owner_references = vec![controller_reference(service)];
    slice.metadata.labels = labels(service);
    slice
}

/// The Service's labels, and the controller's own.
fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone();
    labels.remove(HEADLESS);
    if !has_cluster_ip(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.insert(SERVICE_NAME.to_owned(), service.metadata.name.clone().unwrap_or_default());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

fn is_placeholder(slice: &EndpointSlice, placeholder: &EndpointSlice) -> bool {
    slice.endpoints.is_empty()
        && slice.ports.is_empty()
        && slice.address_type == placeholder.address_type
        && slice.metadata.labels == placeholder.metadata.labels
}

/// Whether the slice belongs to this Service, and not to an earlier one of the same name.
fn is_owned(slice: &EndpointSlice, service: &Service) -> bool {
    slice.metadata.owner_references.iter().any(|owner| {
        Some(&owner.uid) == service.metadata.uid.as_ref() && owner.kind == Service::KIND && owner.api_version == "v1"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::{PodCondition, PodIP, ServicePort};

    fn service() -> Service {
        let mut service = Service::default();
        service.metadata.name = Some("web".to_owned());
        service.metadata.uid = Some("u".to_owned());
        service.spec.ip_families = vec!["IPv4".to_owned()];
        let port = ServicePort { target_port: Some(80.into()), ..ServicePort::default() };
        service.spec.ports = vec![port];
        service
    }

    fn pod(index: usize) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some(format!("pod-{index:03}"));
        pod.spec.node_name = "node".to_owned();
        pod.status.pod_ips = vec![PodIP { ip: format!("10.1.{}.{}", index / 200, index % 200), ..PodIP::default() }];
        let ready = PodCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..PodCondition::default() };
        pod.status.conditions = vec![ready];
        pod
    }

    fn writes(service: &Service, pods: &[Pod], slices: &[Arc<EndpointSlice>]) -> (SliceWrites, Vec<String>) {
        let nodes = [("node".to_owned(), Some("zone".to_owned()))].into();
        let pods: Vec<_> = pods.iter().cloned().map(Arc::new).collect();
        let observed = ObservedService { service, pods: &pods, nodes: &nodes, max_endpoints: 100 };
        let plan = plan(&observed, "IPv4", slices);
        let failures = plan.failures.clone();
        (plan.into_writes(service, None), failures)
    }

    /// What the API server would have made of it.
    fn made(slices: Vec<EndpointSlice>) -> Vec<Arc<EndpointSlice>> {
        let named = |(index, mut slice): (usize, EndpointSlice)| {
            slice.metadata.name.get_or_insert_with(|| format!("web-{index}"));
            Arc::new(slice)
        };
        slices.into_iter().enumerate().map(named).collect()
    }

    #[test]
    fn a_service_without_pods_has_a_placeholder_that_becomes_its_first_slice_and_is_one_again() {
        let service = service();
        let (first, _) = writes(&service, &[], &[]);
        assert!(first.create[0].ports.is_empty() && first.create[0].endpoints.is_empty());
        let placeholder = made(first.create);
        assert!(writes(&service, &[], &placeholder).0.is_empty());
        let (filled, _) = writes(&service, &[pod(1)], &placeholder);
        assert!(filled.create.is_empty() && filled.delete.is_empty());
        assert_eq!((filled.update[0].key().name.as_str(), filled.update[0].endpoints.len()), ("web-0", 1));
        let (emptied, _) = writes(&service, &[], &made(filled.update));
        assert!(emptied.create.is_empty() && emptied.delete.is_empty());
        assert!(emptied.update[0].endpoints.is_empty() && emptied.update[0].ports.is_empty());
    }

    #[test]
    fn an_ending_pod_is_serving_and_not_ready_unless_all_are_published() {
        let mut service = service();
        let mut ending = pod(1);
        ending.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        let conditions = |service: &Service| {
            let (writes, _) = writes(service, std::slice::from_ref(&ending), &[]);
            let conditions = writes.create[0].endpoints[0].conditions.clone();
            (conditions.ready, conditions.serving, conditions.terminating)
        };
        assert_eq!(conditions(&service), (Some(false), Some(true), Some(true)));
        service.spec.publish_not_ready_addresses = true;
        assert_eq!(conditions(&service), (Some(true), Some(true), Some(true)));
    }

    #[test]
    fn a_pod_on_an_unknown_node_is_left_out_and_reported() {
        let mut lost = pod(2);
        lost.spec.node_name = "gone".to_owned();
        let (writes, failures) = writes(&service(), &[pod(1), lost], &[]);
        assert_eq!(writes.create[0].endpoints.len(), 1);
        assert_eq!(failures, ["skipping Pod pod-002 for Service /web: Node gone Not Found"]);
    }

    #[test]
    fn slices_of_a_service_that_was_there_before_are_deleted_and_not_overwritten() {
        let mut before = service();
        before.metadata.uid = Some("other".to_owned());
        let old = made(writes(&before, &[pod(1)], &[]).0.create);
        let (writes, _) = writes(&service(), &[pod(1)], &old);
        assert_eq!((writes.create.len(), writes.update.len(), writes.delete.len()), (1, 0, 1));
    }

    #[test]
    fn two_families_have_slices_of_their_own() {
        let mut service = service();
        service.spec.ip_families.push("IPv6".to_owned());
        let families = by_address_type(&service, &[]);
        assert_eq!(families.iter().map(|(family, _)| *family).collect::<Vec<_>>(), ["IPv4", "IPv6"]);
    }
}
