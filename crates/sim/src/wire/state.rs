use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::asked::Asked;
use super::rule::RuleId;
use super::rules::{Passage, Rules};
use super::sent::SentObjects;
use super::strike::{Moment, Observer, Strike};

/// What all that passes a wire shares.
#[derive(Default)]
pub(super) struct WireState {
    rules: Mutex<Arc<Rules>>,
    /// Notified when the rules change.
    pub(super) changed: Notify,
    /// What was sent, if it is kept.
    pub(super) sent: Option<SentObjects>,
    /// The requests whose senders are gone.
    landing: Mutex<JoinSet<()>>,
    observer: Mutex<Option<Observer>>,
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

    /// Changes the rules.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Rules) -> T) -> T {
        let result = change(Arc::make_mut(&mut *self.rules.lock()));
        self.changed.notify_waiters();
        result
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

    /// Informs the observer.
    pub(super) fn report(&self, rules: &[RuleId], moment: Moment, asked: &Arc<Asked>, audit_id: Option<&str>) {
        let Some(observer) = self.observer.lock().clone().filter(|_| !rules.is_empty()) else { return };
        for rule in rules {
            observer(&Strike { rule: *rule, moment, asked: Arc::clone(asked), audit_id });
        }
    }

    /// Carries out a request whose sender is gone. Without a runtime, nothing is carried out.
    pub(super) fn land(&self, request: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut landing = self.landing.lock();
        while landing.try_join_next().is_some() {}
        landing.spawn_on(request, &runtime);
    }
}
