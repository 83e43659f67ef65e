// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.CrossVersionObjectReference`.
    pub struct CrossVersionObjectReference {
        api_version: String = "apiVersion" if nonzero,
        kind: String = "kind",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.HorizontalPodAutoscaler`.
    pub struct HorizontalPodAutoscaler("autoscaling/v1", "HorizontalPodAutoscaler") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: HorizontalPodAutoscalerSpec = "spec",
        status: HorizontalPodAutoscalerStatus = "status",
    }
}
resource!(
    HorizontalPodAutoscaler,
    "autoscaling",
    "v1",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    Namespaced
);

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.HorizontalPodAutoscalerSpec`.
    pub struct HorizontalPodAutoscalerSpec {
        max_replicas: i32 = "maxReplicas",
        min_replicas: Option<i32> = "minReplicas",
        scale_target_ref: CrossVersionObjectReference = "scaleTargetRef",
        target_cpu_utilization_percentage: Option<i32> = "targetCPUUtilizationPercentage",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.HorizontalPodAutoscalerStatus`.
    pub struct HorizontalPodAutoscalerStatus {
        current_cpu_utilization_percentage: Option<i32> = "currentCPUUtilizationPercentage",
        current_replicas: i32 = "currentReplicas",
        desired_replicas: i32 = "desiredReplicas",
        last_scale_time: Option<String> = "lastScaleTime",
        observed_generation: Option<i64> = "observedGeneration",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.Scale`.
    pub struct Scale("autoscaling/v1", "Scale") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ScaleSpec = "spec",
        status: ScaleStatus = "status",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.ScaleSpec`.
    pub struct ScaleSpec {
        replicas: i32 = "replicas" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v1.ScaleStatus`.
    pub struct ScaleStatus {
        replicas: i32 = "replicas",
        selector: String = "selector" if nonzero,
    }
}
