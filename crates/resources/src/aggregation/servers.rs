use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::TimeShift;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, Object};
use coracle_registry::{Extension, ExtensionDocuments, ServiceAddress, Trust};
use tokio::time::Instant;

use super::check::{AvailabilityVerdict, Checked};
use super::condition::Condition;
use super::documents::{DiscoveryRequest, DiscoveryResult};

/// The interval of probes of an available server. In Kubernetes: the resync of the remote controller.
const AGAIN: Duration = Duration::from_secs(30);
/// The first and the maximum delay of probes after failures.
const FAILED: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(30));
/// The delay before a failed write of a condition is retried.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// The servers of all APIServices, and their state.
#[derive(Debug, Default)]
pub(super) struct Servers {
    by_name: BTreeMap<String, Server>,
}

/// The server of one APIService.
#[derive(Debug)]
struct Server {
    object: Arc<Object>,
    verdict: AvailabilityVerdict,
    /// The desired condition, if it is known.
    condition: Option<Condition>,
    documents: Arc<ExtensionDocuments>,
    /// The time of the next probe; `None` during a probe, and if there is no server to probe.
    due: Option<Instant>,
    failures: u32,
    /// Counts probes, so that results of older probes are recognized.
    asked: u64,
}

impl Servers {
    /// Updates the servers from the objects; new and changed servers are due at once.
    pub(super) fn take(&mut self, checked: &[Checked], is_named: impl Fn(&ServiceAddress) -> bool, now: Instant) {
        let names: BTreeSet<&str> = checked.iter().map(|checked| checked.object.name()).collect();
        self.by_name.retain(|name, _| names.contains(name.as_str()));
        for Checked { object, verdict } in checked {
            let verdict = match verdict {
                AvailabilityVerdict::Ask { lacks: Some(lacks) } if !is_named(&service(object)) => {
                    AvailabilityVerdict::Is(lacks.clone())
                }
                AvailabilityVerdict::Ask { .. } => AvailabilityVerdict::Ask { lacks: None },
                is => is.clone(),
            };
            match self.by_name.get_mut(object.name()) {
                Some(server) => server.take(object, verdict, now),
                None => {
                    self.by_name.insert(object.name().to_owned(), Server::new(object, verdict, now));
                }
            }
        }
    }

    /// The probes that are due.
    pub(super) fn due(&mut self, now: Instant) -> Vec<DiscoveryRequest> {
        let due = self.by_name.values_mut().filter(|server| server.due.is_some_and(|due| due <= now));
        due.map(Server::question).collect()
    }

    /// The time of the next probe of any server.
    pub(super) fn next(&self) -> Option<Instant> {
        self.by_name.values().filter_map(|server| server.due).min()
    }

    /// Records a result, unless there is a newer probe.
    pub(super) fn answered(&mut self, asked: DiscoveryResult, now: Instant) {
        let Some(server) = self.by_name.get_mut(&asked.name).filter(|server| server.asked == asked.number) else {
            return;
        };
        server.failures = if asked.condition.is_true { 0 } else { server.failures + 1 };
        server.due = Some(now.later(if asked.condition.is_true { AGAIN } else { pause(server.failures) }));
        server.condition = Some(asked.condition);
        server.documents = asked.documents;
    }

    /// The known conditions.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (&Arc<Object>, &Condition)> {
        self.by_name.values().filter_map(|server| Some((&server.object, server.condition.as_ref()?)))
    }

    /// The extension API servers to which requests are forwarded. The core group and `apiregistration.k8s.io` are
    /// always served by this API server.
    pub(super) fn extensions(&self) -> Vec<Arc<Extension>> {
        let remote = self.by_name.values().filter(|server| server.object.at("spec.service").is_object());
        let own = |group: &str| group.is_empty() || group == "apiregistration.k8s.io";
        let extensions = remote.map(Server::extension).filter(|extension| !own(&extension.version.group));
        extensions.map(Arc::new).collect()
    }
}

impl Server {
    fn new(object: &Arc<Object>, verdict: AvailabilityVerdict, now: Instant) -> Self {
        let mut server = Self {
            object: Arc::clone(object),
            verdict,
            condition: None,
            documents: Arc::default(),
            due: None,
            failures: 0,
            asked: 0,
        };
        server.begin(now);
        server
    }

    fn take(&mut self, object: &Arc<Object>, verdict: AvailabilityVerdict, now: Instant) {
        let is_same = self.verdict == verdict && self.object.at("spec") == object.at("spec");
        self.object = Arc::clone(object);
        self.verdict = verdict;
        if !is_same {
            self.begin(now);
        }
    }

    /// Restarts the probes after a change of the objects.
    fn begin(&mut self, now: Instant) {
        self.failures = 0;
        self.asked += 1;
        (self.condition, self.due) = match &self.verdict {
            AvailabilityVerdict::Is(condition) => (Some(condition.clone()), None),
            // The condition stays until the probe has a result.
            AvailabilityVerdict::Ask { .. } => (self.condition.take().filter(|condition| condition.is_true), Some(now)),
        };
        if !matches!(self.verdict, AvailabilityVerdict::Ask { .. }) {
            self.documents =
                Arc::new(ExtensionDocuments { is_current: false, ..ExtensionDocuments::clone(&self.documents) });
        }
    }

    fn question(&mut self) -> DiscoveryRequest {
        self.due = None;
        self.asked += 1;
        DiscoveryRequest {
            name: self.object.name().to_owned(),
            number: self.asked,
            version: version(&self.object),
            service: service(&self.object),
            trust: trust(&self.object),
            known: Arc::clone(&self.documents),
        }
    }

    fn extension(&self) -> Extension {
        let said = || {
            let conditions = self.object.list("status.conditions");
            let condition = conditions.iter().find(|condition| condition.text("type") == "Available");
            condition.is_some_and(|condition| condition.text("status") == "True")
        };
        Extension {
            version: version(&self.object),
            service: service(&self.object),
            trust: trust(&self.object),
            is_available: self.condition.as_ref().map_or_else(said, |condition| condition.is_true),
            group_priority: self.object.int("spec.groupPriorityMinimum"),
            version_priority: self.object.int("spec.versionPriority"),
            documents: Arc::clone(&self.documents),
        }
    }
}

/// In Kubernetes: `ItemExponentialFailureRateLimiter`.
fn pause(failures: u32) -> Duration {
    let (first, most) = FAILED;
    first.checked_mul(1 << failures.saturating_sub(1).min(20)).map_or(most, |pause| pause.min(most))
}

fn version(object: &Object) -> GroupVersion {
    GroupVersion::new(object.text("spec.group"), object.text("spec.version"))
}

fn service(object: &Object) -> ServiceAddress {
    let reference = object.at("spec.service");
    ServiceAddress {
        namespace: reference.text("namespace").to_owned(),
        name: reference.text("name").to_owned(),
        port: u16::try_from(reference.int("port")).unwrap_or(443),
    }
}

fn trust(object: &Object) -> Trust {
    if object.at("spec.insecureSkipTLSVerify").as_bool() == Some(true) {
        return Trust::Anybody;
    }
    let bundle: String = object.text("spec.caBundle").split(['\r', '\n']).collect();
    // An invalid bundle trusts no certificate, and never those that the machine trusts.
    Trust::Authorities(STANDARD.decode(&bundle).unwrap_or_else(|_| bundle.into_bytes()).into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(verdict: AvailabilityVerdict, version: &str) -> Checked {
        let mut object = Object::default();
        let service = json!({"namespace": "a", "name": "b", "port": 443});
        object.set("metadata.name", "v1.g");
        object.set("spec", json!({"group": "g", "version": "v1", "service": service}));
        object.set("metadata.resourceVersion", version);
        Checked { object: Arc::new(object), verdict }
    }

    fn answer(question: &DiscoveryRequest, condition: Condition) -> DiscoveryResult {
        DiscoveryResult { name: question.name.clone(), number: question.number, condition, documents: Arc::default() }
    }

    fn lacks() -> Condition {
        Condition::no("MissingEndpoints", String::new())
    }

    #[test]
    fn failing_servers_are_probed_with_backoff_and_available_ones_every_half_minute() {
        let (mut servers, start) = (Servers::default(), Instant::now());
        servers.take(&[checked(AvailabilityVerdict::Ask { lacks: None }, "1")], |_| false, start);
        let mut pauses = Vec::new();
        for _ in 0..16 {
            let now = servers.next().unwrap();
            let question = servers.due(now).remove(0);
            assert_eq!(servers.next(), None, "nobody is asked twice at once");
            servers.answered(answer(&question, lacks()), now);
            pauses.push((servers.next().unwrap() - now).as_millis());
        }
        assert_eq!((pauses[0], pauses[1], pauses[15]), (5, 10, 30_000));
        let now = servers.next().unwrap();
        let question = servers.due(now).remove(0);
        servers.answered(answer(&question, Condition::passed()), now);
        assert_eq!(servers.next().unwrap() - now, AGAIN);
        assert!(servers.extensions()[0].is_available);
    }

    #[test]
    fn its_own_condition_is_no_reason_to_ask_and_another_spec_outdates_what_was_asked() {
        let (mut servers, now) = (Servers::default(), Instant::now());
        servers.take(&[checked(AvailabilityVerdict::Ask { lacks: None }, "1")], |_| false, now);
        let question = servers.due(now).remove(0);
        servers.take(&[checked(AvailabilityVerdict::Ask { lacks: None }, "2")], |_| false, now);
        assert!(servers.due(now).is_empty());
        servers.take(&[checked(AvailabilityVerdict::Is(lacks()), "3")], |_| false, now);
        servers.answered(answer(&question, Condition::passed()), now);
        assert!(!servers.extensions()[0].is_available);
    }

    #[test]
    fn a_configured_service_address_needs_no_endpoints() {
        let (mut servers, now) = (Servers::default(), Instant::now());
        let without = [checked(AvailabilityVerdict::Ask { lacks: Some(lacks()) }, "1")];
        servers.take(&without, |_| false, now);
        assert!(servers.due(now).is_empty());
        servers.take(&without, |service| service.name == "b", now);
        assert_eq!(servers.due(now).len(), 1);
    }
}
