//! Which pods a node evicts.
//!
//! ```text
//! Signal of node::pressure --rank, message (pure)--> the eviction manager evicts a pod
//! ```
//! In Kubernetes: `pkg/kubelet/eviction`, with hard thresholds only.

pub(crate) mod eviction_manager;
mod limits;
mod ranking;

use self::limits::beyond_local_limits;
use self::ranking::{ranked, shortage_message};
use crate::node::pressure::Pressed;

/// The reason of an evicted pod.
pub(crate) const EVICTED: &str = "Evicted";
/// Pods with this priority or a higher one are never evicted. In Kubernetes: `IsCriticalPod`.
const CRITICAL: i32 = 2_000_000_000;

/// Whether a pod is critical, and is never evicted.
pub(crate) fn is_critical(pod: &coracle_api::core_v1::Pod) -> bool {
    let annotations = &pod.metadata.annotations;
    let is_static = annotations.get("kubernetes.io/config.source").is_some_and(|source| source != "api");
    is_static || annotations.contains_key("kubernetes.io/config.mirror") || pod.spec.priority >= Some(CRITICAL)
}

/// Why a node under pressure rejects a pod; none if it admits the pod.
pub(crate) fn pressed_out(pod: &coracle_api::core_v1::Pod, pressed: &Pressed) -> Option<(&'static str, String)> {
    if pressed.is_shutting_down {
        return Some(("NodeShutdown", "Pod was rejected as the node is shutting down.".to_owned()));
    }
    if pressed.is_none() || is_critical(pod) {
        return None;
    }
    let taint = coracle_api::core_v1::Taint {
        key: "node.kubernetes.io/memory-pressure".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Default::default()
    };
    let is_borne = || pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint));
    if pressed.is_by_memory_alone() && (pod.status.qos_class != "BestEffort" || is_borne()) {
        return None;
    }
    Some((EVICTED, format!("The node had condition: {}. ", pressed.words())))
}
