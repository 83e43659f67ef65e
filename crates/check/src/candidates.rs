use std::time::Duration;

use coracle_meta::parse_duration;
use coracle_sim::ClockMode;
use serde_json::{Value, json};

use crate::fault_site::{FaultSite, Sites};
use crate::pace::Pace;
use crate::plan::{Plan, fault};

/// How long a killed component is away.
const AWAY: &str = "300ms";

/// A delay that a controller hardly waits for.
const SHORT: Duration = Duration::from_secs(1);

/// The words of the faults of these plans.
pub(crate) const FAULTS: [&str; 11] =
    ["lag", "kill", "lose", "slow", "cut", "refuse", "gone", "hang", "pause", "stale", "close"];
/// At how many of the creations after a deletion a component is killed: the first one of each kind by each writer.
const CREATIONS: usize = 3;

/// The verbs whose requests can conflict with another write.
const CONFLICTING: [&str; 3] = ["update", "patch", "delete"];

/// The plans with one fault or with two that belong together, likeliest first. Each round has one kind of fault at each
/// site of each component.
pub(crate) fn candidates(components: &[(&str, Sites)], pace: &Pace) -> Vec<Plan> {
    let mut of_each: Vec<_> =
        components.iter().map(|(component, sites)| rounds(component, sites, pace).into_iter()).collect();
    let mut plans: Vec<Plan> = Vec::new();
    let mut is_left = true;
    while is_left {
        is_left = false;
        for round in of_each.iter_mut().filter_map(Iterator::next) {
            is_left = true;
            // Two components have the faults of the user's requests in common.
            plans.extend(round.into_iter().filter(|plan| !plans.contains(plan)).collect::<Vec<_>>());
        }
    }
    plans
}

fn rounds(component: &str, sites: &Sites, pace: &Pace) -> Vec<Vec<Plan>> {
    let round = Round { component, sites };
    let mut rounds = vec![
        round.throughout(pace, |delay| delay <= SHORT),
        round.own(|site| kill(component, site, "landed")),
        round.own(|site| fault(site.when(None), json!({"lose": "answer"}), None)),
        restarts_in_the_past(component, sites, pace),
        round.late_writes(pace),
        round.throughout(pace, |delay| delay > SHORT),
        round.lost_throughout(pace),
        round.all(|site| kill(component, site, "sent")),
    ];
    for (index, (delay, reaction)) in pace.delays.iter().enumerate() {
        rounds.push(round.own(|site| fault(site.when(None), json!({"slow": delay}), None)));
        rounds.push(round.own(|site| fault(site.when(None), json!({"slow": {"answer": delay}}), None)));
        rounds.push(round.watches(&sites.of_user, "lag", json!(delay), reaction));
        if index == 0 {
            rounds.push(round.lost_and_late(delay, reaction));
            rounds.push(round.of_user(|site| fault(site.when(None), json!({"slow": delay}), None)));
            rounds.push(round.refusals());
            rounds.push(round.own(|site| of_component(component, "cut", site, "sent", reaction)));
            rounds.push(round.watches(&sites.of_user, "hang", json!({}), pace.long));
        }
    }
    rounds.push(round.ended_watches(&sites.of_user, "gone"));
    if pace.clock == ClockMode::Real {
        rounds.push(round.all(|site| of_component(component, "pause", site, "landed", pace.long)));
    }
    rounds.push(round.all(|site| of_component(component, "stale", site, "landed", pace.long)));
    for (delay, reaction) in pace.delays {
        rounds.push(round.watches(&sites.own, "lag", json!(delay), reaction));
    }
    rounds.push(round.ended_watches(&sites.own, "gone"));
    rounds.push(round.watches(&sites.own, "hang", json!({}), pace.long));
    rounds.push(round.ended_watches(&sites.own, "close"));
    rounds.push(round.ended_watches(&sites.of_user, "close"));
    rounds
}

/// The plans of one fault at each site.
struct Round<'r> {
    component: &'r str,
    sites: &'r Sites,
}

impl Round<'_> {
    fn own(&self, fault: impl Fn(&FaultSite) -> Value) -> Vec<Plan> {
        self.sites.own.iter().map(|site| Plan::of([fault(site)])).collect()
    }

    fn of_user(&self, fault: impl Fn(&FaultSite) -> Value) -> Vec<Plan> {
        self.sites.of_user.iter().map(|site| Plan::of([fault(site)])).collect()
    }

    /// The watches of one kind are late from the first write to the end of the work, with the delays that are meant.
    fn throughout(&self, pace: &Pace, is_meant: impl Fn(Duration) -> bool) -> Vec<Plan> {
        let Some(first) = self.sites.in_order.first() else { return Vec::new() };
        let late = |(delay, _): &(&str, &str)| {
            let of_kind = |kind: &String| Plan::of([self.late_watch(first, kind, delay, pace.throughout)]);
            self.sites.watched.values().map(of_kind).collect::<Vec<_>>()
        };
        let delays = pace.delays.iter().filter(|(delay, _)| parse_duration(delay).is_some_and(&is_meant));
        delays.flat_map(late).collect()
    }

    /// An answer is lost while the watches of the kind that was written are late all the time.
    fn lost_throughout(&self, pace: &Pace) -> Vec<Plan> {
        let (Some(first), Some((delay, _))) = (self.sites.in_order.first(), pace.delays.first()) else {
            return Vec::new();
        };
        let written = self.sites.own.iter().filter_map(|site| Some((site, self.sites.watched.get(site.plural())?)));
        let plan = |(site, kind): (&FaultSite, &String)| {
            let late = self.late_watch(first, kind, delay, pace.throughout);
            Plan::of([late, fault(site.when(None), json!({"lose": "answer"}), None)])
        };
        written.map(plan).collect()
    }

    fn late_watch(&self, site: &FaultSite, kind: &str, delay: &str, lasts: &str) -> Value {
        watch(self.component, site, kind, "lag", json!(delay), lasts)
    }

    /// A write of a leader that is killed, and that lands long after another leader has started.
    fn late_writes(&self, pace: &Pace) -> Vec<Plan> {
        let latest = pace.delays.last().filter(|_| pace.clock == ClockMode::Virtual && self.sites.holds_lease);
        let Some((latest, _)) = latest else { return Vec::new() };
        let late = |site: &FaultSite| fault(site.when(None), json!({"slow": latest}), None);
        let plan = |site: &FaultSite| Plan::of([late(site), kill(self.component, site, "sent")]);
        self.sites.own.iter().map(plan).collect()
    }

    fn all(&self, fault: impl Fn(&FaultSite) -> Value) -> Vec<Plan> {
        self.sites.own.iter().chain(&self.sites.of_user).map(|site| Plan::of([fault(site)])).collect()
    }

    /// A fault of the watches of each kind.
    fn watches(&self, sites: &[FaultSite], word: &str, argument: Value, lasts: &str) -> Vec<Plan> {
        let of_kind = |kind: &String| {
            let fault = |site: &FaultSite| watch(self.component, site, kind, word, argument.clone(), lasts);
            sites.iter().map(|site| Plan::of([fault(site)])).collect::<Vec<_>>()
        };
        self.sites.watched.values().flat_map(of_kind).collect()
    }

    fn ended_watches(&self, sites: &[FaultSite], word: &str) -> Vec<Plan> {
        let of_kind = |kind: &String| {
            let action = json!({word: {}, "kind": kind, "to": self.component});
            sites.iter().map(|site| Plan::of([fault(site.when(None), action.clone(), None)])).collect::<Vec<_>>()
        };
        self.sites.watched.values().flat_map(of_kind).collect()
    }

    /// A creation of which the component sees neither the answer nor, for some time, the object.
    fn lost_and_late(&self, delay: &str, reaction: &str) -> Vec<Plan> {
        let creations = self.sites.own.iter().filter(|site| site.verb == "create");
        let seen = creations.filter_map(|site| Some((site, self.sites.watched.get(&site.resource)?)));
        let plan = |(site, kind): (&FaultSite, &String)| {
            let late = watch(self.component, site, kind, "lag", json!(delay), reaction);
            Plan::of([late, fault(site.when(None), json!({"lose": "answer"}), None)])
        };
        seen.map(plan).collect()
    }

    fn refusals(&self) -> Vec<Plan> {
        let refused = |code: u16, site: &FaultSite| {
            let conflicts = CONFLICTING.contains(&&*site.verb);
            (code != 409 || conflicts).then(|| Plan::of([fault(site.when(None), json!({"refuse": code}), None)]))
        };
        [409, 500]
            .into_iter()
            .flat_map(|code| self.sites.own.iter().filter_map(move |site| refused(code, site)))
            .collect()
    }
}

/// A component that is killed when something exists again that was deleted, and whose next instance talks to an API server
/// that has not seen the deletion.
fn restarts_in_the_past(component: &str, sites: &Sites, pace: &Pace) -> Vec<Plan> {
    let past = |site: &FaultSite| {
        let action = match pace.clock {
            ClockMode::Virtual => json!({"stale": component, "start": 2}),
            // The connections of a program have no number of its start.
            ClockMode::Real | ClockMode::Scaled(_) => json!({"stale": component}),
        };
        fault(site.when(None), action, Some(pace.long))
    };
    let mut plans = Vec::new();
    for (index, deletion) in sites.in_order.iter().enumerate().filter(|(_, site)| site.verb == "delete") {
        let mut first_of_each: Vec<&FaultSite> = Vec::new();
        for creation in sites.in_order[index..].iter().filter(|site| site.verb == "create") {
            let is_alike = |other: &&FaultSite| (&other.by, &other.resource) == (&creation.by, &creation.resource);
            if !first_of_each.iter().any(is_alike) {
                first_of_each.push(creation);
            }
        }
        let creations = first_of_each.into_iter().take(CREATIONS);
        plans.extend(creations.map(|creation| Plan::of([past(deletion), kill(component, creation, "landed")])));
    }
    plans
}

fn kill(component: &str, site: &FaultSite, moment: &str) -> Value {
    fault(site.when(Some(moment)), json!({"kill": component}), Some(AWAY))
}

/// A fault of all that a component sends and receives, for some time.
fn of_component(component: &str, word: &str, site: &FaultSite, moment: &str, lasts: &str) -> Value {
    fault(site.when(Some(moment)), json!({word: component}), Some(lasts))
}

fn watch(component: &str, site: &FaultSite, kind: &str, word: &str, argument: Value, lasts: &str) -> Value {
    fault(site.when(None), json!({word: argument, "kind": kind, "to": component}), Some(lasts))
}

/// Two plans in one.
pub(crate) fn both(one: &Plan, other: &Plan) -> Plan {
    Plan::of(one.faults.iter().chain(&other.faults).cloned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use coracle_scenario::{FaultContext, FaultyServer, PluralsOfKinds, parse_faults};

    use super::*;

    fn site(by: &str, verb: &str, resource: &str) -> FaultSite {
        FaultSite { by: by.to_owned(), verb: verb.to_owned(), resource: resource.to_owned(), nth: 1 }
    }

    #[test]
    fn each_candidate_is_a_valid_list_of_faults() {
        let own = [
            ("create", "configmaps"),
            ("patch", "foos/status"),
            ("delete", "configmaps"),
            ("update", "foos"),
            ("deletecollection", "configmaps"),
        ];
        let sites = Sites {
            own: own.iter().map(|(verb, resource)| site("operator", verb, resource)).collect(),
            of_user: vec![site("user", "create", "foos"), site("user", "delete", "foos")],
            unstable: Vec::new(),
            holds_lease: true,
            in_order: vec![
                site("user", "create", "foos"),
                site("operator", "create", "configmaps"),
                site("operator", "delete", "configmaps"),
                site("user", "delete", "foos"),
                site("user", "create", "foos"),
            ],
            watched: [("foos", "Foo"), ("configmaps", "ConfigMap")]
                .map(|(plural, kind)| (plural.to_owned(), kind.to_owned()))
                .into(),
        };
        let plans = candidates(&[("operator", sites.clone())], &Pace::VIRTUAL);
        assert!(plans.len() > 100, "{}", plans.len());
        let of_programs = candidates(&[("operator", sites)], &Pace::REAL);
        let words: std::collections::BTreeSet<&str> = of_programs.iter().flat_map(Plan::words).collect();
        assert_eq!(words, FAULTS.into());
        let custom = PluralsOfKinds::from([(("example.com/v1".to_owned(), "Foo".to_owned()), "foos".to_owned())]);
        let context = FaultContext { kinds: custom, ..FaultContext::of(FaultyServer::CLUSTER) };
        for plan in &plans {
            let (path, text) = (Path::new("plan"), plan.text());
            let read = parse_faults(path, &text).and_then(|faults| faults.checked(path, &text, context.clone()));
            assert!(read.is_ok(), "{text}: {}", read.unwrap_err());
        }
        let (lost_and_late, restarts, late_writes, lost_throughout) = (1, 2, 5, 5);
        let pairs = plans.iter().filter(|plan| plan.faults.len() == 2).count();
        assert_eq!(pairs, lost_and_late + restarts + late_writes + lost_throughout);
    }
}
