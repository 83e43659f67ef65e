use coracle_exposition::{Exposition, MetricKind};

use super::Statistics;

/// The response of `/metrics`: the kubelet's own metrics that apply to a simulated one.
///
/// In Kubernetes: `pkg/kubelet/metrics`.
pub fn kubelet_metrics(of: &Statistics) -> String {
    let mut text = Exposition::default();
    let name = of.node.metadata.name.as_deref().unwrap_or_default();
    text.metric("kubelet_node_name", MetricKind::Gauge, "[ALPHA] The node's name. The count is always 1.");
    text.sample("kubelet_node_name", &[("node", name)], 1);
    let containers: usize = of.reading.pods.iter().map(|pod| pod.containers.len()).sum();
    text.metric("kubelet_running_containers", MetricKind::Gauge, "[ALPHA] Number of containers currently running");
    text.sample("kubelet_running_containers", &[("container_state", "running")], containers);
    text.metric("kubelet_running_pods", MetricKind::Gauge, "[ALPHA] Number of pods that have a running pod sandbox");
    text.sample("kubelet_running_pods", &[], of.reading.pods.len());
    text.metric(
        "kubernetes_build_info",
        MetricKind::Gauge,
        "[ALPHA] A metric with a constant '1' value labeled by the version of Kubernetes that is simulated.",
    );
    text.sample("kubernetes_build_info", &[("git_version", &of.node.status.node_info.kubelet_version)], 1);
    text.into_text()
}
