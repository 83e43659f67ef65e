use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use coracle_cluster::{Body, Requester, Transport, TransportLayer};
use coracle_meta::{GroupResource, ObjectKey};
use http::Request;
use tower::service_fn;

use super::carry::carry;
use super::rule::{Rule, RuleId};
use super::rules::Selected;
use super::sent::LastSent;
use super::state::WireState;
use super::strike::Strike;

/// The wire between the API server and all that send requests to it. Clones are the same wire.
///
/// ```
/// use coracle_cluster::Cluster;
/// use coracle_sim::{ClockMode, Effect, Rule, Senders, Wire, run_in};
/// use std::time::Duration;
///
/// run_in(ClockMode::Virtual, async {
///     let wire = Wire::default();
///     let cluster = Cluster::builder().transport_layer_for_all(wire.layer()).start().await.unwrap();
///     let cut = wire.add(Rule::from(Senders::Named("scheduler".into()), Effect::Cut));
///     tokio::time::sleep(Duration::from_secs(30)).await;
///     wire.remove(cut);
///     cluster.shutdown().await;
/// })
/// .unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Wire {
    state: Arc<WireState>,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("rules", &self.state.rules()).finish()
    }
}

impl Wire {
    /// A wire with these rules.
    pub fn with(rules: impl IntoIterator<Item = Rule>) -> Self {
        let wire = Self::default();
        for rule in rules {
            wire.add(rule);
        }
        wire
    }

    /// A wire that keeps what each requester was last sent of each object, which [`last_sent`](Self::last_sent) returns.
    /// Objects count as sent when their reader reads them.
    pub fn keeping_sent() -> Self {
        Self { state: Arc::new(WireState::keeping_sent()) }
    }

    /// What an instance of a requester was last sent of an object; `None` if it was sent nothing, or nothing is kept.
    pub fn last_sent(&self, name: &str, instance: u64, resource: &GroupResource, key: &ObjectKey) -> Option<LastSent> {
        self.state.sent.as_ref()?.last(name, instance, resource, key)
    }

    /// What an instance of a requester was last sent of each object.
    pub fn all_sent(&self, name: &str, instance: u64) -> BTreeMap<(GroupResource, ObjectKey), LastSent> {
        self.state.sent.as_ref().map(|sent| sent.all(name, instance)).unwrap_or_default()
    }

    /// Adds a rule for requests that are sent from now on, and for watches, including those that are open.
    pub fn add(&self, rule: Rule) -> RuleId {
        self.state.add(rule)
    }

    /// Removes a rule; false if it was removed before. Events that only this rule held are delivered at once.
    pub fn remove(&self, id: RuleId) -> bool {
        self.state.remove(id)
    }

    /// The requests that a rule with [turns](super::Turns) has met since it was added; `None` for other rules, and after
    /// the rule was removed.
    pub fn selected(&self, id: RuleId) -> Option<Selected> {
        self.state.rules().selected(id).cloned()
    }

    /// Whether a request or an answer is on its way: it was sent, and has not arrived. A request whose sender is gone
    /// counts, too.
    pub fn carries(&self) -> bool {
        self.state.guards() > 0
    }

    /// Informs `observer`, in place of the one before, of each strike of a rule with [turns](super::Turns).
    pub fn observe(&self, observer: impl Fn(&Strike<'_>) + Send + Sync + 'static) {
        self.state.observe(Arc::new(observer));
    }

    /// The layer for [`transport_layer_for_all`](coracle_cluster::Builder::transport_layer_for_all).
    pub fn layer(&self) -> TransportLayer {
        let wire = self.clone();
        Arc::new(move |requester, transport| wire.over(requester, transport))
    }

    /// The transport of a requester through this wire.
    pub fn over(&self, requester: &Requester, transport: Transport) -> Transport {
        let (state, requester, transport) = (Arc::clone(&self.state), requester.clone(), Arc::new(transport));
        Transport::to(service_fn(move |request: Request<Body>| {
            carry(Arc::clone(&state), requester.clone(), Arc::clone(&transport), request)
        }))
    }
}
