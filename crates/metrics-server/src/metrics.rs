use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{Object, Quantity, format_time};
use serde_json::{Value, json};

use crate::window::Used;

/// The names of one kind in a version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// In paths.
    pub(crate) resource: &'static str,
    /// In refusals.
    pub(crate) metrics: &'static str,
    pub(crate) kind: &'static str,
    /// Of the group `metrics.k8s.io`.
    pub(crate) version: &'static str,
}

impl Names {
    pub(crate) const fn nodes(version: &'static str) -> Self {
        Self { resource: "nodes", metrics: "nodemetrics", kind: "NodeMetrics", version }
    }

    pub(crate) const fn pods(version: &'static str) -> Self {
        Self { resource: "pods", metrics: "podmetrics", kind: "PodMetrics", version }
    }
}

/// In Kubernetes: `metrics.NodeMetrics`.
pub(crate) fn of_node(node: &Object, used: &Used, at: Timestamp, now: Timestamp) -> Value {
    json!({
        "metadata": metadata(node, now),
        "timestamp": format_time(at),
        "window": window(used),
        "usage": usage(used),
    })
}

/// In Kubernetes: `metrics.PodMetrics`.
pub(crate) fn of_pod(pod: &Object, used: &[(String, Used)], at: Timestamp, now: Timestamp) -> Value {
    let containers = used.iter().map(|(name, used)| json!({"name": name, "usage": usage(used)}));
    json!({
        "metadata": metadata(pod, now),
        "timestamp": format_time(at),
        "window": used.first().map(|(_, used)| window(used)),
        "containers": containers.collect::<Vec<Value>>(),
    })
}

fn metadata(object: &Object, now: Timestamp) -> Value {
    let mut metadata = json!({"name": object.name(), "creationTimestamp": format_time(now)});
    if !object.namespace().is_empty() {
        metadata["namespace"] = object.namespace().into();
    }
    let labels = object.at("metadata.labels");
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        metadata["labels"] = labels.clone();
    }
    metadata
}

fn usage(used: &Used) -> Value {
    let amount = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    json!({
        "cpu": Quantity::of_nano(amount(used.cpu)).to_string(),
        "memory": Quantity::of(amount(used.memory)).in_binary().to_string(),
    })
}

/// As Go prints it.
fn window(used: &Used) -> String {
    let nanos = used.window.subsec_nanos();
    let fraction = format!("{nanos:09}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}s", used.window.as_secs())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn amounts_and_windows_are_written_as_kubernetes_writes_them() {
        let used = |nanos| Used { cpu: 250_000_000, memory: 64 << 20, window: SignedDuration::from_nanos(nanos) };
        assert_eq!(usage(&used(0)), json!({"cpu": "250m", "memory": "64Mi"}));
        assert_eq!(
            usage(&Used { cpu: 1_234_567, memory: 1025, ..used(0) }),
            json!({"cpu": "1234567n", "memory": "1025"})
        );
        assert_eq!([15_000_000_000, 10_250_000_000].map(|nanos| window(&used(nanos))), ["15s", "10.25s"]);
    }
}
