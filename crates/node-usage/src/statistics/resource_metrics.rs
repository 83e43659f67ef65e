use coracle_exposition::{Exposition, MetricKind};

use super::{Statistics, seconds, since_epoch};
use crate::{ContainerReading, PodReading};

/// A metric of running containers: name, kind, help, value, and whether it has a timestamp.
type OfContainers = (&'static str, MetricKind, &'static str, fn(&ContainerReading) -> f64, bool);
/// A metric of pods.
type OfPods = (&'static str, MetricKind, &'static str, fn(&PodReading) -> f64);

const OF_CONTAINERS: [OfContainers; 4] = [
    (
        "container_cpu_usage_seconds_total",
        MetricKind::Counter,
        "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
        |own| seconds(own.cpu),
        true,
    ),
    (
        "container_memory_working_set_bytes",
        MetricKind::Gauge,
        "[STABLE] Current working set of the container in bytes",
        |own| own.memory as f64,
        true,
    ),
    (
        "container_start_time_seconds",
        MetricKind::Gauge,
        "[STABLE] Start time of the container since unix epoch in seconds",
        |own| since_epoch(own.started),
        false,
    ),
    (
        "container_swap_usage_bytes",
        MetricKind::Gauge,
        "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
        |_| 0.0,
        true,
    ),
];

const OF_PODS: [OfPods; 3] = [
    (
        "pod_cpu_usage_seconds_total",
        MetricKind::Counter,
        "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
        |pod| seconds(pod.cpu),
    ),
    ("pod_memory_working_set_bytes", MetricKind::Gauge, "[STABLE] Current working set of the pod in bytes", |pod| {
        pod.total(|own| own.memory) as f64
    }),
    (
        "pod_swap_usage_bytes",
        MetricKind::Gauge,
        "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
        |_| 0.0,
    ),
];

/// The response of `/metrics/resource`. In Kubernetes: `resourceMetricsCollector`.
pub fn resource_metrics(of: &Statistics) -> String {
    let mut text = Exposition::default();
    let millis = of.reading.at.as_millisecond();
    for (name, kind, help, value, is_of_a_moment) in OF_CONTAINERS {
        text.metric(name, kind, help);
        for pod in &of.reading.pods {
            for own in &pod.containers {
                let labels =
                    [("container", own.name.as_str()), ("namespace", &pod.key.namespace), ("pod", &pod.key.name)];
                if is_of_a_moment {
                    text.sample_at(name, &labels, value(own), millis);
                } else {
                    text.sample(name, &labels, value(own));
                }
            }
        }
    }
    node_metrics(of, &mut text);
    for (name, kind, help, value) in OF_PODS {
        text.metric(name, kind, help);
        for pod in &of.reading.pods {
            let labels = [("namespace", pod.key.namespace.as_str()), ("pod", &pod.key.name)];
            text.sample_at(name, &labels, value(pod), millis);
        }
    }
    text.metric(
        "resource_scrape_error",
        MetricKind::Gauge,
        "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
    );
    text.sample("resource_scrape_error", &[], 0);
    text.metric(
        "scrape_error",
        MetricKind::Gauge,
        "[ALPHA] (Deprecated since 1.29.0) 1 if there was an error while getting container metrics, 0 otherwise",
    );
    text.sample("scrape_error", &[], 0);
    text.into_text()
}

/// The metrics of the node as a whole.
fn node_metrics(of: &Statistics, text: &mut Exposition) {
    let of_node = [
        (
            "node_cpu_usage_seconds_total",
            MetricKind::Counter,
            "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
            seconds(of.reading.cpu),
        ),
        (
            "node_memory_working_set_bytes",
            MetricKind::Gauge,
            "[STABLE] Current working set of the node in bytes",
            of.reading.memory as f64,
        ),
        (
            "node_swap_usage_bytes",
            MetricKind::Gauge,
            "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
            0.0,
        ),
    ];
    for (name, kind, help, value) in of_node {
        text.metric(name, kind, help);
        text.sample_at(name, &[], value, of.reading.at.as_millisecond());
    }
}
