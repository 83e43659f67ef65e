use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use coracle_cluster::Instance;
use futures_util::future::select;
use tokio::time::{Instant, sleep_until};

use super::asked::Asked;
use super::rule::RuleId;
use super::rules::{Arrival, Delivery, WatchEnding};
use super::state::WireState;
use super::strike::{Moment, Strike};

/// One open watch on the wire.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) state: Arc<WireState>,
    pub(super) watch: Arc<Asked>,
    opened: Instant,
}

impl Line {
    pub(super) fn open(state: Arc<WireState>, watch: Arc<Asked>) -> Self {
        Self { state, watch, opened: Instant::now() }
    }

    /// Whether events may be delivered later than they arrive.
    pub(super) fn holds(&self) -> bool {
        self.state.rules().hold(&self.watch)
    }

    /// When an event is delivered.
    pub(super) fn delivery(&self, arrival: Arrival) -> Delivery {
        self.state.rules().delivery(&self.watch, arrival)
    }

    /// How the watch ends; `None` if it does not.
    pub(super) fn ending(&self) -> Option<WatchEnding> {
        self.state.rules().ending(&self.watch, self.opened)
    }

    /// Whether the watch ends with that of the server, although it holds events.
    pub(super) fn may_end(&self) -> bool {
        self.state.rules().let_end(&self.watch)
    }

    /// Informs the observer that an event waits.
    pub(super) fn report_held(&self, arrival: Arrival) {
        let rules = self.state.rules();
        if rules.is_counting() {
            self.report(&rules.holding(&self.watch, arrival), Moment::Held);
        }
    }

    /// Informs the observer that the watch ends.
    pub(super) fn report_ended(&self) {
        let rules = self.state.rules().ending_it(&self.watch, self.opened);
        self.report(&rules, Moment::Ended);
    }

    fn report(&self, rules: &[RuleId], moment: Moment) {
        self.state.report(rules, |rule| Strike::new(rule, moment, &self.watch));
    }

    /// Waits until something that arrived is delivered; false if the watch ends before. Never resolves after the reader
    /// was killed.
    pub(super) async fn until_delivered(&self, arrival: Arrival) -> bool {
        loop {
            self.reader_lives().await;
            // Created before the rules are read, so that no change is missed.
            let changed = pin!(self.state.changed.notified());
            if self.ending().is_some() {
                return false;
            }
            match self.delivery(arrival) {
                Delivery::At(due) if due <= Instant::now() => return true,
                Delivery::At(due) => {
                    select(pin!(sleep_until(due)), changed).await;
                }
                Delivery::NotYet => changed.await,
            }
        }
    }

    /// Never resolves after the reader was killed.
    pub(super) async fn reader_lives(&self) {
        lives(&self.watch.requester.instance).await;
    }
}

/// Never resolves for an instance that has ended.
pub(super) async fn lives(instance: &Instance) {
    if instance.has_ended() {
        pending::<()>().await;
    }
}
