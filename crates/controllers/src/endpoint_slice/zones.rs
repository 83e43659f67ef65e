//! Topology-aware routing: distributes endpoints over zones by the CPU of their nodes. The older way, by an
//! annotation of the Service.
//!
//! In Kubernetes: `k8s.io/endpointslice/topologycache`.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::Node;
use coracle_api::discovery_v1::{Endpoint, EndpointHints, EndpointSlice, ForZone};
use coracle_controller_runtime::EventType;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::decide::Plan;
use super::hints;

/// An event about a Service: type, reason, message.
pub(super) type ServiceEvent = (EventType, &'static str, String);

/// How much more than its share an endpoint may get.
const OVERLOAD: f64 = 0.2;

/// How many endpoints each zone uses, by Service and family.
#[derive(Clone, Debug, Default)]
pub(super) struct Zones {
    hinted: Arc<Mutex<BTreeMap<ObjectKey, Hinted>>>,
}

#[derive(Debug, Default)]
struct Hinted {
    by_family: BTreeMap<&'static str, BTreeMap<String, usize>>,
    /// Whether an event reported the current state.
    is_told: bool,
}

/// How many endpoints a zone has, may have and should have.
#[derive(Debug)]
struct Share {
    most: usize,
    desired: f64,
}

impl Zones {
    /// Distributes the endpoints of one family.
    pub(super) fn hint(
        &self,
        service: &ObjectKey,
        family: &'static str,
        nodes: &[Arc<Node>],
        plan: &mut Plan,
    ) -> Vec<ServiceEvent> {
        match share_out(nodes, plan) {
            Ok(by_zone) => {
                let mut all = self.hinted.lock();
                let hinted = all.entry(service.clone()).or_default();
                hinted.by_family.insert(family, by_zone);
                if std::mem::replace(&mut hinted.is_told, true) {
                    return Vec::new();
                }
                let message = format!("Topology Aware Hints has been enabled, addressType: {family}");
                vec![(EventType::Normal, "TopologyAwareHintsEnabled", message)]
            }
            Err(why) => {
                self.stop(service, family);
                hints::set(plan, |_: &Endpoint| None);
                vec![(EventType::Warning, "TopologyAwareHintsDisabled", format!("{why}, addressType: {family}"))]
            }
        }
    }

    /// Removes the hints of one family.
    pub(super) fn stop(&self, service: &ObjectKey, family: &'static str) -> Vec<ServiceEvent> {
        let mut all = self.hinted.lock();
        let Some(hinted) = all.get_mut(service) else { return Vec::new() };
        hinted.by_family.remove(family);
        let was_told = std::mem::take(&mut hinted.is_told);
        if hinted.by_family.is_empty() {
            all.remove(service);
        }
        let message = || format!("Topology Aware Hints has been disabled, addressType: {family}");
        was_told.then(|| (EventType::Warning, "TopologyAwareHintsDisabled", message())).into_iter().collect()
    }

    /// Forgets a deleted Service.
    pub(super) fn forget(&self, service: &ObjectKey) {
        self.hinted.lock().remove(service);
    }

    /// The Services whose endpoints are not well distributed among these nodes.
    pub(super) fn overloaded(&self, nodes: &[Arc<Node>]) -> Vec<ObjectKey> {
        let all = self.hinted.lock();
        if all.is_empty() {
            return Vec::new();
        }
        let ratios = ratios(nodes).unwrap_or_default();
        let is_overloaded = |hinted: &Hinted| hinted.by_family.values().any(|by_zone| overloaded(by_zone, &ratios));
        all.iter().filter(|(_, hinted)| is_overloaded(hinted)).map(|(service, _)| service.clone()).collect()
    }
}

fn overloaded(by_zone: &BTreeMap<String, usize>, ratios: &BTreeMap<String, f64>) -> bool {
    if by_zone.is_empty() || ratios.is_empty() {
        return !by_zone.is_empty();
    }
    let total = by_zone.values().sum::<usize>() as f64;
    let least = |ratio: f64| (total * ratio / (1.0 + OVERLOAD)).ceil() as usize;
    ratios.iter().any(|(zone, ratio)| by_zone.get(zone).is_none_or(|count| *count < least(*ratio)))
}

/// Whether a node's condition `Ready` is true.
pub(super) fn is_ready(node: &Node) -> bool {
    node.status.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The zone that a node is in.
pub(super) fn zone_of(node: &Node) -> Option<&str> {
    let zone = node.metadata.labels.get("topology.kubernetes.io/zone").map(String::as_str);
    zone.filter(|zone| !zone.is_empty())
}

/// Each zone's share of the total CPU; `None` if a zone or its CPU is unknown.
fn ratios(nodes: &[Arc<Node>]) -> Option<BTreeMap<String, f64>> {
    let mut by_zone: BTreeMap<String, f64> = BTreeMap::new();
    for node in nodes {
        let labels = &node.metadata.labels;
        let is_control_plane = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]
            .iter()
            .any(|role| labels.contains_key(*role));
        if is_control_plane || !is_ready(node) {
            continue;
        }
        let cpu = node.status.allocatable.get("cpu").map_or(0, |cpu| cpu.milli_value());
        *by_zone.entry(zone_of(node)?.to_owned()).or_default() += Some(cpu as f64).filter(|cpu| *cpu > 0.0)?;
    }
    let total: f64 = by_zone.values().sum();
    (by_zone.len() >= 2).then(|| by_zone.into_iter().map(|(zone, cpu)| (zone, cpu / total)).collect())
}

/// Assigns each ready endpoint to a zone; returns how many each zone has then, or why it is not possible.
fn share_out(nodes: &[Arc<Node>], plan: &mut Plan) -> Result<BTreeMap<String, usize>, String> {
    let written = plan.writes.create.iter().chain(&plan.writes.update);
    let all = written.chain(plan.unchanged.iter().map(AsRef::as_ref));
    let total = all.map(|slice| slice.endpoints.iter().filter(|one| is_usable(one)).count()).sum();
    let shares = shares(nodes, total)?;

    let mut by_zone = BTreeMap::new();
    for slice in std::mem::take(&mut plan.unchanged) {
        match hinted_so_far(&slice, &by_zone, &shares) {
            Some(more) => {
                more.into_iter().for_each(|(zone, count)| *by_zone.entry(zone).or_default() += count);
                plan.unchanged.push(slice);
            }
            None => plan.writes.update.push(slice.as_ref().clone()),
        }
    }
    let slices = plan.writes.create.iter_mut().chain(&mut plan.writes.update);
    let mut endpoints: Vec<_> = slices.flat_map(|slice| &mut slice.endpoints).filter(|one| is_usable(one)).collect();
    for endpoint in &mut endpoints {
        let zone = endpoint.zone.clone().filter(|zone| !zone.is_empty());
        let zone = zone.ok_or("One or more endpoints do not have a zone specified")?;
        *by_zone.entry(zone.clone()).or_default() += 1;
        endpoint.hints = Some(Box::new(hint(zone)));
    }
    let (mut giving, mut receiving) = exchange(&shares, &by_zone);
    for endpoint in endpoints {
        let from = endpoint.zone.clone().unwrap_or_default();
        let Some(left) = giving.get_mut(&from).filter(|left| **left > 0) else { continue };
        let Some((to, wanted)) = receiving.iter_mut().find(|(_, wanted)| **wanted > 0) else { break };
        endpoint.hints = Some(Box::new(hint(to.clone())));
        (*left, *wanted) = (*left - 1, *wanted - 1);
        *by_zone.entry(to.clone()).or_default() += 1;
        by_zone.entry(from).and_modify(|count| *count = count.saturating_sub(1));
    }
    if by_zone.is_empty() { Err("No hints allocated for zones".to_owned()) } else { Ok(by_zone) }
}

fn hint(zone: String) -> EndpointHints {
    EndpointHints { for_zones: vec![ForZone { name: zone, unknown: None }], ..EndpointHints::default() }
}

fn is_usable(endpoint: &Endpoint) -> bool {
    endpoint.conditions.ready == Some(true)
}

/// What each zone should have of `total` endpoints. In Kubernetes: `getAllocations`.
fn shares(nodes: &[Arc<Node>], total: usize) -> Result<BTreeMap<String, Share>, String> {
    let ratios = ratios(nodes)
        .ok_or("Insufficient Node information: allocatable CPU or zone not specified on one or more nodes")?;
    let zones = ratios.len();
    if zones > total {
        return Err(format!("Insufficient number of endpoints ({total} endpoints, {zones} zones)"));
    }
    let least = |ratio: f64| (ratio * total as f64 / (1.0 + OVERLOAD)).ceil() as usize;
    let all_least: usize = ratios.values().map(|ratio| least(*ratio)).sum();
    let spare = total.checked_sub(all_least).ok_or_else(|| {
        let what = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold";
        format!("{what} ({total} endpoints, {zones} zones)")
    })?;
    let share = |ratio: f64| {
        let least = least(ratio);
        Share { most: least + spare, desired: (ratio * total as f64).max(least as f64) }
    };
    Ok(ratios.into_iter().map(|(zone, ratio)| (zone, share(ratio))).collect())
}

/// The existing hints of a slice's endpoints, if they can stay.
fn hinted_so_far(
    slice: &EndpointSlice,
    by_zone: &BTreeMap<String, usize>,
    shares: &BTreeMap<String, Share>,
) -> Option<BTreeMap<String, usize>> {
    let mut hinted: BTreeMap<String, usize> = BTreeMap::new();
    for endpoint in slice.endpoints.iter().filter(|one| is_usable(one)) {
        let zones = &endpoint.hints.as_ref().filter(|hints| !hints.for_zones.is_empty())?.for_zones;
        for zone in zones {
            *hinted.entry(zone.name.clone()).or_default() += 1;
        }
    }
    let fits = |(zone, count): (&String, &usize)| {
        let share = shares.get(zone);
        share.is_some_and(|share| count + by_zone.get(zone).copied().unwrap_or(0) <= share.most)
    };
    hinted.iter().all(fits).then_some(hinted)
}

/// How many endpoints each zone gives to others, and gets from others.
fn exchange(
    shares: &BTreeMap<String, Share>,
    by_zone: &BTreeMap<String, usize>,
) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let over = |(zone, share): (&String, &Share)| {
        (zone.clone(), by_zone.get(zone).copied().unwrap_or(0) as f64 - share.desired)
    };
    let mut over: BTreeMap<_, _> = shares.iter().map(over).collect();
    let (mut giving, mut receiving) = (BTreeMap::new(), BTreeMap::new());
    // Ends after at most as many rounds as there are endpoints: each takes one from a zone that has more than its
    // share.
    for _ in 0..by_zone.values().sum() {
        let most = |sign: f64| {
            let zones = over.iter().map(|(zone, over)| (zone, sign * over)).filter(|(_, left)| *left > 0.0);
            zones.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(zone, left)| (zone.clone(), left))
        };
        let (Some((from, to_give)), Some((to, to_get))) = (most(1.0), most(-1.0)) else { break };
        if to_give < 0.5 || to_get < 0.5 || (to_give < 1.0 && to_get < 1.0) {
            break;
        }
        *giving.entry(from.clone()).or_default() += 1;
        *receiving.entry(to.clone()).or_default() += 1;
        over.entry(from).and_modify(|over| *over -= 1.0);
        over.entry(to).and_modify(|over| *over += 1.0);
    }
    (giving, receiving)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::Quantity;

    fn node(zone: &str, cpu: i64) -> Arc<Node> {
        let mut node = Node::default();
        node.metadata.labels.insert("topology.kubernetes.io/zone".to_owned(), zone.to_owned());
        node.status.allocatable.insert("cpu".to_owned(), Quantity::of(cpu));
        let ready = coracle_api::core_v1::NodeCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            ..Default::default()
        };
        node.status.conditions = vec![ready];
        Arc::new(node)
    }

    fn slice(zones: &[&str]) -> EndpointSlice {
        let endpoint = |zone: &&str| {
            let mut endpoint = Endpoint { zone: Some((*zone).to_owned()), ..Endpoint::default() };
            endpoint.conditions.ready = Some(true);
            endpoint
        };
        EndpointSlice { endpoints: zones.iter().map(endpoint).collect(), ..EndpointSlice::default() }
    }

    fn plan(slice: EndpointSlice) -> Plan {
        let mut plan = Plan::default();
        plan.writes.create.push(slice);
        plan
    }

    fn hinted_to(plan: &Plan) -> Vec<String> {
        let hints = plan.writes.create[0].endpoints.iter().flat_map(|one| one.hints.as_ref());
        hints.map(|hints| hints.for_zones[0].name.clone()).collect()
    }

    #[test]
    fn a_zone_without_endpoints_gets_some_of_others_and_one_event() {
        let (zones, web) = (Zones::default(), ObjectKey::new("default", "web"));
        let nodes = [node("a", 4), node("b", 4)];
        let mut shared = plan(slice(&["a", "a", "a", "a"]));
        let events = zones.hint(&web, "IPv4", &nodes, &mut shared);
        assert_eq!(events[0].2, "Topology Aware Hints has been enabled, addressType: IPv4");
        let mut to = hinted_to(&shared);
        to.sort();
        assert_eq!(to, ["a", "a", "b", "b"]);
        assert!(zones.hint(&web, "IPv4", &nodes, &mut shared).is_empty());
        assert!(zones.overloaded(&nodes).is_empty());
        assert_eq!(zones.overloaded(&[node("a", 4), node("c", 4)]), std::slice::from_ref(&web));
        assert_eq!(zones.stop(&web, "IPv4")[0].1, "TopologyAwareHintsDisabled");
        assert!(zones.stop(&web, "IPv4").is_empty());
    }

    #[test]
    fn unfair_hints_are_removed_and_the_reason_is_recorded() {
        let (zones, web) = (Zones::default(), ObjectKey::new("default", "web"));
        let why =
            |nodes: &[Arc<Node>], slice: EndpointSlice| zones.hint(&web, "IPv4", nodes, &mut plan(slice))[0].2.clone();
        let two = [node("a", 4), node("b", 4)];
        assert!(why(&two[..1], slice(&["a"])).starts_with("Insufficient Node information"));
        assert_eq!(
            why(&two, slice(&["a"])),
            "Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv4"
        );
        assert!(why(&two, slice(&["a", ""])).starts_with("One or more endpoints do not have a zone"));
    }
}
