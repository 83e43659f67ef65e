use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coracle_exposition::{Exposition, Histogram, MetricKind};
use parking_lot::Mutex;

/// Metrics of the scheduler, for `/metrics`. A handle: clones share the counts.
///
/// In Kubernetes: `pkg/scheduler/metrics`, with the same names. Durations use the cluster's clock.
#[derive(Clone, Default)]
pub struct SchedulerMetrics {
    inner: Arc<Mutex<Counted>>,
}

#[derive(Default)]
struct Counted {
    sizes: Option<Box<dyn Fn() -> Sizes + Send>>,
    /// By result and profile.
    attempts: BTreeMap<(&'static str, String), Attempts>,
    algorithm: Option<Histogram>,
    /// By extension point, status and profile.
    points: BTreeMap<(&'static str, &'static str, String), Histogram>,
    preemptions: u64,
    victims: Option<Histogram>,
    tries: Option<Histogram>,
    /// By the number of attempts, up to 16.
    from_queue_to_node: BTreeMap<u32, Histogram>,
}

struct Attempts {
    count: u64,
    took: Histogram,
}

/// Current sizes, for gauges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Pods in the active queue, in back-off, unschedulable, and gated.
    pub(crate) queues: [usize; 4],
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
    pub(crate) assumed: usize,
    /// By plug-in and profile.
    pub(crate) unschedulable: BTreeMap<(&'static str, String), usize>,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    Scheduled,
    Unschedulable,
    Error,
}

impl AttemptResult {
    fn word(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

impl fmt::Debug for SchedulerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerMetrics").finish_non_exhaustive()
    }
}

/// This many bucket bounds from `start` on, each `factor` times the previous one. In Kubernetes:
/// `ExponentialBuckets`.
fn exponential(start: f64, factor: f64, count: i32) -> Histogram {
    Histogram::new((0..count).map(|power| start * factor.powi(power)))
}

impl SchedulerMetrics {
    /// Sets the function that returns the current sizes.
    pub(crate) fn watch(&self, sizes: impl Fn() -> Sizes + Send + 'static) {
        self.inner.lock().sizes = Some(Box::new(sizes));
    }

    /// Records the duration of a decision.
    pub(crate) fn decided(&self, took: Duration) {
        let algorithm = &mut self.inner.lock().algorithm;
        algorithm.get_or_insert_with(|| exponential(0.001, 2.0, 15)).observe(took.as_secs_f64());
    }

    /// Records the result and the duration of an attempt.
    pub(crate) fn ended(&self, outcome: AttemptResult, profile: &str, took: Duration) {
        let mut counted = self.inner.lock();
        let attempts = counted.attempts.entry((outcome.word(), profile.to_owned()));
        let attempts = attempts.or_insert_with(|| Attempts { count: 0, took: exponential(0.001, 2.0, 15) });
        attempts.count += 1;
        attempts.took.observe(took.as_secs_f64());
    }

    /// Records the duration of an extension point.
    pub(crate) fn at_point(&self, point: &'static str, is_success: bool, profile: &str, took: Duration) {
        let status = if is_success { "Success" } else { "Error" };
        let mut counted = self.inner.lock();
        let histogram = counted.points.entry((point, status, profile.to_owned()));
        histogram.or_insert_with(|| exponential(0.0001, 2.0, 12)).observe(took.as_secs_f64());
    }

    /// Records a preemption attempt, with the number of victims if it succeeded.
    pub(crate) fn preempted(&self, victims: Option<usize>) {
        let mut counted = self.inner.lock();
        counted.preemptions += 1;
        if let Some(victims) = victims {
            counted.victims.get_or_insert_with(|| exponential(1.0, 2.0, 7)).observe(victims as f64);
        }
    }

    /// Records that a pod was bound: the number of attempts, and the time since it was queued.
    pub(crate) fn scheduled(&self, tries: u32, since_queued: Duration) {
        let mut counted = self.inner.lock();
        counted.tries.get_or_insert_with(|| exponential(1.0, 2.0, 5)).observe(f64::from(tries));
        let histogram = counted.from_queue_to_node.entry(tries.min(16));
        histogram.or_insert_with(|| exponential(0.01, 2.0, 20)).observe(since_queued.as_secs_f64());
    }

    /// The metrics in the Prometheus text format.
    pub fn text(&self) -> String {
        let counted = self.inner.lock();
        let mut text = Exposition::default();
        counted.attempts_to(&mut text);
        counted.durations_to(&mut text);
        if let Some(sizes) = &counted.sizes {
            sizes().write_to(&mut text);
        }
        text.into_text()
    }
}

impl Counted {
    fn attempts_to(&self, text: &mut Exposition) {
        let name = "scheduler_schedule_attempts_total";
        let help = "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.";
        text.metric(name, MetricKind::Counter, help);
        for ((result, profile), attempts) in &self.attempts {
            text.sample(name, &[("profile", profile), ("result", result)], attempts.count);
        }
        let name = "scheduler_scheduling_attempt_duration_seconds";
        let help = "Scheduling attempt latency in seconds (scheduling algorithm + binding)";
        text.metric(name, MetricKind::Histogram, help);
        for ((result, profile), attempts) in &self.attempts {
            text.histogram(name, &[("profile", profile), ("result", result)], attempts.took.observed());
        }
        let name = "scheduler_preemption_attempts_total";
        text.metric(name, MetricKind::Counter, "Total preemption attempts in the cluster till now");
        text.sample(name, &[], self.preemptions);
    }

    fn durations_to(&self, text: &mut Exposition) {
        for (name, help, histogram) in [
            (
                "scheduler_scheduling_algorithm_duration_seconds",
                "Scheduling algorithm latency in seconds",
                &self.algorithm,
            ),
            ("scheduler_preemption_victims", "Number of selected preemption victims", &self.victims),
            ("scheduler_pod_scheduling_attempts", "Number of attempts to successfully schedule a pod.", &self.tries),
        ] {
            text.metric(name, MetricKind::Histogram, help);
            if let Some(histogram) = histogram {
                text.histogram(name, &[], histogram.observed());
            }
        }
        let name = "scheduler_pod_scheduling_sli_duration_seconds";
        let help = "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.";
        text.metric(name, MetricKind::Histogram, help);
        for (tries, histogram) in &self.from_queue_to_node {
            let tries = if *tries >= 16 { "16+".to_owned() } else { tries.to_string() };
            text.histogram(name, &[("attempts", &tries)], histogram.observed());
        }
        let name = "scheduler_framework_extension_point_duration_seconds";
        let help = "Latency for running all plugins of a specific extension point.";
        text.metric(name, MetricKind::Histogram, help);
        for ((point, status, profile), histogram) in &self.points {
            let labels = [("extension_point", *point), ("profile", profile), ("status", status)];
            text.histogram(name, &labels, histogram.observed());
        }
    }
}

impl Sizes {
    fn write_to(&self, text: &mut Exposition) {
        let name = "scheduler_pending_pods";
        let help = "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.";
        text.metric(name, MetricKind::Gauge, help);
        for (queue, pods) in ["active", "backoff", "unschedulable", "gated"].into_iter().zip(self.queues) {
            text.sample(name, &[("queue", queue)], pods);
        }
        let name = "scheduler_cache_size";
        text.metric(name, MetricKind::Gauge, "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.");
        for (what, count) in [("assumed_pods", self.assumed), ("nodes", self.nodes), ("pods", self.pods)] {
            text.sample(name, &[("type", what)], count);
        }
        let name = "scheduler_unschedulable_pods";
        let help = "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.";
        text.metric(name, MetricKind::Gauge, help);
        for ((plugin, profile), pods) in &self.unschedulable {
            text.sample(name, &[("plugin", plugin), ("profile", profile)], pods);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_kube_schedulers_names_and_labels() {
        let metrics = SchedulerMetrics::default();
        metrics.ended(AttemptResult::Scheduled, "default-scheduler", Duration::from_millis(3));
        metrics.decided(Duration::from_millis(1));
        metrics.preempted(Some(2));
        metrics.scheduled(20, Duration::from_secs(1));
        metrics.at_point("Bind", true, "p", Duration::from_millis(1));
        metrics.watch(|| Sizes {
            queues: [1, 2, 3, 4],
            nodes: 5,
            unschedulable: BTreeMap::from([(("NodePorts", "p".to_owned()), 3)]),
            ..Sizes::default()
        });
        let text = metrics.text();
        for line in [
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1",
            "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"default-scheduler\",result=\"scheduled\",le=\"0.004\"} 1",
            "scheduler_scheduling_algorithm_duration_seconds_count 1",
            "scheduler_preemption_attempts_total 1",
            "scheduler_preemption_victims_bucket{le=\"2\"} 1",
            "scheduler_pod_scheduling_attempts_count 1",
            "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"16+\"} 1",
            "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Bind\",profile=\"p\",status=\"Success\"} 1",
            "scheduler_pending_pods{queue=\"gated\"} 4",
            "scheduler_cache_size{type=\"nodes\"} 5",
            "scheduler_unschedulable_pods{plugin=\"NodePorts\",profile=\"p\"} 3",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
        }
    }
}
