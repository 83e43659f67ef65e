use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Pod, Service};
use coracle_meta::{ObjectKey, Resource, parse_time};
use parking_lot::Mutex;

use crate::pods::ready_changed;

/// The times of the changes that a sync of a Service sees, so that readers can measure the latency.
///
/// In Kubernetes: `TriggerTimeTracker`.
#[derive(Debug, Default)]
pub(crate) struct TriggerTimes {
    /// For each Service the times of its pods, as of the last sync.
    seen: Mutex<BTreeMap<ObjectKey, BTreeMap<String, Timestamp>>>,
}

impl TriggerTimes {
    /// The earliest time that is new since the last sync; for a new Service the time of its creation.
    pub(crate) fn observe(&self, service: &Service, pods: &[Arc<Pod>]) -> Option<Timestamp> {
        let time = |pod: &Arc<Pod>| Some((pod.name().to_owned(), ready_changed(pod)?));
        let times: BTreeMap<_, _> = pods.iter().filter_map(time).collect();
        let before = self.seen.lock().insert(service.key(), times.clone());
        match before {
            None => service.metadata.creation_timestamp.as_deref().and_then(parse_time),
            Some(before) => {
                let is_new = |(name, time): &(&String, &Timestamp)| before.get(*name).is_none_or(|seen| seen < *time);
                times.iter().filter(is_new).map(|(_, time)| *time).min()
            }
        }
    }

    /// Forgets a deleted Service.
    pub(crate) fn forget(&self, service: &ObjectKey) {
        self.seen.lock().remove(service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::PodCondition;

    #[test]
    fn the_first_sync_uses_the_creation_time_and_later_ones_the_first_change() {
        let mut service = Service::default();
        service.metadata.creation_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        let pod = |name: &str, at: &str| {
            let mut pod = Pod::default();
            pod.metadata.name = Some(name.to_owned());
            let condition = PodCondition { type_: "Ready".to_owned(), ..PodCondition::default() };
            pod.status.conditions = vec![PodCondition { last_transition_time: Some(at.to_owned()), ..condition }];
            Arc::new(pod)
        };
        let times = TriggerTimes::default();
        let a = pod("a", "2026-01-01T00:01:00Z");
        assert_eq!(times.observe(&service, std::slice::from_ref(&a)), parse_time("2026-01-01T00:00:00Z"));
        assert_eq!(times.observe(&service, std::slice::from_ref(&a)), None);
        let later = [a, pod("b", "2026-01-01T00:03:00Z"), pod("c", "2026-01-01T00:02:00Z")];
        assert_eq!(times.observe(&service, &later), parse_time("2026-01-01T00:02:00Z"));
    }
}
