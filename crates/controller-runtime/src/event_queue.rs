use std::collections::{BTreeSet, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_api::core_v1::ObjectReference;
use coracle_api::{core_v1, events_v1};
use coracle_client::{Api, Client, Error, Origin, Patch};
use coracle_journal::EntryId;
use coracle_meta::{Resource, format_micro_time};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::event_correlator::{Correlated, EventCorrelator};
use crate::event_series::EventSeries;
use crate::lanes::Lanes;
use crate::metrics::EventFate;
use crate::{ControllerMetrics, Speaker};

/// The maximum number of queued events of one speaker; later ones are dropped. In Kubernetes: `maxQueuedEvents`.
const MAX_QUEUED: usize = 1000;
/// How many events are posted concurrently; those of one object are posted in order.
///
/// Unlike Kubernetes: there all events are posted one after the other.
const AT_ONCE: usize = 8;
/// The number of tries of an event, and the delay between them, while the API is unreachable.
const MAX_TRIES: u32 = 12;
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// An event that waits to be posted.
#[derive(Debug)]
pub(crate) enum Queued {
    Event(core_v1::Event),
    Series(events_v1::Event),
}

/// An event in the queue.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) event: Queued,
    /// The speaker, if it is not the program itself.
    pub(crate) speaker: Option<Speaker>,
    pub(crate) causes: Vec<EntryId>,
}

/// How an event must be written, and by which client.
struct Task {
    write: Write,
    speaker: Option<Speaker>,
    causes: Vec<EntryId>,
}

/// How an event must be written.
#[derive(Debug)]
enum Write {
    Create(core_v1::Event),
    /// The patch increments its count.
    Count(core_v1::Event, Value),
    Series(events_v1::Event),
}

impl Write {
    fn about(&self) -> String {
        let object = match self {
            Self::Create(event) | Self::Count(event, _) => &event.involved_object,
            Self::Series(event) => &event.regarding,
        };
        let ObjectReference { kind, namespace, name, uid, .. } = object;
        [kind, namespace, name, uid].map(String::as_str).join("/")
    }
}

/// The names of the events of the current millisecond.
#[derive(Debug, Default)]
struct Named {
    millisecond: i64,
    names: BTreeSet<String>,
}

/// The queue of a process's events for the API.
#[derive(Debug)]
pub(crate) struct EventQueue {
    queue: Mutex<VecDeque<Waiting>>,
    room: usize,
    filled: Notify,
    /// How many posts in progress wait for the API to be reachable: they do not count against the concurrency.
    asleep: AtomicUsize,
    named: Mutex<Named>,
}

impl EventQueue {
    /// The queue of a program with this many speakers.
    pub(crate) fn of_speakers(count: usize) -> Self {
        Self {
            queue: Mutex::default(),
            room: MAX_QUEUED.saturating_mul(count.max(1)),
            filled: Notify::new(),
            asleep: AtomicUsize::new(0),
            named: Mutex::default(),
        }
    }

    /// Queues an event; false if it is dropped, because too many are queued.
    pub(crate) fn push(&self, event: Waiting) -> bool {
        let mut queue = self.queue.lock();
        let has_room = queue.len() < self.room;
        if has_room {
            queue.push_back(event);
            self.filled.notify_one();
        }
        has_room
    }

    /// Posts events until the future is dropped.
    pub(crate) async fn post(&self, sink: &EventSink<'_>) {
        self.asleep.store(0, Ordering::Relaxed);
        let (mut correlator, mut series) = (EventCorrelator::new(), EventSeries::default());
        let mut lanes = Lanes::default();
        let (mut under_way, mut due) = (FuturesUnordered::new(), VecDeque::new());
        loop {
            due.extend(series.due(Instant::now()).into_iter().map(Write::Series));
            while under_way.len() < AT_ONCE + self.asleep.load(Ordering::Relaxed) && lanes.waiting() < MAX_QUEUED {
                let task = match due.pop_front() {
                    Some(write) => Some(Task { write, speaker: None, causes: Vec::new() }),
                    None => {
                        let Some(Waiting { event, speaker, causes }) = self.queue.lock().pop_front() else { break };
                        let write = sink.correlated(event, &mut correlator, &mut series);
                        write.map(|write| Task { write, speaker, causes })
                    }
                };
                let Some(task) = task else { continue };
                let lane = task.write.about();
                let begins = lanes.enter(&lane, task);
                under_way.extend(begins.map(|task| sink.write(lane, task)));
            }
            let done = if under_way.is_empty() {
                self.wait(&series).await;
                None
            } else {
                match select(under_way.next(), pin!(self.wait(&series))).await {
                    Either::Left((done, _)) => done,
                    Either::Right(_) => None,
                }
            };
            if let Some(lane) = done
                && let Some(task) = lanes.leave(&lane)
            {
                under_way.push(sink.write(lane, task));
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

    /// The name of an event about an object, `web.18a3f2...`: the object's name and the time in nanoseconds.
    ///
    /// Unlike Kubernetes: the nanoseconds within a millisecond are random, because virtual time may not advance
    /// between events.
    pub(crate) fn name(&self, ambient: &Ambient, about: &ObjectReference) -> String {
        let millisecond = ambient.clock.now().as_millisecond();
        let mut named = self.named.lock();
        if named.millisecond != millisecond {
            *named = Named { millisecond, names: BTreeSet::new() };
        }
        loop {
            let ObjectReference { kind, namespace, name: object, .. } = about;
            let nanos = ambient.random.keyed(&["event", kind, namespace, object]).below(1_000_000);
            let name = format!("{object}.{:x}", i128::from(millisecond) * 1_000_000 + i128::from(nanos));
            if named.names.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Where the events of a program are posted. In Kubernetes: `record.EventSink`.
pub(crate) struct EventSink<'a> {
    pub(crate) queue: &'a EventQueue,
    /// The program's name in the event log.
    pub(crate) program: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) ambient: &'a Ambient,
    /// The metrics of posted and dropped events.
    pub(crate) metrics: &'a ControllerMetrics,
}

impl EventSink<'_> {
    fn events<K: Resource>(&self, event: &K, speaker: Option<&Speaker>, causes: Vec<EntryId>) -> Api<K> {
        let subject = format!("events/{}", event.key());
        let (actor, client) = speaker.map_or((self.program, self.client), |speaker| (&*speaker.actor, &speaker.client));
        Api::of(&client.on_behalf_of(Origin::new(actor, &subject, causes)))
    }

    /// How an event must be written, if at all.
    fn correlated(&self, queued: Queued, correlator: &mut EventCorrelator, series: &mut EventSeries) -> Option<Write> {
        let (now, wall) = (Instant::now(), self.ambient.clock.now());
        match queued {
            Queued::Series(event) => series.observe(event, now, format_micro_time(wall)).map(Write::Series),
            Queued::Event(event) => match correlator.correlate(event, now, wall) {
                Correlated::Create(event) => Some(Write::Create(event)),
                Correlated::Count(event, patch) => Some(Write::Count(event, patch)),
                Correlated::Drop => {
                    self.metrics.event(EventFate::TooMany);
                    None
                }
            },
        }
    }

    /// Writes an event; returns its lane, which is then free.
    async fn write(&self, lane: String, task: Task) -> String {
        let Task { write, speaker, causes } = task;
        match &write {
            Write::Create(event) => {
                let events = self.events(event, speaker.as_ref(), causes);
                self.attempt(|| create(&events, event)).await;
            }
            Write::Count(event, patch) => {
                let events = self.events(event, speaker.as_ref(), causes);
                self.attempt(|| count(&events, event, patch)).await;
            }
            Write::Series(event) => {
                let events = self.events(event, speaker.as_ref(), causes);
                self.attempt(|| write_series(&events, event)).await;
            }
        }
        lane
    }

    /// Retries while the API is unreachable; an event that the API rejects is dropped. In Kubernetes: `recordToSink`.
    async fn attempt<F: Future<Output = Result<(), Error>>>(&self, write: impl Fn() -> F) {
        for tried in 1..=MAX_TRIES {
            match write().await {
                Err(Error::Transport { .. }) if tried < MAX_TRIES => {
                    // The first delay is random, so that not all components retry at the same time.
                    let share = if tried == 1 { self.ambient.random.fraction() } else { 1.0 };
                    self.queue.asleep.fetch_add(1, Ordering::Relaxed);
                    self.queue.filled.notify_one();
                    sleep(RETRY_DELAY.mul_f64(share)).await;
                    self.queue.asleep.fetch_sub(1, Ordering::Relaxed);
                }
                Err(error) => {
                    self.metrics.event(EventFate::Refused);
                    return tracing::debug!(%error, "an event was not written");
                }
                Ok(()) => return self.metrics.event(EventFate::Written),
            }
        }
    }
}

async fn create<K: Resource>(events: &Api<K>, event: &K) -> Result<(), Error> {
    events.create_unread(event).await
}

async fn count<K: Resource>(events: &Api<K>, event: &K, patch: &Value) -> Result<(), Error> {
    match events.patch_unread(&event.key(), &Patch::Strategic(patch.clone())).await {
        Err(error) if error.is_not_found() => create(events, event).await,
        patched => patched,
    }
}

async fn write_series(events: &Api<events_v1::Event>, event: &events_v1::Event) -> Result<(), Error> {
    match &event.series {
        None => create(events, event).await,
        Some(series) => count(events, event, &json!({ "series": series })).await,
    }
}
