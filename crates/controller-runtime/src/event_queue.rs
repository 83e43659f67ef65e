use std::collections::VecDeque;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_api::{core_v1, events_v1};
use coracle_client::{Api, Client, Error, Origin, Patch};
use coracle_journal::EntryId;
use coracle_meta::{Resource, format_micro_time};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::event_correlator::{Correlated, EventCorrelator};
use crate::event_series::EventSeries;

/// How many events wait to be posted; later ones are dropped. In Kubernetes: `maxQueuedEvents`.
const MAX_QUEUED: usize = 1000;
/// How often an event is tried, and how long apart, while the API cannot be reached.
const MAX_TRIES: u32 = 12;
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// An event that waits to be posted.
#[derive(Debug)]
pub(crate) enum Queued {
    Event(core_v1::Event),
    Series(events_v1::Event),
}

/// The events of a process on their way to the API.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    queue: Mutex<VecDeque<(Queued, Vec<EntryId>)>>,
    filled: Notify,
    last_draw: Mutex<u64>,
}

impl EventQueue {
    pub(crate) fn push(&self, event: Queued, causes: &[EntryId]) {
        let mut queue = self.queue.lock();
        if queue.len() < MAX_QUEUED {
            queue.push_back((event, causes.to_vec()));
            self.filled.notify_one();
        }
    }

    /// Posts events, one after the other, until it is dropped.
    pub(crate) async fn post(&self, sink: &EventSink<'_>) {
        let mut correlator = EventCorrelator::new();
        let mut series = EventSeries::default();
        loop {
            let next = self.queue.lock().pop_front();
            match next {
                Some((Queued::Event(event), causes)) => {
                    let events = sink.events(&event, causes);
                    match correlator.correlate(event, Instant::now(), sink.ambient.clock.now()) {
                        Correlated::Drop => {}
                        Correlated::Create(event) => sink.attempt(|| create(&events, &event)).await,
                        Correlated::Count(event, patch) => sink.attempt(|| count(&events, &event, &patch)).await,
                    }
                }
                Some((Queued::Series(event), causes)) => {
                    let events = sink.events(&event, causes);
                    let now = format_micro_time(sink.ambient.clock.now());
                    if let Some(event) = series.observe(event, Instant::now(), now) {
                        sink.attempt(|| write_series(&events, &event)).await;
                    }
                }
                None => {
                    self.wait(&series).await;
                    for event in series.due(Instant::now()) {
                        let events = sink.events(&event, Vec::new());
                        sink.attempt(|| write_series(&events, &event)).await;
                    }
                }
            }
        }
    }

    async fn wait(&self, series: &EventSeries) {
        let filled = self.filled.notified();
        match series.next_due() {
            None => filled.await,
            Some(due) => drop(timeout_at(due, filled).await),
        }
    }

    /// The name of an event about an object, `web.18a3f2...`: its name and the time in nanoseconds.
    ///
    /// Unlike Kubernetes: the nanoseconds within a millisecond are drawn, because virtual time stands still while several
    /// events are made.
    pub(crate) fn name(&self, ambient: &Ambient, object: &str) -> String {
        let nanos = i128::from(ambient.clock.now().as_millisecond()) * 1_000_000 + i128::from(self.draw(ambient));
        format!("{object}.{nanos:x}")
    }

    /// A number below a million that differs from the one before.
    fn draw(&self, ambient: &Ambient) -> u64 {
        let mut last = self.last_draw.lock();
        *last = (*last + 1 + ambient.random.below(1000)) % 1_000_000;
        *last
    }
}

/// Where the events of a program go. In Kubernetes: `record.EventSink`.
pub(crate) struct EventSink<'a> {
    /// The program, as the event log calls it.
    pub(crate) program: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) ambient: &'a Ambient,
}

impl EventSink<'_> {
    fn events<K: Resource>(&self, event: &K, causes: Vec<EntryId>) -> Api<K> {
        let subject = format!("events/{}", event.key());
        Api::of(&self.client.on_behalf_of(Origin::new(self.program, &subject, causes)))
    }

    /// Tries while the API cannot be reached; what the API refuses is given up. In Kubernetes: `recordToSink`.
    async fn attempt<F: Future<Output = Result<(), Error>>>(&self, write: impl Fn() -> F) {
        for tried in 1..=MAX_TRIES {
            match write().await {
                Err(Error::Transport { .. }) if tried < MAX_TRIES => {
                    // The first wait is drawn, so that not all components come back at once.
                    let share = if tried == 1 { self.ambient.random.fraction() } else { 1.0 };
                    sleep(RETRY_DELAY.mul_f64(share)).await;
                }
                Err(error) => return tracing::debug!(%error, "an event was not written"),
                Ok(()) => return,
            }
        }
    }
}

async fn create<K: Resource>(events: &Api<K>, event: &K) -> Result<(), Error> {
    events.create(event).await.map(drop)
}

async fn count<K: Resource>(events: &Api<K>, event: &K, patch: &Value) -> Result<(), Error> {
    match events.patch(&event.key(), &Patch::Strategic(patch.clone())).await {
        Err(error) if error.is_not_found() => create(events, event).await,
        patched => patched.map(drop),
    }
}

async fn write_series(events: &Api<events_v1::Event>, event: &events_v1::Event) -> Result<(), Error> {
    match &event.series {
        None => create(events, event).await,
        Some(series) => count(events, event, &json!({ "series": series })).await,
    }
}
