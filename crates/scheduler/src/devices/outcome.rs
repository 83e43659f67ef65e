use coracle_api::core_v1 as core;
use coracle_api::resource_v1::{
    AllocationResult, DeviceAllocationConfiguration, DeviceRequestAllocationResult, ResourceClaim,
};

use super::request::Ask;
use super::search::Picked;

/// The allocation for the status of a claim.
///
/// # Errors
/// Why the nodes of the devices cannot be determined.
pub(super) fn outcome(
    claim: &ResourceClaim,
    asks: &[Vec<Ask<'_>>],
    picked: &Picked<'_>,
) -> Result<AllocationResult, String> {
    let mut result = AllocationResult::default();
    for pick in &picked.picks {
        let id = pick.found.id();
        result.devices.results.push(DeviceRequestAllocationResult {
            request: pick.reference.clone(),
            driver: id.driver,
            pool: id.pool,
            device: id.device,
            admin_access: pick.is_admin.then_some(true),
            tolerations: pick.tolerations.to_vec(),
            ..DeviceRequestAllocationResult::default()
        });
    }
    let config = &mut result.devices.config;
    configure_by_class(asks, picked, config);
    for one in &claim.spec.devices.config {
        let chosen = claim.spec.devices.requests.iter().enumerate().filter(|(at, request)| {
            let taken = picked.alternatives.get(at).and_then(|taken| asks.get(*at)?.get(*taken));
            one.requests.contains(&request.name) || taken.is_some_and(|ask| one.requests.contains(&ask.reference))
        });
        let times = if one.requests.is_empty() { 1 } else { chosen.count() };
        config.extend((0..times).map(|_| DeviceAllocationConfiguration {
            source: "FromClaim".to_owned(),
            requests: one.requests.clone(),
            opaque: one.opaque.clone(),
            ..DeviceAllocationConfiguration::default()
        }));
    }
    result.node_selector = nodes(picked)?.map(Box::new);
    Ok(result)
}

/// The configuration from classes, once for all requests of a class.
fn configure_by_class(asks: &[Vec<Ask<'_>>], picked: &Picked<'_>, config: &mut Vec<DeviceAllocationConfiguration>) {
    let mut known: Vec<(&str, std::ops::Range<usize>)> = Vec::new();
    for (at, alternatives) in asks.iter().enumerate() {
        let Some(ask) = picked.alternatives.get(&at).and_then(|taken| alternatives.get(*taken)) else { continue };
        let class = ask.class.metadata.name.as_deref().unwrap_or_default();
        if let Some((_, range)) = known.iter().find(|(name, _)| *name == class) {
            config[range.clone()].iter_mut().for_each(|one| one.requests.push(ask.reference.clone()));
            continue;
        }
        let start = config.len();
        config.extend(ask.class.spec.config.iter().map(|one| DeviceAllocationConfiguration {
            source: "FromClass".to_owned(),
            requests: vec![ask.reference.clone()],
            opaque: one.opaque.clone(),
            ..DeviceAllocationConfiguration::default()
        }));
        known.push((class, start..config.len()));
    }
}

/// The nodes that can access all the devices; `None` for all nodes. In Kubernetes: `createNodeSelector`.
fn nodes(picked: &Picked<'_>) -> Result<Option<core::NodeSelector>, String> {
    let mut term = core::NodeSelectorTerm::default();
    for pick in &picked.picks {
        let spec = &pick.found.slice.spec;
        if let Some(name) = spec.node_name.as_ref().filter(|name| !name.is_empty()) {
            let requirement = core::NodeSelectorRequirement {
                key: "metadata.name".to_owned(),
                operator: "In".to_owned(),
                values: vec![name.clone()],
                ..core::NodeSelectorRequirement::default()
            };
            let only = core::NodeSelectorTerm { match_fields: vec![requirement], ..core::NodeSelectorTerm::default() };
            return Ok(Some(selector(only)));
        }
        match spec.node_selector.as_ref().map(|selector| selector.node_selector_terms.as_slice()) {
            None | Some([]) => {}
            Some([one]) => {
                add(&one.match_fields, &mut term.match_fields);
                add(&one.match_expressions, &mut term.match_expressions);
            }
            Some(several) => {
                return Err(format!("unsupported ResourceSlice.NodeSelector with {} terms", several.len()));
            }
        }
    }
    let says_something = !term.match_fields.is_empty() || !term.match_expressions.is_empty();
    Ok(says_something.then(|| selector(term)))
}

fn selector(term: core::NodeSelectorTerm) -> core::NodeSelector {
    core::NodeSelector { node_selector_terms: vec![term], ..core::NodeSelector::default() }
}

fn add(from: &[core::NodeSelectorRequirement], to: &mut Vec<core::NodeSelectorRequirement>) {
    let is_same = |one: &core::NodeSelectorRequirement, other: &core::NodeSelectorRequirement| {
        let values =
            |of: &core::NodeSelectorRequirement| of.values.iter().cloned().collect::<std::collections::BTreeSet<_>>();
        one.key == other.key && one.operator == other.operator && values(one) == values(other)
    };
    for one in from {
        if !to.iter().any(|other| is_same(one, other)) {
            to.push(one.clone());
        }
    }
}
