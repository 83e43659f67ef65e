use std::time::Duration;

use crate::wire::{Effect, Rule, Senders};

/// The latency of requests and watch events, as rules of a [`Wire`](crate::Wire). With a latency, events in virtual time
/// happen one after another and not all at once.
///
/// ```
/// use coracle_sim::{Latency, Senders, Wire};
/// use std::time::Duration;
///
/// let latency = Latency { request: Duration::from_millis(2), watch: Duration::from_millis(1) };
/// let wire = Wire::with(latency.rules(Senders::Components));
/// let builder = coracle_cluster::Cluster::builder().transport_layer_for_all(wire.layer());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The round trip of a request and its response.
    pub request: Duration,
    /// The delivery of a watch event after its commit; events keep their order.
    pub watch: Duration,
}

impl Latency {
    /// This latency as rules for some of the senders.
    pub fn rules(self, from: Senders) -> impl Iterator<Item = Rule> {
        let there = self.request / 2;
        let slow = Effect::Slow { there, back: self.request - there };
        let slow = (!self.request.is_zero()).then_some(slow);
        let lag = (!self.watch.is_zero()).then_some(Effect::Lag(self.watch));
        slow.into_iter().chain(lag).map(move |effect| Rule::from(from.clone(), effect))
    }
}
