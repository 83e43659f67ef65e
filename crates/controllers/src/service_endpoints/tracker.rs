use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_api::discovery_v1::EndpointSlice;
use coracle_informer::Notification;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::labels::{MANAGED_BY, SERVICE_NAME};

/// By uid: the Service, and the generation that was written; `None` once the slice was deleted.
type Written = BTreeMap<String, (ObjectKey, Option<i64>)>;

/// The slices as the controller last wrote them. Any other version was written by another client, and only that
/// triggers a sync.
///
/// In Kubernetes: `EndpointSliceTracker`.
#[derive(Clone, Debug)]
pub(crate) struct SliceTracker {
    /// The manager of the slices.
    manager: &'static str,
    written: Arc<Mutex<Written>>,
}

impl SliceTracker {
    /// The slices that carry this manager's label.
    pub(crate) fn new(manager: &'static str) -> Self {
        Self { manager, written: Arc::default() }
    }

    /// The minimum time for which changes of slices are batched. In Kubernetes: `endpointSliceChangeMinSyncDelay`.
    pub(crate) const MIN_DELAY: Duration = Duration::from_secs(1);

    /// Records a write of the controller.
    pub(crate) fn wrote(&self, slice: &EndpointSlice) {
        let Some(service) = service_of(slice) else { return };
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        self.written.lock().insert(uid, (service, Some(slice.metadata.generation.unwrap_or_default())));
    }

    /// Records a deletion by the controller.
    pub(crate) fn deleted(&self, slice: &EndpointSlice) {
        if let Some((_, generation)) = self.written.lock().get_mut(slice.metadata.uid.as_deref().unwrap_or_default()) {
            *generation = None;
        }
    }

    /// Whether a slice that the controller wrote for a Service is missing here without having been deleted: another
    /// manager has taken it over.
    pub(crate) fn misses_one(&self, service: &ObjectKey, slices: &[Arc<EndpointSlice>]) -> bool {
        self.written.lock().iter().any(|(uid, (of, generation))| {
            generation.is_some()
                && of == service
                && !slices.iter().any(|slice| slice.metadata.uid.as_ref() == Some(uid))
        })
    }

    /// Forgets the slices of a deleted Service.
    pub(crate) fn forget(&self, service: &ObjectKey) {
        self.written.lock().retain(|_, (of, _)| of != service);
    }

    /// The Services whose slices another client has changed.
    pub(crate) fn concerned_services(&self, notification: &Notification<EndpointSlice>) -> Vec<ObjectKey> {
        let is_managed =
            |slice: &EndpointSlice| slice.metadata.labels.get(MANAGED_BY).map(String::as_str) == Some(self.manager);
        let mut written = self.written.lock();
        let is_news = |slice: &EndpointSlice| {
            let known = written.get(slice.metadata.uid.as_deref().unwrap_or_default());
            let generation = known.and_then(|(_, generation)| *generation);
            generation.is_none_or(|generation| slice.metadata.generation.unwrap_or_default() > generation)
        };
        match notification {
            Notification::Added { object, .. } if is_managed(object) && is_news(object) => {
                service_of(object).into_iter().collect()
            }
            Notification::Added { .. } => Vec::new(),
            Notification::Updated { old, new } => {
                let (before, after) = (service_of(old), service_of(new));
                if before != after {
                    after.into_iter().chain(before).collect()
                } else if is_managed(old) != is_managed(new) || (is_managed(new) && is_news(new)) {
                    after.into_iter().collect()
                } else {
                    Vec::new()
                }
            }
            Notification::Deleted { object, .. } => {
                match written.remove(object.metadata.uid.as_deref().unwrap_or_default()) {
                    Some((service, Some(_))) => vec![service],
                    _ => Vec::new(),
                }
            }
        }
    }
}

/// The Service that a slice's label names.
fn service_of(slice: &EndpointSlice) -> Option<ObjectKey> {
    let name = slice.metadata.labels.get(SERVICE_NAME).filter(|name| !name.is_empty())?;
    Some(ObjectKey::new(slice.metadata.namespace.as_deref().unwrap_or_default(), name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(generation: i64, manager: &str) -> Arc<EndpointSlice> {
        let mut slice = EndpointSlice::default();
        slice.metadata.uid = Some("u".to_owned());
        slice.metadata.namespace = Some("default".to_owned());
        slice.metadata.generation = Some(generation);
        let labels = [(MANAGED_BY.to_owned(), manager.to_owned()), (SERVICE_NAME.to_owned(), "web".to_owned())];
        slice.metadata.labels = labels.into();
        Arc::new(slice)
    }

    #[test]
    fn own_writes_are_no_news_and_those_of_others_are() {
        let (tracker, web) = (SliceTracker::new("me"), ObjectKey::new("default", "web"));
        tracker.wrote(&slice(2, "me"));
        let update = |from, to| Notification::Updated { old: from, new: to };
        assert!(tracker.concerned_services(&update(slice(1, "me"), slice(2, "me"))).is_empty());
        assert_eq!(tracker.concerned_services(&update(slice(2, "me"), slice(3, "me"))), std::slice::from_ref(&web));
        assert_eq!(tracker.concerned_services(&update(slice(2, "me"), slice(2, "other"))), std::slice::from_ref(&web));
        let gone = Notification::Deleted { object: slice(2, "me"), observed: true };
        assert_eq!(tracker.concerned_services(&gone), [web]);
        assert!(tracker.concerned_services(&gone).is_empty(), "it is forgotten");
    }

    #[test]
    fn a_slice_that_was_taken_over_is_missed_and_a_deleted_one_is_not() {
        let (tracker, web) = (SliceTracker::new("me"), ObjectKey::new("default", "web"));
        tracker.wrote(&slice(1, "me"));
        assert!(tracker.misses_one(&web, &[]) && !tracker.misses_one(&web, &[slice(1, "me")]));
        tracker.deleted(&slice(1, "me"));
        assert!(!tracker.misses_one(&web, &[]));
    }
}
