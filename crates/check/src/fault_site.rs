use std::collections::BTreeMap;
use std::fmt;

use coracle_journal::EntryId;
use coracle_sim::checks::Run;
use serde_json::{Value, json};

/// The verbs that write.
pub(crate) const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// A request that writes, at which a fault can begin. It is the same in each run without a fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultSite {
    /// Who sends it: the component, or the user whose wishes it carries out.
    pub by: String,
    /// The verb.
    pub verb: String,
    /// The plural of the resource, with `/SUBRESOURCE` if it has one.
    pub resource: String,
    /// Which of these requests it is, from 1.
    pub nth: u64,
}

impl fmt::Display for FaultSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} number {} by {}", self.verb, self.resource, self.nth, self.by)
    }
}

impl FaultSite {
    /// The plural of the resource.
    pub(crate) fn plural(&self) -> &str {
        self.resource.split('/').next().unwrap_or_default()
    }

    /// The `when` of a fault that begins with it.
    pub(crate) fn when(&self, moment: Option<&str>) -> Value {
        let mut when = json!({"by": self.by, "verb": self.verb, "resource": self.resource, "nth": self.nth});
        if let Some(moment) = moment {
            when["moment"] = json!(moment);
        }
        when
    }

    /// The writes of a user in a run that change something, in order. A write that is refused or changes nothing is
    /// repeated as often as there is time, so no fault begins at it.
    fn of(run: &Run, user: &str, by: &str) -> Vec<Self> {
        Self::placed(run, user, by).into_iter().map(|(_, site)| site).collect()
    }

    /// Those that are in each run.
    fn of_all(faultless: &[Run], user: &str) -> Vec<Self> {
        let mut runs = faultless.iter().map(|run| Self::of(run, user, user));
        let mut first = runs.next().unwrap_or_default();
        runs.for_each(|other| first.retain(|site| other.contains(site)));
        first
    }

    /// The same, with the entries of the requests.
    fn placed(run: &Run, user: &str, by: &str) -> Vec<(EntryId, Self)> {
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        let own = run.log.requests.iter().filter(|request| *request.user == *user && !request.is_dry_run);
        own.filter(|request| WRITES.contains(&&*request.verb))
            .filter_map(|request| {
                let plural = request.resource();
                let resource = match request.subresource.as_str() {
                    "" => plural.to_owned(),
                    subresource => format!("{plural}/{subresource}"),
                };
                let verb = request.verb.to_string();
                let nth = counts.entry((verb.clone(), resource.clone())).or_default();
                *nth += 1;
                let site = Self { by: by.to_owned(), verb, resource, nth: *nth };
                request.has_committed.then_some((request.entry, site))
            })
            .filter(|(_, site)| !site.resource.starts_with("leases") && !site.resource.starts_with("events"))
            .collect()
    }
}

/// The places of a controller at which faults can begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    /// Its writes, in order.
    pub(crate) own: Vec<FaultSite>,
    /// The writes of the user, in order.
    pub(crate) of_user: Vec<FaultSite>,
    /// The writes that are not in each run without a fault.
    pub(crate) unstable: Vec<FaultSite>,
    /// Whether the controller holds a Lease.
    pub(crate) holds_lease: bool,
    /// The writes of the controller and of the user, in order.
    pub(crate) in_order: Vec<FaultSite>,
    /// The kinds that the controller watches, by their plurals.
    pub(crate) watched: BTreeMap<String, String>,
}

impl Sites {
    /// The sites of a component in runs without a fault. `users` are those whose wishes it carries out, and the other
    /// components of the author. `kinds` are the kinds by their plurals.
    pub(crate) fn of(faultless: &[Run], component: &str, users: &[String], kinds: &BTreeMap<String, String>) -> Self {
        let mut sites = Self::default();
        let Some(first) = faultless.first() else { return sites };
        let all: Vec<Vec<FaultSite>> = faultless.iter().map(|run| FaultSite::of(run, component, component)).collect();
        sites.sort_out(&all);
        sites.of_user = users.iter().flat_map(|user| FaultSite::of_all(faultless, user)).collect();
        let own = FaultSite::placed(first, component, component);
        let of_user = users.iter().flat_map(|user| FaultSite::placed(first, user, user));
        let mut placed: Vec<_> = own.into_iter().filter(|(_, site)| sites.own.contains(site)).chain(of_user).collect();
        placed.sort_by_key(|(entry, _)| *entry);
        sites.in_order = placed.into_iter().map(|(_, site)| site).collect();
        for request in first.log.requests.iter().filter(|request| *request.user == *component) {
            let plural = request.resource();
            sites.holds_lease |= plural == "leases" && request.has_committed;
            if let ("watch", Some(kind)) = (&*request.verb, kinds.get(plural)) {
                sites.watched.insert(plural.to_owned(), kind.clone());
            }
        }
        sites
    }

    /// Takes the writes of the component in each run: those that are in all of them, and the others.
    pub(crate) fn sort_out(&mut self, all: &[Vec<FaultSite>]) {
        for site in all.iter().flatten() {
            if self.own.contains(site) || self.unstable.contains(site) {
                continue;
            }
            let is_in_each = all.iter().all(|run| run.contains(site));
            let list = if is_in_each { &mut self.own } else { &mut self.unstable };
            list.push(site.clone());
        }
    }
}
