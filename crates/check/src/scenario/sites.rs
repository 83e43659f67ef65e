use std::collections::{BTreeMap, BTreeSet};

use coracle_sim::checks::LoggedRequest;

use super::requesters::is_of;
use super::scenario_trial::ScenarioOutcome;
use crate::fault_site::{FaultSite, Sites, WRITES};

/// The user of the steps of a scenario.
const USER: &str = "scenario";

/// Where faults can begin in a scenario: at the writes of a component, and of the user.
pub(super) fn sites(faultless: &[ScenarioOutcome], component: &str, kinds: &BTreeMap<String, String>) -> Sites {
    let mut sites = Sites::default();
    let Some(first) = faultless.first() else { return sites };
    let all: Vec<Vec<FaultSite>> = faultless.iter().map(|run| writes(run, |by| is_of(by, component))).collect();
    sites.sort_out(&all);
    sites.of_user = writes(first, |by| by == USER);
    let changed: BTreeSet<&str> = committed(first).map(|(_, request)| request.resource()).collect();
    let kind = |plural: &str| Some((plural.to_owned(), kinds.get(plural)?.clone()));
    sites.watched = changed.into_iter().filter(|plural| !is_record(plural)).filter_map(kind).collect();
    sites
}

/// The requests after the first step begins.
fn requests(outcome: &ScenarioOutcome) -> impl Iterator<Item = (&str, &LoggedRequest)> {
    let all = outcome.run.log.requests.iter().zip(&outcome.requesters);
    all.filter(|(request, _)| request.entry > outcome.began).map(|(request, by)| (&**by, request))
}

fn committed(outcome: &ScenarioOutcome) -> impl Iterator<Item = (&str, &LoggedRequest)> {
    requests(outcome).filter(|(_, request)| request.has_committed)
}

/// The requests of some requesters that change something, in order.
fn writes(outcome: &ScenarioOutcome, is_meant: impl Fn(&str) -> bool) -> Vec<FaultSite> {
    let mut counts: BTreeMap<FaultSite, u64> = BTreeMap::new();
    let mut found = Vec::new();
    let own = requests(outcome).filter(|(by, request)| is_meant(by) && WRITES.contains(&&*request.verb));
    for (by, request) in own {
        let resource = match request.subresource.as_str() {
            "" => request.resource().to_owned(),
            subresource => format!("{}/{subresource}", request.resource()),
        };
        let site = FaultSite { by: by.to_owned(), verb: request.verb.to_string(), resource, nth: 0 };
        let nth = counts.entry(site.clone()).or_default();
        *nth += 1;
        if request.has_committed && !is_record(request.resource()) {
            found.push(FaultSite { nth: *nth, ..site });
        }
    }
    found
}

fn is_record(plural: &str) -> bool {
    matches!(plural, "leases" | "events")
}
