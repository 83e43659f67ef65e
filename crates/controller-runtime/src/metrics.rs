use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coracle_client::{Answered, Client};
use coracle_exposition::{Exposition, Histogram, MetricKind};
use coracle_workqueue::{Key, QueueCounts, WorkQueue};
use parking_lot::Mutex;

/// The buckets of `rest_client_request_duration_seconds`.
const REQUEST_SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

/// The metrics of a program's controllers, for `/metrics`. A handle: clones share the counts.
///
/// In Kubernetes: `workqueue_*` of `component-base/metrics/prometheus/workqueue`, `rest_client_requests_total` and
/// `rest_client_request_duration_seconds` of `restclient`. The metrics of each controller (`coracle_controller_*`)
/// and of events do not exist there.
#[derive(Clone, Default)]
pub struct ControllerMetrics {
    inner: Arc<Mutex<Counted>>,
}

#[derive(Default)]
struct Counted {
    queues: BTreeMap<String, Queue>,
    controllers: BTreeMap<String, Controller>,
    /// By code and method.
    requests: BTreeMap<(Option<u16>, String), u64>,
    /// By method.
    answers: BTreeMap<String, Histogram>,
    events: BTreeMap<EventFate, u64>,
}

/// What happened to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventFate {
    Written,
    /// The API rejected it.
    Refused,
    /// Its object had too many events already.
    TooMany,
    /// Too many events were queued.
    QueueFull,
}

impl EventFate {
    fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Refused => "refused",
            Self::TooMany => "too-many",
            Self::QueueFull => "queue-full",
        }
    }
}

/// The metrics of a queue.
struct Queue {
    counts: Box<dyn Fn() -> QueueCounts + Send>,
    waited: Histogram,
    worked: Histogram,
}

/// The metrics of a controller.
#[derive(Default)]
struct Controller {
    /// The number of syncs, by result.
    syncs: BTreeMap<&'static str, u64>,
    writes: u64,
    unchanged: u64,
}

/// The result of one sync.
pub(crate) struct Synced {
    pub(crate) result: &'static str,
    pub(crate) waited: Duration,
    pub(crate) worked: Duration,
    pub(crate) writes: usize,
    /// Writes that did not change what the caches had shown before.
    pub(crate) unchanged: usize,
}

impl fmt::Debug for ControllerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerMetrics").finish_non_exhaustive()
    }
}

impl PartialEq for ControllerMetrics {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl ControllerMetrics {
    /// Observes a queue; replaces one of the same name.
    pub(crate) fn watch<K: Key>(&self, queue: &WorkQueue<K>) {
        // Eleven buckets, 10 ns to 1000 s: those of Kubernetes' queues, except the first, which is below the
        // resolution of clocks here.
        let bounds = || (-8..=3).map(|power| 10_f64.powi(power));
        let (waited, worked) = (Histogram::new(bounds()), Histogram::new(bounds()));
        let handle = queue.clone();
        let queue_counts = Queue { counts: Box::new(move || handle.counts()), waited, worked };
        self.inner.lock().queues.insert(queue.name().to_owned(), queue_counts);
    }

    /// The same client, whose requests are counted here.
    #[must_use]
    pub fn observing(&self, client: Client) -> Client {
        let metrics = self.clone();
        client.observed_by(move |answered| metrics.answered(answered))
    }

    fn answered(&self, answered: &Answered) {
        let method = answered.method.as_str();
        let mut counted = self.inner.lock();
        *counted.requests.entry((answered.code, method.to_owned())).or_default() += 1;
        let known = counted.answers.contains_key(method);
        if !known {
            counted.answers.insert(method.to_owned(), Histogram::new(REQUEST_SECONDS));
        }
        if let Some(histogram) = counted.answers.get_mut(method) {
            histogram.observe(answered.took.as_secs_f64());
        }
    }

    pub(crate) fn event(&self, fate: EventFate) {
        *self.inner.lock().events.entry(fate).or_default() += 1;
    }

    pub(crate) fn synced(&self, queue: &str, sync: &Synced) {
        let mut counted = self.inner.lock();
        if let Some(queue) = counted.queues.get_mut(queue) {
            queue.waited.observe(sync.waited.as_secs_f64());
            queue.worked.observe(sync.worked.as_secs_f64());
        }
        let controller = match counted.controllers.get_mut(queue) {
            Some(controller) => controller,
            None => counted.controllers.entry(queue.to_owned()).or_default(),
        };
        *controller.syncs.entry(sync.result).or_default() += 1;
        controller.writes += sync.writes as u64;
        controller.unchanged += sync.unchanged as u64;
    }

    /// The metrics in the Prometheus text format.
    pub fn text(&self) -> String {
        let counted = self.inner.lock();
        let mut text = Exposition::default();
        counted.write_queues(&mut text);
        counted.write_controllers(&mut text);
        counted.write_requests(&mut text);
        counted.write_events(&mut text);
        text.into_text()
    }
}

impl Counted {
    fn write_queues(&self, text: &mut Exposition) {
        let counts: Vec<_> = self.queues.iter().map(|(name, queue)| (name, (queue.counts)())).collect();
        let mut number = |name: &str, kind, help: &str, of: &dyn Fn(&QueueCounts) -> u64| {
            text.metric(name, kind, help);
            counts.iter().for_each(|(queue, counts)| text.sample(name, &[("name", queue)], of(counts)));
        };
        number("workqueue_adds_total", MetricKind::Counter, "Total number of adds handled by workqueue", &|counts| {
            counts.adds
        });
        number("workqueue_depth", MetricKind::Gauge, "Current depth of workqueue", &|counts| counts.depth as u64);
        number(
            "workqueue_retries_total",
            MetricKind::Counter,
            "Total number of retries handled by workqueue",
            &|counts| counts.retries,
        );
        number("workqueue_in_work", MetricKind::Gauge, "How many keys workers have", &|counts| counts.in_work as u64);
        for (name, help, of) in [
            (
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested.",
                (|queue: &Queue| queue.waited.observed()) as fn(&Queue) -> _,
            ),
            (
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                |queue: &Queue| queue.worked.observed(),
            ),
        ] {
            text.metric(name, MetricKind::Histogram, help);
            self.queues.iter().for_each(|(queue, counts)| text.histogram(name, &[("name", queue)], of(counts)));
        }
    }

    fn write_controllers(&self, text: &mut Exposition) {
        text.metric("coracle_controller_syncs_total", MetricKind::Counter, "Syncs by how they ended");
        for (name, controller) in &self.controllers {
            for (result, count) in &controller.syncs {
                text.sample("coracle_controller_syncs_total", &[("controller", name), ("result", result)], count);
            }
        }
        for (metric, help, of) in [
            (
                "coracle_controller_writes_total",
                "Writes that were sent",
                (|controller: &Controller| controller.writes) as fn(&Controller) -> u64,
            ),
            (
                "coracle_controller_unchanged_writes_total",
                "Writes that changed nothing: their answers showed what the caches had shown before",
                |controller: &Controller| controller.unchanged,
            ),
        ] {
            text.metric(metric, MetricKind::Counter, help);
            self.controllers.iter().for_each(|(name, one)| text.sample(metric, &[("controller", name)], of(one)));
        }
    }

    fn write_events(&self, text: &mut Exposition) {
        text.metric("coracle_events_total", MetricKind::Counter, "Events by result");
        for (fate, count) in &self.events {
            text.sample("coracle_events_total", &[("result", fate.word())], count);
        }
    }

    /// Requests to a server in the same process have no host.
    fn write_requests(&self, text: &mut Exposition) {
        let name = "rest_client_requests_total";
        text.metric(
            name,
            MetricKind::Counter,
            "Number of HTTP requests, partitioned by status code, method, and host.",
        );
        for ((code, method), count) in &self.requests {
            let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
            text.sample(name, &[("code", code.as_str()), ("host", ""), ("method", method)], count);
        }
        let name = "rest_client_request_duration_seconds";
        text.metric(name, MetricKind::Histogram, "Request latency in seconds. Broken down by verb, and host.");
        for (verb, histogram) in &self.answers {
            text.histogram(name, &[("host", ""), ("verb", verb)], histogram.observed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn metrics_have_one_series_for_each_queue_and_controller() {
        let (metrics, queue) = (ControllerMetrics::default(), WorkQueue::new("gardener"));
        metrics.watch(&queue);
        queue.add("a".to_owned(), &[]);
        queue.add("a".to_owned(), &[]);
        let work = queue.get().await.unwrap();
        let worked = Duration::from_millis(20);
        metrics.synced("gardener", &Synced { result: "done", waited: work.waited, worked, writes: 2, unchanged: 1 });
        queue.add_rate_limited(work.key.clone(), &[]);
        let took = Duration::from_millis(30);
        metrics.answered(&Answered { method: http::Method::GET, code: Some(404), took });
        metrics.answered(&Answered { method: http::Method::PUT, code: None, took });
        metrics.event(EventFate::QueueFull);
        let text = metrics.text();
        for line in [
            "rest_client_requests_total{code=\"404\",host=\"\",method=\"GET\"} 1",
            "rest_client_requests_total{code=\"<error>\",host=\"\",method=\"PUT\"} 1",
            "rest_client_request_duration_seconds_bucket{host=\"\",verb=\"GET\",le=\"0.025\"} 0",
            "rest_client_request_duration_seconds_bucket{host=\"\",verb=\"GET\",le=\"0.1\"} 1",
            "coracle_events_total{result=\"queue-full\"} 1",
            "workqueue_adds_total{name=\"gardener\"} 1",
            "workqueue_retries_total{name=\"gardener\"} 1",
            "workqueue_in_work{name=\"gardener\"} 1",
            "workqueue_work_duration_seconds_bucket{name=\"gardener\",le=\"0.01\"} 0",
            "workqueue_work_duration_seconds_bucket{name=\"gardener\",le=\"0.1\"} 1",
            "coracle_controller_syncs_total{controller=\"gardener\",result=\"done\"} 1",
            "coracle_controller_writes_total{controller=\"gardener\"} 2",
            "coracle_controller_unchanged_writes_total{controller=\"gardener\"} 1",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}\n{text}");
        }
    }
}
