use serde_json::{Value, json};

use crate::fault_site::{FaultSite, Sites};
use crate::pace::Pace;
use crate::plan::{Plan, fault};

/// How long a killed component is away.
const AWAY: &str = "300ms";

/// The verbs whose requests can conflict with another write.
const CONFLICTING: [&str; 3] = ["update", "patch", "delete"];

/// The plans with one fault or with two that belong together, likeliest first. Each round has one kind of fault at each
/// site.
pub(crate) fn candidates(component: &str, sites: &Sites, pace: &Pace) -> Vec<Plan> {
    let mut plans = Vec::new();
    let all = || sites.own.iter().chain(&sites.of_user);
    plans.extend(sites.own.iter().map(|site| Plan::of([kill(component, site, "landed")])));
    plans.extend(sites.own.iter().map(|site| Plan::of([fault(site.when(None), json!({"lose": "answer"}), None)])));
    plans.extend(all().map(|site| Plan::of([kill(component, site, "sent")])));
    for (delay, reaction) in pace.delays {
        plans.extend(sites.own.iter().map(|site| Plan::of([fault(site.when(None), json!({"slow": delay}), None)])));
        for kind in &sites.watched {
            plans.extend(all().map(|site| Plan::of([watch(component, site, kind, "lag", json!(delay), reaction)])));
        }
    }
    for code in [409, 500] {
        let refused = sites.own.iter().filter(|site| code != 409 || CONFLICTING.contains(&&*site.verb));
        plans.extend(refused.map(|site| Plan::of([fault(site.when(None), json!({"refuse": code}), None)])));
    }
    for kind in &sites.watched {
        plans.extend(all().map(|site| Plan::of([watch(component, site, kind, "hang", json!({}), pace.long)])));
        for word in ["gone", "close"] {
            plans.extend(all().map(|site| {
                let action = json!({word: {}, "kind": kind, "to": component});
                Plan::of([fault(site.when(None), action, None)])
            }));
        }
    }
    plans.extend(all().map(|site| Plan::of([stale(component, site, pace)])));
    plans.extend(restarts_in_the_past(component, sites, pace));
    plans
}

/// A component that is killed and comes back to an old state: it talks to an API server that has stopped at one write, and
/// is restarted at a later one.
fn restarts_in_the_past(component: &str, sites: &Sites, pace: &Pace) -> Vec<Plan> {
    let writes: Vec<&FaultSite> = sites.own.iter().chain(&sites.of_user).collect();
    let deletes = |site: &&&FaultSite| site.verb == "delete";
    let mut plans = Vec::new();
    for past in writes.iter().filter(deletes) {
        for killed in sites.of_user.iter().chain(&sites.own) {
            plans.push(Plan::of([stale(component, past, pace), kill(component, killed, "landed")]));
        }
    }
    plans
}

fn kill(component: &str, site: &FaultSite, moment: &str) -> Value {
    fault(site.when(Some(moment)), json!({"kill": component}), Some(AWAY))
}

fn stale(component: &str, site: &FaultSite, pace: &Pace) -> Value {
    fault(site.when(Some("landed")), json!({"stale": component}), Some(pace.long))
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

    use coracle_scenario::{FaultyServer, PluralsOfKinds, parse_faults};

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
            watched: vec!["Foo".to_owned(), "ConfigMap".to_owned()],
        };
        let plans = candidates("operator", &sites, &Pace::VIRTUAL);
        assert!(plans.len() > 100, "{}", plans.len());
        let custom = PluralsOfKinds::from([(("example.com/v1".to_owned(), "Foo".to_owned()), "foos".to_owned())]);
        for plan in &plans {
            let (path, text) = (Path::new("plan"), plan.text());
            let read = parse_faults(path, &text)
                .and_then(|faults| faults.checked(path, &text, custom.clone(), FaultyServer::Cluster));
            assert!(read.is_ok(), "{text}: {}", read.unwrap_err());
        }
        assert_eq!(plans.iter().filter(|plan| plan.faults.len() == 1).count() + 2 * 7, plans.len());
    }
}
