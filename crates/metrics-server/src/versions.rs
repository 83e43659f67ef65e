use coracle_registry::Registry;

/// All versions of the group that some release has, the preferred one first.
pub(crate) const ALL: [&str; 2] = ["v1", "v1beta1"];

/// The versions that the release of the cluster has, the preferred one first.
///
/// In Kubernetes: `k8s.io/metrics/pkg/apis/metrics`. The metrics server serves what its clients of the same release know.
pub(crate) fn of(registry: &Registry) -> &'static [&'static str] {
    if registry.release().has("ResourceMetricsV1") { &ALL } else { &ALL[1..] }
}
