use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::resource_v1::{DeviceSelector, DeviceTaintRule, DeviceToleration, ResourceClaim};
use coracle_meta::Resource;

use super::DeviceId;
use super::found::{FoundDevice, attribute, devices};
use super::pools::Pool;
use super::request::{Ask, RequestFields};
use super::selectors::Selectors;

/// The maximum number of devices of a claim. In Kubernetes: `AllocationResultsMaxSize`.
const MOST_OF_A_CLAIM: usize = 32;
/// The maximum number of steps of a search for one node. In Kubernetes a time limit: `filterTimeout`.
const MOST_STEPS: usize = 100_000;

/// A device chosen for an alternative of a request.
#[derive(Clone, Debug)]
pub(super) struct Pick<'a> {
    pub(super) found: FoundDevice<'a>,
    pub(super) reference: String,
    pub(super) request: &'a str,
    pub(super) is_admin: bool,
    pub(super) tolerations: &'a [DeviceToleration],
}

/// The chosen alternative of each request, and its devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Picked<'a> {
    pub(super) picks: Vec<Pick<'a>>,
    /// The index of the alternative, by request.
    pub(super) alternatives: BTreeMap<usize, usize>,
}

/// A backtracking search for devices. In Kubernetes: `allocator`.
pub(super) struct Search<'a> {
    pub(super) claims: &'a [Arc<ResourceClaim>],
    pub(super) pools: &'a [Pool],
    pub(super) selectors: &'a Selectors,
    pub(super) classes: &'a BTreeMap<String, Arc<coracle_api::resource_v1::DeviceClass>>,
    /// Devices that are allocated, or will be.
    pub(super) in_use: &'a BTreeMap<DeviceId, usize>,
    /// The rules that taint devices, by name.
    pub(super) rules: &'a BTreeMap<String, Arc<DeviceTaintRule>>,
    /// By claim and request, the preferred alternative first.
    pub(super) asks: Vec<Vec<Vec<Ask<'a>>>>,
    pub(super) picked: Vec<Picked<'a>>,
    /// The claims that use each device in this search.
    taken: BTreeMap<DeviceId, BTreeSet<usize>>,
    steps: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        claims: &'a [Arc<ResourceClaim>],
        pools: &'a [Pool],
        selectors: &'a Selectors,
        classes: &'a BTreeMap<String, Arc<coracle_api::resource_v1::DeviceClass>>,
        in_use: &'a BTreeMap<DeviceId, usize>,
        rules: &'a BTreeMap<String, Arc<DeviceTaintRule>>,
    ) -> Self {
        let (asks, picked) = (Vec::new(), vec![Picked::default(); claims.len()]);
        Self { claims, pools, selectors, classes, in_use, rules, asks, picked, taken: BTreeMap::new(), steps: 0 }
    }

    /// True if there are devices for all claims; they are then in `picked`.
    ///
    /// # Errors
    /// Why a request is invalid, or why the search was aborted.
    pub(super) fn run(&mut self) -> Result<bool, String> {
        for claim in self.claims {
            let mut of_claim = Vec::new();
            let mut least = 0;
            for request in &claim.spec.devices.requests {
                let said = RequestFields::of(claim, request)?;
                let asks = said.into_iter().map(|said| self.ask(claim, said)).collect::<Result<Vec<_>, _>>()?;
                least += asks.iter().map(|ask| ask.count).min().unwrap_or(0);
                of_claim.push(asks);
            }
            if least > MOST_OF_A_CLAIM {
                let key = claim.key();
                return Err(format!(
                    "claim {key}: number of requested devices {least} exceeds the claim limit of {MOST_OF_A_CLAIM}"
                ));
            }
            for (at, constraint) in claim.spec.devices.constraints.iter().enumerate() {
                if constraint.match_attribute.is_none() {
                    let key = claim.key();
                    return Err(format!(
                        "claim {key}, constraint #{at}: empty constraint (unsupported constraint type?)"
                    ));
                }
            }
            self.asks.push(of_claim);
        }
        let asks = std::mem::take(&mut self.asks);
        let done = self.request(&asks, 0, 0);
        self.asks = asks;
        if done == Ok(false) && self.pools.iter().any(|pool| pool.is_invalid) {
            return Err("invalid resource pools were encountered".to_owned());
        }
        done
    }

    /// In Kubernetes: `validateDeviceRequest`.
    fn ask(&self, claim: &ResourceClaim, said: RequestFields<'a>) -> Result<Ask<'a>, String> {
        let what = || format!("claim {}, request {}", claim.key(), said.name);
        let Some(class) = self.classes.get(said.class) else {
            return Err(format!("{}: could not retrieve device class {}", what(), said.class));
        };
        let RequestFields { reference, request, selectors, tolerations, is_admin, mode, count, .. } = said;
        let mut ask = Ask { reference, request, class, selectors, tolerations, is_admin, count: 0, all: None };
        match mode {
            "" | "ExactCount" => ask.count = usize::try_from(count.max(1)).unwrap_or(usize::MAX),
            "All" => {
                let mut all = Vec::new();
                for pool in self.pools {
                    let id = format!("{}/{}", pool.driver, pool.name);
                    if pool.is_incomplete || pool.is_invalid {
                        let how = if pool.is_incomplete { "being updated" } else { "invalid" };
                        return Err(format!(
                            "{}: asks for all devices, but resource pool {id} is currently {how}",
                            what()
                        ));
                    }
                    for found in devices(pool) {
                        if self.is_selectable(claim, &ask, &found)? {
                            all.push(found);
                        }
                    }
                }
                ask.count = all.len();
                ask.all = Some(all);
            }
            other => return Err(format!("{}: unsupported count mode {other}", what())),
        }
        Ok(ask)
    }

    /// Continues from this request. In Kubernetes: `allocateOne`.
    fn request(&mut self, asks: &[Vec<Vec<Ask<'a>>>], claim: usize, request: usize) -> Result<bool, String> {
        let Some(of_claim) = asks.get(claim) else { return Ok(true) };
        let Some(alternatives) = of_claim.get(request) else { return self.request(asks, claim + 1, 0) };
        for (at, ask) in alternatives.iter().enumerate() {
            self.picked[claim].alternatives.insert(request, at);
            let is_nothing = ask.all.as_ref().is_some_and(Vec::is_empty);
            if !is_nothing && self.device(asks, claim, request, ask, 0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Continues from the device with this index of a request.
    fn device(
        &mut self,
        asks: &[Vec<Vec<Ask<'a>>>],
        claim: usize,
        request: usize,
        ask: &Ask<'a>,
        at: usize,
    ) -> Result<bool, String> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err("timed out trying to allocate devices".to_owned());
        }
        if at >= ask.count {
            return self.request(asks, claim, request + 1);
        }
        if self.picked[claim].picks.len() + ask.count - at > MOST_OF_A_CLAIM {
            return Ok(false);
        }
        if let Some(all) = &ask.all {
            let found = all[at];
            if !self.is_free(claim, ask, &found) || !self.is_tolerated(ask, &found) {
                return Ok(false);
            }
            if !self.meets_constraints(claim, ask, &found) {
                let (key, name) = (self.claims[claim].key(), &ask.reference);
                let DeviceId { driver, pool, device } = found.id();
                return Err(format!(
                    "claim {key}, request {name}: cannot add device {driver}/{pool}/{device} because a claim constraint would not be satisfied"
                ));
            }
            return self.with(asks, claim, request, ask, at, found);
        }
        let pools = self.pools;
        for pool in pools.iter().filter(|pool| !pool.is_incomplete && !pool.is_invalid) {
            for found in devices(pool) {
                let fits = self.is_free(claim, ask, &found)
                    && self.is_tolerated(ask, &found)
                    && self.is_selectable(&self.claims[claim], ask, &found)?
                    && self.meets_constraints(claim, ask, &found);
                if fits && self.with(asks, claim, request, ask, at, found)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Takes this device and continues with the next; releases it if the search fails.
    fn with(
        &mut self,
        asks: &[Vec<Vec<Ask<'a>>>],
        claim: usize,
        request: usize,
        ask: &Ask<'a>,
        at: usize,
        found: FoundDevice<'a>,
    ) -> Result<bool, String> {
        let id = found.id();
        let is_first = self.taken.entry(id.clone()).or_default().insert(claim);
        let (reference, request_name) = (ask.reference.clone(), ask.request);
        let pick =
            Pick { found, reference, request: request_name, is_admin: ask.is_admin, tolerations: ask.tolerations };
        self.picked[claim].picks.push(pick);
        let done = self.device(asks, claim, request, ask, at + 1)?;
        if !done {
            self.picked[claim].picks.pop();
            if is_first && let Some(claims) = self.taken.get_mut(&id) {
                claims.remove(&claim);
            }
        }
        Ok(done)
    }

    fn is_free(&self, claim: usize, ask: &Ask<'_>, found: &FoundDevice<'_>) -> bool {
        let id = found.id();
        let taken = self.taken.get(&id);
        // Shared counters belong to a feature that is off.
        if !found.device.consumes_counters.is_empty() {
            return false;
        }
        if ask.is_admin {
            return !taken.is_some_and(|claims| claims.contains(&claim));
        }
        !self.in_use.contains_key(&id) && taken.is_none_or(BTreeSet::is_empty)
    }

    /// Whether the request tolerates the taints of the device, those of its slice and those by rules. In Kubernetes:
    /// `taintPreventsAllocation`, with the taints that `resourceslice/tracker` adds.
    fn is_tolerated(&self, ask: &Ask<'_>, found: &FoundDevice<'_>) -> bool {
        let (driver, pool) = (&found.pool.driver, &found.pool.name);
        let selected = self.rules.values().filter(|rule| {
            let selector = rule.spec.device_selector.as_deref();
            selector.is_some_and(|selector| selector.selects(driver, pool, &found.device.name))
        });
        let mut taints = found.device.taints.iter().chain(selected.map(|rule| &rule.spec.taint));
        taints.all(|taint| {
            let keeps_away = matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
            !keeps_away || ask.tolerations.iter().any(|toleration| toleration.tolerates(taint))
        })
    }

    fn is_selectable(&self, claim: &ResourceClaim, ask: &Ask<'_>, found: &FoundDevice<'_>) -> Result<bool, String> {
        // Binding conditions belong to a feature that is off.
        if !found.device.binding_conditions.is_empty() {
            return Ok(false);
        }
        let class = &ask.class;
        let of_class = || format!("class {}", class.metadata.name.as_deref().unwrap_or_default());
        Ok(self.all_choose(&class.spec.selectors, found, of_class)?
            && self.all_choose(ask.selectors, found, || format!("claim {}", claim.key()))?)
    }

    fn all_choose(
        &self,
        selectors: &[DeviceSelector],
        found: &FoundDevice<'_>,
        whose: impl Fn() -> String,
    ) -> Result<bool, String> {
        for (at, selector) in selectors.iter().enumerate() {
            let text = selector.cel.as_ref().map_or("", |cel| cel.expression.as_str());
            let chosen = self.selectors.choose(text, &found.id(), found.device);
            if !chosen.map_err(|why| format!("{}: selector #{at}: {why}", whose()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the device satisfies the claim's `matchAttribute` constraints together with the devices chosen before.
    fn meets_constraints(&self, claim: usize, ask: &Ask<'_>, found: &FoundDevice<'_>) -> bool {
        let constraints = &self.claims[claim].spec.devices.constraints;
        constraints.iter().filter(|one| one.match_attribute.is_some()).all(|constraint| {
            let concerns = |request: &str, reference: &str| {
                let names = &constraint.requests;
                names.is_empty() || names.iter().any(|name| name == request || name == reference)
            };
            if !concerns(ask.request, &ask.reference) {
                return true;
            }
            let name = constraint.match_attribute.as_deref().unwrap_or_default();
            let Some(own) = attribute(found, name) else { return false };
            let picks = &self.picked[claim].picks;
            let first = picks.iter().find(|pick| concerns(pick.request, &pick.reference));
            first.is_none_or(|first| attribute(&first.found, name).is_some_and(|theirs| theirs == own))
        })
    }
}
