// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `policy.v1.Eviction`.
    pub struct Eviction("policy/v1", "Eviction") {
        delete_options: Option<Box<super::meta_v1::DeleteOptions>> = "deleteOptions",
        metadata: coracle_meta::ObjectMeta = "metadata",
    }
}

lean_struct! {
    /// In Kubernetes: `policy.v1.PodDisruptionBudget`.
    pub struct PodDisruptionBudget("policy/v1", "PodDisruptionBudget") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PodDisruptionBudgetSpec = "spec",
        status: PodDisruptionBudgetStatus = "status",
    }
}
resource!(PodDisruptionBudget, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", Namespaced);

lean_struct! {
    /// In Kubernetes: `policy.v1.PodDisruptionBudgetSpec`.
    pub struct PodDisruptionBudgetSpec {
        max_unavailable: Option<coracle_meta::IntOrString> = "maxUnavailable",
        min_available: Option<coracle_meta::IntOrString> = "minAvailable",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        unhealthy_pod_eviction_policy: Option<String> = "unhealthyPodEvictionPolicy",
    }
}

lean_struct! {
    /// In Kubernetes: `policy.v1.PodDisruptionBudgetStatus`.
    pub struct PodDisruptionBudgetStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
        current_healthy: i32 = "currentHealthy",
        desired_healthy: i32 = "desiredHealthy",
        disrupted_pods: BTreeMap<String, String> = "disruptedPods",
        disruptions_allowed: i32 = "disruptionsAllowed",
        expected_pods: i32 = "expectedPods",
        observed_generation: i64 = "observedGeneration" if nonzero,
    }
}
