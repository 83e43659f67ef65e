use std::time::Duration;

use coracle_cluster::{Requester, Transport};

use crate::wire::{Effect, Rule, Senders, Wire};

/// The latency of requests and watch events. With a latency, events in virtual time happen one after another and not
/// all at once.
///
/// ```
/// use coracle::runtime::Client;
/// use coracle::simulation::Latency;
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// coracle::run_virtual(1, async |cluster| {
///     let slow = Latency { request: Duration::from_millis(200), watch: Duration::ZERO };
///     let client = Client::new(slow.over(cluster.service()), cluster.ambient());
///     let start = Instant::now();
///     client.get_path::<serde_json::Value>("/version").await.unwrap();
///     assert_eq!(start.elapsed(), Duration::from_millis(200));
/// })
/// .unwrap();
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

    /// A transport with this latency.
    pub fn over(self, transport: Transport) -> Transport {
        Wire::with(self.rules(Senders::All)).over(&Requester::user(""), transport)
    }
}
