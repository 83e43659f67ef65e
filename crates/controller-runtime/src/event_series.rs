use std::collections::BTreeMap;
use std::time::Duration;

use coracle_api::core_v1::ObjectReference;
use coracle_api::events_v1::{Event, EventSeries as Series};
use tokio::time::Instant;

/// A series that is not said again for so long has ended.
const FINISH: Duration = Duration::from_secs(6 * 60);
/// A series that goes on is written again after so long.
const REFRESH: Duration = Duration::from_secs(30 * 60);

/// Events that were written lately: one that is said again is written once more as a series, and then only counted.
///
/// In Kubernetes: the cache of `eventBroadcasterImpl`.
#[derive(Debug, Default)]
pub(crate) struct EventSeries {
    events: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    event: Event,
    last: Instant,
    written: Instant,
}

impl EventSeries {
    /// Takes note of an event; gives what is to be written of it now.
    pub(crate) fn observe(&mut self, event: Event, now: Instant, wall: String) -> Option<Event> {
        let Some(known) = self.events.get_mut(&series_key(&event)) else {
            self.events.insert(series_key(&event), Known { event: event.clone(), last: now, written: now });
            return Some(event);
        };
        known.last = now;
        if let Some(series) = &mut known.event.series {
            series.count += 1;
            series.last_observed_time = Some(wall);
            return None;
        }
        known.event.series = Some(Box::new(Series { count: 2, last_observed_time: Some(wall), ..Series::default() }));
        known.written = now;
        Some(known.event.clone())
    }

    /// When the next series ends or is to be written again.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.events.values().map(Known::due).min()
    }

    /// Takes out what has ended, and gives the series that are to be written.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Event> {
        let mut writes = Vec::new();
        self.events.retain(|_, known| {
            if known.due() > now {
                return true;
            }
            if known.event.series.is_some() {
                writes.push(known.event.clone());
            }
            known.written = now;
            known.last + FINISH > now
        });
        writes
    }
}

impl Known {
    fn due(&self) -> Instant {
        let finish = self.last + FINISH;
        if self.event.series.is_some() { finish.min(self.written + REFRESH) } else { finish }
    }
}

/// What makes two events one series; the note does not. In Kubernetes: `events.getKey`.
fn series_key(event: &Event) -> String {
    let related = event.related.as_deref().map(reference_key).unwrap_or_default();
    [
        event.type_.as_str(),
        &event.action,
        &event.reason,
        &event.reporting_controller,
        &event.reporting_instance,
        &reference_key(&event.regarding),
        &related,
    ]
    .join("\n")
}

fn reference_key(reference: &ObjectReference) -> String {
    let ObjectReference { api_version, field_path, kind, name, namespace, resource_version, uid, .. } = reference;
    [api_version, kind, namespace, name, uid, resource_version, field_path].map(String::as_str).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(note: &str, version: &str) -> Event {
        let regarding = ObjectReference { name: "web".into(), resource_version: version.into(), ..Default::default() };
        Event { note: note.into(), reason: "FailedScheduling".into(), regarding, ..Event::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_again_is_written_once_more_and_then_only_counted() {
        let mut series = EventSeries::default();
        let now = Instant::now();
        assert!(series.observe(event("a", "1"), now, "t1".into()).unwrap().series.is_none());
        let second = series.observe(event("another note", "1"), now, "t2".into()).unwrap();
        assert_eq!((second.note.as_str(), second.series.unwrap().count), ("a", 2));
        assert_eq!(series.observe(event("a", "1"), now, "t3".into()), None);
        assert!(series.observe(event("a", "2"), now, "t4".into()).unwrap().series.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_series_is_written_at_its_end_and_a_single_event_is_forgotten() {
        let mut series = EventSeries::default();
        let now = Instant::now();
        series.observe(event("a", "1"), now, "t1".into());
        for time in ["t2", "t3", "t4"] {
            series.observe(event("a", "1"), now, time.into());
        }
        series.observe(event("single", "9"), now, "t1".into());
        assert_eq!(series.next_due(), Some(now + FINISH));
        assert!(series.due(now + FINISH / 2).is_empty());
        let last = series.due(now + FINISH);
        assert_eq!(last.len(), 1);
        assert_eq!(last[0].series.as_ref().unwrap().count, 4);
        assert_eq!(series.next_due(), None);
    }
}
