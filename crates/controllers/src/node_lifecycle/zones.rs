//! The rate at which unhealthy nodes of a zone are tainted with `NoExecute`, given how many of the zone's nodes are
//! healthy.

use std::collections::{BTreeMap, VecDeque};

use coracle_ambient::TimeShift;
use tokio::time::{Duration, Instant};

use crate::Config;

/// The state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneState {
    /// It has not been checked yet.
    Initial,
    /// Most nodes are healthy.
    Normal,
    /// Many nodes are not, so the zone itself may be the cause.
    Partial,
    /// No node is healthy, so the network or the control plane may be the cause.
    Full,
}

/// In Kubernetes: `ComputeZoneState`.
pub(super) fn state_of(ready: usize, not_ready: usize, threshold: f64) -> ZoneState {
    let share = not_ready as f64 / (ready + not_ready).max(1) as f64;
    match (ready, not_ready) {
        (0, 1..) => ZoneState::Full,
        (_, 3..) if share >= threshold => ZoneState::Partial,
        _ => ZoneState::Normal,
    }
}

/// The nodes of a zone that are queued for their taint, rate-limited.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) state: ZoneState,
    waiting: VecDeque<String>,
    rate: f64,
    tokens: f64,
    filled: Instant,
}

impl Zone {
    fn new(rate: f64, now: Instant) -> Self {
        Self { state: ZoneState::Initial, waiting: VecDeque::new(), rate, tokens: 1.0, filled: now }
    }

    /// Queues a node.
    pub(super) fn add(&mut self, node: &str) {
        if !self.waiting.iter().any(|waiting| waiting == node) {
            self.waiting.push_back(node.to_owned());
        }
    }

    /// Removes a node from the queue.
    pub(super) fn remove(&mut self, node: &str) {
        self.waiting.retain(|waiting| waiting != node);
    }

    /// The next node, if the rate allows one now.
    pub(super) fn next(&mut self, now: Instant) -> Option<String> {
        self.fill(now);
        if self.waiting.is_empty() || self.rate <= 0.0 || self.tokens < 1.0 {
            return None;
        }
        self.tokens -= 1.0;
        self.waiting.pop_front()
    }

    /// When [`Self::next`] would return a node; `None` if none is queued, or the rate is zero.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        if self.waiting.is_empty() || self.rate <= 0.0 {
            return None;
        }
        let missing = (1.0 - self.tokens - now.duration_since(self.filled).as_secs_f64() * self.rate).max(0.0);
        Some(now.later(Duration::try_from_secs_f64(missing / self.rate).unwrap_or(Duration::MAX)))
    }

    fn fill(&mut self, now: Instant) {
        let since = now.duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + since * self.rate).min(1.0);
        self.filled = now;
    }

    fn set_rate(&mut self, rate: f64, now: Instant) {
        if self.rate != rate {
            self.fill(now);
            // An available token is kept; a zone that was stopped starts with a full one.
            self.tokens = if self.rate <= 0.0 { 1.0 } else { self.tokens };
            self.rate = rate;
        }
    }
}

/// All zones.
#[derive(Debug, Default)]
pub(super) struct Zones {
    pub(super) by_name: BTreeMap<String, Zone>,
}

/// How the state of all zones changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disruption {
    /// No change of the whole cluster.
    None,
    /// All zones are disrupted: all `NoExecute` taints are removed.
    Begins,
    /// Not all zones are disrupted any more: the grace period of every node starts again.
    Ends,
}

impl Zones {
    /// The zone of this name.
    pub(super) fn zone(&mut self, name: &str, config: &Config, now: Instant) -> &mut Zone {
        self.by_name.entry(name.to_owned()).or_insert_with(|| Zone::new(config.node_eviction_rate, now))
    }

    /// Updates the numbers of ready and not-ready nodes, by zone. In Kubernetes: `handleDisruption`.
    pub(super) fn update(
        &mut self,
        counts: &BTreeMap<String, (usize, usize)>,
        config: &Config,
        now: Instant,
    ) -> Disruption {
        for name in counts.keys() {
            self.zone(name, config, now);
        }
        self.by_name.retain(|name, _| counts.contains_key(name));
        let new: BTreeMap<&String, ZoneState> = counts
            .iter()
            .map(|(name, (ready, not_ready))| (name, state_of(*ready, *not_ready, config.unhealthy_zone_threshold)))
            .collect();
        let was_full = self.by_name.values().all(|zone| zone.state == ZoneState::Full);
        let is_full = new.values().all(|state| *state == ZoneState::Full);
        if is_full && was_full {
            return Disruption::None;
        }
        for (name, zone) in &mut self.by_name {
            let state = new[name];
            let size = counts[name].0 + counts[name].1;
            let rate = match state {
                _ if is_full => 0.0,
                ZoneState::Partial if size > config.large_cluster_size_threshold => config.secondary_node_eviction_rate,
                ZoneState::Partial => 0.0,
                ZoneState::Initial | ZoneState::Normal | ZoneState::Full => config.node_eviction_rate,
            };
            zone.set_rate(rate, now);
            zone.state = state;
        }
        match (is_full, was_full && !self.by_name.is_empty()) {
            (true, _) => Disruption::Begins,
            (false, true) => Disruption::Ends,
            (false, false) => Disruption::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_partly_down_from_three_nodes_and_the_threshold_on() {
        let states =
            [(3, 0), (1, 2), (2, 3), (3, 3), (0, 1)].map(|(ready, not_ready)| state_of(ready, not_ready, 0.55));
        use ZoneState::{Full, Normal, Partial};
        assert_eq!(states, [Normal, Normal, Partial, Normal, Full]);
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_are_tainted_one_at_a_time_and_not_at_all_in_a_small_zone_that_is_partly_down() {
        let (config, start) = (Config::default(), Instant::now());
        let mut zones = Zones::default();
        let counts = |ready, not_ready| BTreeMap::from([(String::new(), (ready, not_ready))]);
        assert_eq!(zones.update(&counts(4, 2), &config, start), Disruption::None);
        let zone = zones.zone("", &config, start);
        zone.add("a");
        zone.add("b");
        zone.add("a");
        assert_eq!(zone.next(start).as_deref(), Some("a"));
        assert_eq!(zone.next(start), None);
        assert_eq!(zone.next_at(start), Some(start + Duration::from_secs(10)));
        assert_eq!(zone.next(start + Duration::from_secs(10)).as_deref(), Some("b"));
        zone.add("c");
        zones.update(&counts(1, 5), &config, start + Duration::from_secs(10));
        assert_eq!(zones.zone("", &config, start).next(start + Duration::from_secs(100)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_node_is_tainted_during_a_full_disruption() {
        let (config, now) = (Config::default(), Instant::now());
        let mut zones = Zones::default();
        assert_eq!(zones.update(&BTreeMap::from([(String::new(), (0, 1))]), &config, now), Disruption::Begins);
        let zone = zones.zone("", &config, now);
        zone.add("a");
        assert_eq!(zone.next(now + Duration::from_secs(100)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_start_and_end_of_a_full_disruption_are_reported_once() {
        let (config, now) = (Config::default(), Instant::now());
        let mut zones = Zones::default();
        let counts = |ready, not_ready| BTreeMap::from([(String::new(), (ready, not_ready))]);
        assert_eq!(zones.update(&counts(1, 0), &config, now), Disruption::None);
        assert_eq!(zones.update(&counts(0, 1), &config, now), Disruption::Begins);
        assert_eq!(zones.update(&counts(0, 1), &config, now), Disruption::None);
        assert_eq!(zones.update(&counts(1, 0), &config, now), Disruption::Ends);
        assert_eq!(zones.update(&counts(1, 0), &config, now), Disruption::None);
    }
}
