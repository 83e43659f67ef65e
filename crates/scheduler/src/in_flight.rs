use std::collections::{BTreeMap, BTreeSet, VecDeque};

use coracle_meta::ObjectKey;

use crate::framework::ClusterEvent;

/// The events since pods were popped from the queue, for as long as one of those pods may still be rejected.
///
/// In Kubernetes: `inFlightEvents`.
#[derive(Debug, Default)]
pub(crate) struct InFlightEvents {
    since: BTreeMap<ObjectKey, usize>,
    in_order: BTreeSet<(usize, ObjectKey)>,
    recent: VecDeque<ClusterEvent>,
    forgotten: usize,
}

impl InFlightEvents {
    /// Starts to keep events for this pod.
    pub(crate) fn enter(&mut self, key: &ObjectKey) {
        self.leave(key);
        let now = self.forgotten + self.recent.len();
        self.since.insert(key.clone(), now);
        self.in_order.insert((now, key.clone()));
    }

    /// Stops keeping events for this pod; events that no other pod needs are dropped.
    pub(crate) fn leave(&mut self, key: &ObjectKey) {
        let Some(since) = self.since.remove(key) else { return };
        self.in_order.remove(&(since, key.clone()));
        let needed = self.in_order.first().map_or(self.forgotten + self.recent.len(), |(since, _)| *since);
        self.recent.drain(..needed - self.forgotten);
        self.forgotten = needed;
    }

    pub(crate) fn happened(&mut self, event: &ClusterEvent) {
        if !self.since.is_empty() {
            self.recent.push_back(event.clone());
        }
    }

    /// The events since the pod was popped.
    pub(crate) fn missed(&self, key: &ObjectKey) -> impl Iterator<Item = &ClusterEvent> {
        let since = self.since.get(key).map_or(self.recent.len(), |since| since - self.forgotten);
        self.recent.iter().skip(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_kept_only_for_pods_that_were_in_flight_when_they_happened() {
        let key = |name: &str| ObjectKey::new("default", name);
        let mut events = InFlightEvents::default();
        events.happened(&ClusterEvent::AttachmentGone);
        events.enter(&key("a"));
        events.happened(&ClusterEvent::AttachmentGone);
        events.enter(&key("b"));
        events.happened(&ClusterEvent::StorageCapacity);
        assert_eq!((events.missed(&key("a")).count(), events.missed(&key("b")).count()), (2, 1));
        events.leave(&key("a"));
        assert_eq!((events.missed(&key("b")).count(), events.recent.len()), (1, 1));
        events.leave(&key("b"));
        assert!(events.recent.is_empty());
    }
}
