use std::collections::VecDeque;
use std::time::Duration;

use coracle_api::{core_v1, events_v1};
use coracle_client::{Api, Error, Origin, Patch};
use coracle_journal::EntryId;
use coracle_meta::{Resource, format_micro_time};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::Process;
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
    pub(crate) async fn post(&self, process: &Process) {
        let mut correlator = EventCorrelator::new();
        let mut series = EventSeries::default();
        loop {
            let next = self.queue.lock().pop_front();
            match next {
                Some((Queued::Event(event), causes)) => {
                    let events = events(process, &event, causes);
                    match correlator.correlate(event, Instant::now(), process.ambient.clock.now()) {
                        Correlated::Drop => {}
                        Correlated::Create(event) => attempt(process, || create(&events, &event)).await,
                        Correlated::Count(event, patch) => attempt(process, || count(&events, &event, &patch)).await,
                    }
                }
                Some((Queued::Series(event), causes)) => {
                    let events = events(process, &event, causes);
                    let now = format_micro_time(process.ambient.clock.now());
                    if let Some(event) = series.observe(event, Instant::now(), now) {
                        attempt(process, || write_series(&events, &event)).await;
                    }
                }
                None => {
                    self.wait(&series).await;
                    for event in series.due(Instant::now()) {
                        let events = events(process, &event, Vec::new());
                        attempt(process, || write_series(&events, &event)).await;
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

    /// A number below a million that differs from the one before.
    fn draw(&self, process: &Process) -> u64 {
        let mut last = self.last_draw.lock();
        *last = (*last + 1 + process.ambient.random.below(1000)) % 1_000_000;
        *last
    }
}

/// `web.18a3f2...`: the object and the time in nanoseconds.
///
/// Unlike Kubernetes: the nanoseconds within a millisecond are drawn, because virtual time stands still while several
/// events are made.
pub(crate) fn event_name(process: &Process, object: &str) -> String {
    let millisecond = process.ambient.clock.now().as_millisecond();
    let nanos = i128::from(millisecond) * 1_000_000 + i128::from(process.events.draw(process));
    format!("{object}.{nanos:x}")
}

fn events<K: Resource>(process: &Process, event: &K, causes: Vec<EntryId>) -> Api<K> {
    let subject = format!("events/{}", event.key());
    Api::of(&process.client.on_behalf_of(Origin::new(&process.name, &subject, causes)))
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

/// Tries while the API cannot be reached; what the API refuses is given up. In Kubernetes: `recordToSink`.
async fn attempt<F: Future<Output = Result<(), Error>>>(process: &Process, write: impl Fn() -> F) {
    for tried in 1..=MAX_TRIES {
        match write().await {
            Err(Error::Transport { .. }) if tried < MAX_TRIES => {
                // The first wait is drawn, so that not all components come back at once.
                let share = if tried == 1 { process.ambient.random.fraction() } else { 1.0 };
                sleep(RETRY_DELAY.mul_f64(share)).await;
            }
            Err(error) => return tracing::debug!(%error, "an event was not written"),
            Ok(()) => return,
        }
    }
}
