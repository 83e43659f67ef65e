use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_informer::{HandlerScope, InformerFactory};
use coracle_journal::Recorder;
use coracle_workqueue::{Key, RateLimiter, WorkQueue};

use crate::ControllerMetrics;
use crate::event_queue::{EventQueue, EventSink, Waiting};
use crate::metrics::EventFate;

/// What the controllers of one program share: the API client, the caches, the queue of events.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::Node;
/// use coracle::journal::Recorder;
/// use coracle::runtime::controller::Process;
///
/// let process = Process::new("program", &cluster.api_client(), cluster.ambient(), &Recorder::off());
/// let nodes = process.informers.informer::<Node>();
/// tokio::spawn({
///     let process = process.clone();
///     async move { process.run().await }
/// });
/// nodes.synced().await;
/// assert_eq!(process.actor("drainer"), "program/drainer");
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Process {
    /// The program's name in the event log: `controller-manager`.
    pub name: String,
    /// The host of this program, for events and leases.
    pub host: String,
    /// The API client.
    pub client: Client,
    /// One informer for each kind.
    pub informers: InformerFactory,
    /// The clock and randomness.
    pub ambient: Ambient,
    /// The event log.
    pub recorder: Recorder,
    /// The metrics of its controllers.
    pub metrics: ControllerMetrics,
    pub(crate) events: Arc<EventQueue>,
}

impl Process {
    /// A program that uses the API through `client`. Its informers and events do not count against the rate limit of
    /// its controllers.
    pub fn new(name: &str, client: &Client, ambient: &Ambient, recorder: &Recorder) -> Self {
        let client = client.clone().with_recorder(recorder.clone());
        // Metrics keep the queues of a program that was killed.
        let ambient = Ambient { work: ambient.work.part(), ..ambient.clone() };
        Self {
            name: name.to_owned(),
            host: "coracle".to_owned(),
            informers: InformerFactory::new(&client, &ambient, recorder.clone(), name),
            client,
            ambient,
            recorder: recorder.clone(),
            metrics: ControllerMetrics::default(),
            events: Arc::new(EventQueue::of_speakers(1)),
        }
    }

    /// The same program with these metrics.
    #[must_use]
    pub fn counting(self, metrics: &ControllerMetrics) -> Self {
        Self { metrics: metrics.clone(), ..self }
    }

    /// The same program with this host name.
    #[must_use]
    pub fn on_host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// The same program with capacity for the events of this many speakers. Events that are already queued are
    /// dropped.
    #[must_use]
    pub fn with_speakers(self, count: usize) -> Self {
        Self { events: Arc::new(EventQueue::of_speakers(count)), ..self }
    }

    /// The same program, with another client for the writes of its controllers; informers and events keep theirs.
    #[must_use]
    pub fn speaking_through(&self, client: Client) -> Self {
        let client = self.metrics.observing(client.with_recorder(self.recorder.clone()));
        Self { client, ..self.clone() }
    }

    /// The same program, as one part of it that can end alone: its handlers are in `scope`, and its queues count as work
    /// as long as it exists.
    #[must_use]
    pub fn within(&self, scope: &HandlerScope) -> Self {
        let ambient = Ambient { work: self.ambient.work.part(), ..self.ambient.clone() };
        Self { informers: self.informers.within(scope), ambient, ..self.clone() }
    }

    /// The same program, whose informers have this name in the event log.
    #[must_use]
    pub fn with_informers_of(self, actor: &str) -> Self {
        let informers = InformerFactory::new(&self.client, &self.ambient, self.recorder.clone(), actor);
        Self { informers, ..self }
    }

    /// The name of one of its controllers in the event log.
    pub fn actor(&self, controller: &str) -> String {
        format!("{}/{controller}", self.name)
    }

    /// A queue for one of its controllers.
    pub fn queue<K: Key>(&self, controller: &str, limits: RateLimiter<K>) -> WorkQueue<K> {
        let queue = WorkQueue::with(controller, &self.actor(controller), self.recorder.clone(), limits);
        self.metrics.watch(&queue);
        self.ambient.work.add(queue.holder());
        queue
    }

    /// Queues an event to be posted.
    pub(crate) fn say(&self, event: Waiting) {
        if !self.events.push(event) {
            self.metrics.event(EventFate::QueueFull);
        }
    }

    /// Runs the informers and posts the events, until the future is dropped. Must be called only once.
    pub async fn run(&self) {
        let Self { name, client, ambient, metrics, events, .. } = self;
        let sink = EventSink { queue: events, program: name, client, ambient, metrics };
        tokio::join!(biased; self.informers.run(), self.events.post(&sink));
    }
}
