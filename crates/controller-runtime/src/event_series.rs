use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::ObjectReference;
use coracle_api::events_v1::{Event, EventSeries as Series};
use tokio::time::Instant;

/// A series without repetition for this long has ended.
const FINISH: Duration = Duration::from_secs(6 * 60);
/// A continuing series is written again after this long.
const REFRESH: Duration = Duration::from_secs(30 * 60);

/// The cache of recent events: the first repetition writes the event again as a series, and later ones are only
/// counted.
///
/// In Kubernetes: the cache of `eventBroadcasterImpl`.
#[derive(Debug, Default)]
pub(crate) struct EventSeries {
    events: BTreeMap<Arc<str>, Known>,
    /// When each event is due.
    by_time: BTreeSet<(Instant, Arc<str>)>,
}

#[derive(Debug)]
struct Known {
    event: Event,
    last: Instant,
    written: Instant,
}

impl EventSeries {
    /// Records an event; returns what must be written now.
    pub(crate) fn observe(&mut self, event: Event, now: Instant, wall: String) -> Option<Event> {
        let key: Arc<str> = series_key(&event).into();
        let before = self.events.get(&key).map(Known::due);
        let known =
            self.events.entry(key.clone()).or_insert_with(|| Known { event: event.clone(), last: now, written: now });
        let first = before.is_none();
        let write = if first { Some(event) } else { known.again(now, wall) };
        if let Some(before) = before {
            self.by_time.remove(&(before, key.clone()));
        }
        self.by_time.insert((known.due(), key));
        write
    }

    /// When the next series ends or must be written again.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.by_time.first().map(|(due, _)| *due)
    }

    /// Removes ended series, and returns those that must be written.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Event> {
        let mut writes = Vec::new();
        while self.next_due().is_some_and(|due| due <= now) {
            let Some((_, key)) = self.by_time.pop_first() else { break };
            let Some(known) = self.events.get_mut(&key) else { continue };
            if known.event.series.is_some() {
                writes.push(known.event.clone());
            }
            known.written = now;
            if known.last + FINISH > now {
                self.by_time.insert((known.due(), key));
            } else {
                self.events.remove(&key);
            }
        }
        writes
    }
}

impl Known {
    /// Counts a repetition; returns what must be written now.
    fn again(&mut self, now: Instant, wall: String) -> Option<Event> {
        self.last = now;
        if let Some(series) = &mut self.event.series {
            series.count += 1;
            series.last_observed_time = Some(wall);
            return None;
        }
        self.event.series = Some(Box::new(Series { count: 2, last_observed_time: Some(wall), ..Series::default() }));
        self.written = now;
        Some(self.event.clone())
    }

    fn due(&self) -> Instant {
        let finish = self.last + FINISH;
        if self.event.series.is_some() { finish.min(self.written + REFRESH) } else { finish }
    }
}

/// The identity of a series; the note is not part of it. In Kubernetes: `events.getKey`.
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
    async fn a_repeated_event_is_written_once_more_and_then_counted() {
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
