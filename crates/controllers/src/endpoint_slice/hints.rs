//! Topology hints: which zones or nodes should use an endpoint.

use std::sync::Arc;

use coracle_api::core_v1::Service;
use coracle_api::discovery_v1::{Endpoint, EndpointHints, EndpointSlice, ForNode, ForZone};

use super::decide::Plan;

/// The traffic distribution of a Service. In Kubernetes: `spec.trafficDistribution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// Over all endpoints.
    Everywhere,
    /// Within a zone, if it has endpoints.
    SameZone,
    /// Within a node, then within a zone.
    SameNode,
}

/// The traffic distribution that the Service's field requests.
pub(super) fn distribution(service: &Service) -> Distribution {
    match service.spec.traffic_distribution.as_deref() {
        Some("PreferClose" | "PreferSameZone") => Distribution::SameZone,
        Some("PreferSameNode") => Distribution::SameNode,
        _ => Distribution::Everywhere,
    }
}

/// Whether the Service requests topology-aware routing, by its older annotation.
pub(super) fn by_zone(service: &Service) -> bool {
    let annotation = |name| service.metadata.annotations.get(name);
    let mode = annotation("service.kubernetes.io/topology-aware-hints");
    let mode = mode.or_else(|| annotation("service.kubernetes.io/topology-mode"));
    mode.is_some_and(|mode| mode == "Auto" || mode == "auto")
}

/// Sets hints on the slices that are written, and writes those whose hints differ. In Kubernetes:
/// `trafficdist.ReconcileHints`.
pub(super) fn prefer_close(distribution: Distribution, plan: &mut Plan) {
    let wanted = |endpoint: &Endpoint| {
        if distribution == Distribution::Everywhere {
            return None;
        }
        if endpoint.conditions.ready != Some(true) {
            return endpoint.hints.clone();
        }
        let zone = endpoint.zone.clone().map(|name| ForZone { name, unknown: None });
        let node = endpoint.node_name.clone().filter(|_| distribution == Distribution::SameNode);
        let node = node.map(|name| ForNode { name, unknown: None });
        let hints = EndpointHints {
            for_zones: zone.into_iter().collect(),
            for_nodes: node.into_iter().collect(),
            unknown: None,
        };
        Some(Box::new(hints)).filter(|hints| **hints != EndpointHints::default())
    };
    set(plan, wanted);
}

/// Sets the hints that `wanted` returns on the slices that are written, and writes those whose hints differ.
pub(super) fn set(plan: &mut Plan, wanted: impl Fn(&Endpoint) -> Option<Box<EndpointHints>>) {
    let is_right = |slice: &Arc<EndpointSlice>| slice.endpoints.iter().all(|one| one.hints == wanted(one));
    let (right, wrong): (Vec<_>, Vec<_>) = std::mem::take(&mut plan.unchanged).into_iter().partition(is_right);
    plan.unchanged = right;
    plan.writes.update.extend(wrong.iter().map(|slice| slice.as_ref().clone()));
    for slice in plan.writes.create.iter_mut().chain(&mut plan.writes.update) {
        for endpoint in &mut slice.endpoints {
            endpoint.hints = wanted(endpoint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(ready: bool) -> Arc<EndpointSlice> {
        let mut endpoint =
            Endpoint { zone: Some("z".to_owned()), node_name: Some("n".to_owned()), ..Endpoint::default() };
        endpoint.conditions.ready = Some(ready);
        Arc::new(EndpointSlice { endpoints: vec![endpoint], ..EndpointSlice::default() })
    }

    #[test]
    fn hints_come_with_the_field_go_with_it_and_are_written_once() {
        let hinted = |distribution, unchanged: Vec<Arc<EndpointSlice>>| {
            let mut plan = Plan { unchanged, ..Plan::default() };
            prefer_close(distribution, &mut plan);
            plan.writes.update
        };
        let zone = hinted(Distribution::SameZone, vec![slice(true)]);
        let hints = zone[0].endpoints[0].hints.clone().unwrap();
        assert_eq!((hints.for_zones[0].name.as_str(), hints.for_nodes.len()), ("z", 0));
        let zone = Arc::new(zone[0].clone());
        assert!(hinted(Distribution::SameZone, vec![zone.clone()]).is_empty());
        let node = hinted(Distribution::SameNode, vec![zone.clone()]);
        assert_eq!(node[0].endpoints[0].hints.as_ref().unwrap().for_nodes[0].name, "n");
        assert_eq!(hinted(Distribution::Everywhere, vec![zone])[0].endpoints[0].hints, None);
        assert!(hinted(Distribution::SameZone, vec![slice(false)]).is_empty(), "only ready ones are hinted");
    }
}
