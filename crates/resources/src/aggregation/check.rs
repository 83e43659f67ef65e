use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object};
use coracle_registry::{Derived, Lists};
use serde_json::Value;

use super::condition::Condition;

/// An APIService, and what its objects determine about its server.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) object: Arc<Object>,
    pub(super) verdict: AvailabilityVerdict,
}

/// What objects determine about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AvailabilityVerdict {
    /// The condition is known.
    Is(Condition),
    /// The server must be probed, unless its Service has no endpoints and the configuration names no program for it.
    Ask {
        /// The condition if there are no endpoints.
        lacks: Option<Condition>,
    },
}

pub(super) fn api_services() -> GroupVersionResource {
    GroupVersionResource::new("apiregistration.k8s.io", "v1", "apiservices")
}

fn services() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "services")
}

fn endpoint_slices() -> GroupVersionResource {
    GroupVersionResource::new("discovery.k8s.io", "v1", "endpointslices")
}

/// Each APIService with its verdict.
pub(super) fn checked() -> Derived<Vec<Checked>> {
    Derived::new(reads, |lists, _| {
        let check = |object: Arc<Object>| {
            let verdict = match object.at("spec.service") {
                Value::Null => AvailabilityVerdict::Is(Condition::local()),
                reference => remote(lists, reference),
            };
            Checked { object, verdict }
        };
        lists.of(&api_services()).map(check).collect()
    })
}

/// Services and endpoints are read only if there is an extension API server.
fn reads(lists: &Lists) -> Vec<GroupVersionResource> {
    let is_remote = lists.of(&api_services()).any(|service| service.at("spec.service").is_object());
    if is_remote { vec![api_services(), services(), endpoint_slices()] } else { vec![api_services()] }
}

/// The verdict about an extension API server. In Kubernetes: `sync` of the remote controller, up to the request to the
/// server.
fn remote(lists: &Lists, reference: &Value) -> AvailabilityVerdict {
    let (namespace, name, port) = (reference.text("namespace"), reference.text("name"), reference.int("port"));
    let at = format!("service/{name} in {namespace:?}");
    let is_it = |service: &Arc<Object>| service.namespace() == namespace && service.name() == name;
    let Some(service) = lists.of(&services()).find(is_it) else {
        return AvailabilityVerdict::Is(Condition::no("ServiceNotFound", format!("{at} is not present")));
    };
    if service.at("spec.type").as_str() != Some("ClusterIP") {
        return AvailabilityVerdict::Ask { lacks: None };
    }
    let Some(found) = service.list("spec.ports").iter().find(|candidate| candidate.int("port") == port) else {
        return AvailabilityVerdict::Is(Condition::no(
            "ServicePortError",
            format!("{at} is not listening on port {port}"),
        ));
    };
    let slices: Vec<_> = lists
        .of(&endpoint_slices())
        .filter(|slice| slice.namespace() == namespace && slice.label("kubernetes.io/service-name") == Some(name))
        .collect();
    let port_name = found.text("name");
    let lacks = if slices.is_empty() {
        Some(Condition::no("EndpointsNotFound", format!("cannot find endpointslices for {at}")))
    } else if !slices.iter().any(|slice| has_ready_endpoint(slice, port_name)) {
        let message = format!("endpointslices for {at} have no addresses with port name {port_name:?}");
        Some(Condition::no("MissingEndpoints", message))
    } else {
        None
    };
    AvailabilityVerdict::Ask { lacks }
}

fn has_ready_endpoint(slice: &Object, port_name: &str) -> bool {
    let is_ready = |endpoint: &Value| endpoint.at("conditions.ready").as_bool().unwrap_or(true);
    slice.list("endpoints").iter().any(is_ready)
        && slice.list("ports").iter().any(|port| port.text("name") == port_name)
}
