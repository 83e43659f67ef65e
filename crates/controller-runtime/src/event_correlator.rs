use std::collections::BTreeSet;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Event;
use coracle_meta::format_time;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::lru::Lru;

/// From this many different messages of one reason on, events are combined.
const MAX_SIMILAR: usize = 10;
/// The time window of similar messages.
const SIMILAR_WINDOW: Duration = Duration::from_secs(600);
/// The burst of events of an object; afterwards one more each [`SPAM_INTERVAL`].
const SPAM_BURST: u32 = 25;
const SPAM_INTERVAL: Duration = Duration::from_secs(300);
/// How many keys are remembered. In Kubernetes: `maxLruCacheEntries`.
const REMEMBERED: usize = 4096;

/// Keeps events from flooding the API: repeated events are counted, similar ones are combined, and excess ones are
/// dropped.
///
/// ```text
/// event -> aggregate   the 10th message of a reason within 10 min: "(combined from similar events): ..."
///       -> observe     the same again: a patch that counts
///       -> filter      25 at once for an object, then one more each 5 min
/// ```
/// In Kubernetes: `record.EventCorrelator`.
#[derive(Debug)]
pub(crate) struct EventCorrelator {
    similar: Lru<Similar>,
    observed: Lru<Option<Observed>>,
    /// When each object's budget is full again.
    spam: Lru<Instant>,
}

#[derive(Debug)]
struct Similar {
    messages: BTreeSet<String>,
    last: Instant,
}

/// An event that was written before.
#[derive(Clone, Debug)]
struct Observed {
    name: String,
    count: i32,
    first_timestamp: Option<String>,
}

/// How an event must be written.
#[derive(Debug, PartialEq)]
pub(crate) enum Correlated {
    Create(Event),
    /// It was written before: the patch increments its count. If it has been deleted meanwhile, the event is created.
    Count(Event, Value),
    Drop,
}

impl EventCorrelator {
    pub(crate) fn new() -> Self {
        Self { similar: Lru::new(REMEMBERED), observed: Lru::new(REMEMBERED), spam: Lru::new(REMEMBERED) }
    }

    pub(crate) fn correlate(&mut self, event: Event, now: Instant, wall: Timestamp) -> Correlated {
        let (event, key) = self.aggregate(event, now, wall);
        let correlated = self.observe(event, &key);
        let (Correlated::Create(event) | Correlated::Count(event, _)) = &correlated else { return correlated };
        if self.filter(event, now) { correlated } else { Correlated::Drop }
    }

    /// Combines an event with those of its reason, if there are many. Returns the key under which it is counted.
    fn aggregate(&mut self, event: Event, now: Instant, wall: Timestamp) -> (Event, String) {
        let key = [source_key(&event).as_str(), &event.type_, &event.reason].join("\n");
        let similar = self.similar.entry(&key, || Similar { messages: BTreeSet::new(), last: now });
        if now.duration_since(similar.last) > SIMILAR_WINDOW {
            similar.messages.clear();
        }
        similar.messages.insert(event.message.clone());
        similar.last = now;
        if similar.messages.len() < MAX_SIMILAR {
            let own_key = [key.as_str(), &event.involved_object.field_path, &event.message].join("\n");
            return (event, own_key);
        }
        similar.messages.pop_first();
        let time = Some(format_time(wall));
        let combined = Event {
            message: format!("(combined from similar events): {}", event.message),
            first_timestamp: time.clone(),
            last_timestamp: time,
            reporting_component: String::new(),
            reporting_instance: String::new(),
            ..event
        };
        (combined, key)
    }

    /// Counts a repeated event.
    fn observe(&mut self, mut event: Event, key: &str) -> Correlated {
        let slot = self.observed.entry(key, || None);
        let Some(observed) = slot else {
            *slot = Some(Observed {
                name: event.metadata.name.clone().unwrap_or_default(),
                count: event.count,
                first_timestamp: event.first_timestamp.clone(),
            });
            return Correlated::Create(event);
        };
        observed.count += 1;
        event.metadata.name = Some(observed.name.clone());
        event.first_timestamp.clone_from(&observed.first_timestamp);
        event.count = observed.count;
        let patch = json!({"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message});
        Correlated::Count(event, patch)
    }

    /// Whether the object's budget allows another event.
    fn filter(&mut self, event: &Event, now: Instant) -> bool {
        let key = [source_key(event).as_str(), &event.type_].join("\n");
        let whole_at = self.spam.entry(&key, || now);
        let next = (*whole_at).max(now) + SPAM_INTERVAL;
        let allowed = next.duration_since(now) <= SPAM_INTERVAL * SPAM_BURST;
        if allowed {
            *whole_at = next;
        }
        allowed
    }
}

/// The source and the object of an event. In Kubernetes: the common part of `getEventKey`, `getSpamKey` and
/// `EventAggregatorByReasonFunc`.
fn source_key(event: &Event) -> String {
    let object = &event.involved_object;
    [
        &event.source.component,
        &event.source.host,
        &object.kind,
        &object.namespace,
        &object.name,
        &object.uid,
        &object.api_version,
    ]
    .map(String::as_str)
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, message: &str) -> Event {
        let mut event = Event { reason: "R".into(), message: message.into(), count: 1, ..Event::default() };
        event.metadata.name = Some(name.into());
        event
    }

    fn wall() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_equal_event_is_counted_on_the_first_one() {
        let mut correlator = EventCorrelator::new();
        let now = Instant::now();
        assert!(matches!(correlator.correlate(event("a.1", "m"), now, wall()), Correlated::Create(_)));
        let Correlated::Count(counted, patch) = correlator.correlate(event("a.2", "m"), now, wall()) else {
            panic!("the second was not counted");
        };
        assert_eq!((counted.metadata.name.as_deref(), counted.count), (Some("a.1"), 2));
        assert_eq!((&patch["count"], &patch["message"]), (&json!(2), &json!("m")));
    }

    #[tokio::test(start_paused = true)]
    async fn the_tenth_message_of_a_reason_is_combined_and_later_ones_are_counted_there() {
        let mut correlator = EventCorrelator::new();
        let now = Instant::now();
        for number in 1..10 {
            let created = correlator.correlate(event(&format!("a.{number}"), &number.to_string()), now, wall());
            assert!(matches!(created, Correlated::Create(event) if event.message == number.to_string()));
        }
        let Correlated::Create(combined) = correlator.correlate(event("a.10", "10"), now, wall()) else {
            panic!("the tenth was not combined");
        };
        assert_eq!(combined.message, "(combined from similar events): 10");
        let Correlated::Count(counted, _) = correlator.correlate(event("a.11", "11"), now, wall()) else {
            panic!("the eleventh was not counted");
        };
        assert_eq!((counted.message.as_str(), counted.count), ("(combined from similar events): 11", 2));
        let later = now + Duration::from_secs(601);
        assert!(matches!(correlator.correlate(event("a.12", "12"), later, wall()), Correlated::Create(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_has_25_events_at_once_and_then_one_each_five_minutes() {
        let mut correlator = EventCorrelator::new();
        let now = Instant::now();
        let mut kept = |at| !matches!(correlator.correlate(event("a", "m"), at, wall()), Correlated::Drop);
        assert_eq!((0..40).filter(|_| kept(now)).count(), 25);
        assert!(!kept(now + Duration::from_secs(299)));
        assert!(kept(now + Duration::from_secs(300)));
        assert!(!kept(now + Duration::from_secs(300)));
    }
}
