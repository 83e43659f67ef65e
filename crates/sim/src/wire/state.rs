use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coracle_cluster::{Requester, RequesterKind};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::asked::Asked;
use super::effect::Effect;
use super::rule::{Rule, RuleId};
use super::rules::{Passage, Rules};
use super::sent::SentObjects;
use super::strike::{Observer, Strike};

/// What all that passes a wire shares.
#[derive(Default)]
pub(super) struct WireState {
    rules: Mutex<Arc<Rules>>,
    /// Notified when the rules of watches change.
    pub(super) changed: Notify,
    /// What was sent, if it is kept.
    pub(super) sent: Option<SentObjects>,
    /// The requests whose senders are gone.
    landing: Mutex<JoinSet<()>>,
    observer: Mutex<Option<Observer>>,
    /// Each request on its way, or its answer, holds a clone.
    on_the_way: Arc<()>,
    /// How many writes of another writer there were.
    other_writes: AtomicU64,
}

impl WireState {
    /// A state that keeps what was sent.
    pub(super) fn keeping_sent() -> Self {
        Self { sent: Some(SentObjects::default()), ..Self::default() }
    }

    /// The rules now.
    pub(super) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.lock())
    }

    /// Whether there are no rules, and nothing is kept of what was sent. A server for other processes pays for the wire
    /// only while there is a fault.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_none() && self.rules.lock().is_empty()
    }

    /// Whether nothing is known of the requests of a requester in this process: no rule can select them, or counts them,
    /// and nothing is kept of what is sent.
    pub(super) fn ignores(&self, requester: &Requester) -> bool {
        let is_connections = requester.kind == RequesterKind::Connections;
        !is_connections && self.sent.is_none() && self.rules.lock().ignore(requester)
    }

    /// Adds a rule.
    pub(super) fn add(&self, rule: Rule) -> RuleId {
        let effect = rule.effect;
        let id = Arc::make_mut(&mut *self.rules.lock()).add(rule);
        self.wake(effect);
        id
    }

    /// Removes a rule; false if there is no such rule.
    pub(super) fn remove(&self, id: RuleId) -> bool {
        let removed = Arc::make_mut(&mut *self.rules.lock()).remove(id);
        removed.is_some_and(|rule| {
            self.wake(rule.effect);
            true
        })
    }

    /// Wakes the watches if an effect acts on them. Otherwise they are not polled, because that changes the order in
    /// which readers get their events, before the fault has struck.
    fn wake(&self, effect: Effect) {
        if effect.acts_on_watches() {
            self.changed.notify_waiters();
        }
    }

    /// What happens to a request that is sent now, and which rules with turns strike it.
    pub(super) fn send(&self, asked: &Arc<Asked>) -> (Passage, Vec<RuleId>) {
        let mut rules = self.rules.lock();
        if !rules.is_counting() {
            return (rules.passage(asked), Vec::new());
        }
        Arc::make_mut(&mut *rules).count(asked);
        (rules.passage(asked), rules.striking(asked))
    }

    pub(super) fn observe(&self, observer: Observer) {
        *self.observer.lock() = Some(observer);
    }

    /// Informs the observer of the strike of each of these rules.
    pub(super) fn report<'a>(&self, rules: &[RuleId], strike: impl Fn(RuleId) -> Strike<'a>) {
        let Some(observer) = self.observer.lock().clone().filter(|_| !rules.is_empty()) else { return };
        rules.iter().for_each(|rule| observer(&strike(*rule)));
    }

    /// The audit id of the next write of another writer.
    pub(super) fn next_other_write(&self) -> String {
        format!("conflict-{}", self.other_writes.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A guard of a request that is on its way, or of its answer.
    pub(super) fn sends(&self) -> Arc<()> {
        Arc::clone(&self.on_the_way)
    }

    /// How many guards there are.
    pub(super) fn guards(&self) -> usize {
        Arc::strong_count(&self.on_the_way) - 1
    }

    /// Carries out a request whose sender is gone. Without a runtime, nothing is carried out.
    pub(super) fn land(&self, request: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut landing = self.landing.lock();
        while landing.try_join_next().is_some() {}
        landing.spawn_on(request, &runtime);
    }
}
