// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ContainerResourceMetricSource`.
    pub struct ContainerResourceMetricSource {
        container: String = "container",
        name: String = "name",
        target: MetricTarget = "target",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ContainerResourceMetricStatus`.
    pub struct ContainerResourceMetricStatus {
        container: String = "container",
        current: MetricValueStatus = "current",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.CrossVersionObjectReference`.
    pub struct CrossVersionObjectReference {
        api_version: String = "apiVersion" if nonzero,
        kind: String = "kind",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ExternalMetricSource`.
    pub struct ExternalMetricSource {
        metric: MetricIdentifier = "metric",
        target: MetricTarget = "target",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ExternalMetricStatus`.
    pub struct ExternalMetricStatus {
        current: MetricValueStatus = "current",
        metric: MetricIdentifier = "metric",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HPAScalingPolicy`.
    pub struct HPAScalingPolicy {
        period_seconds: i32 = "periodSeconds",
        type_: String = "type",
        value: i32 = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HPAScalingRules`.
    pub struct HPAScalingRules {
        policies: Vec<HPAScalingPolicy> = "policies",
        select_policy: Option<String> = "selectPolicy",
        stabilization_window_seconds: Option<i32> = "stabilizationWindowSeconds",
        tolerance: Option<coracle_meta::Quantity> = "tolerance",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HorizontalPodAutoscaler`.
    pub struct HorizontalPodAutoscaler("autoscaling/v2", "HorizontalPodAutoscaler") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: HorizontalPodAutoscalerSpec = "spec",
        status: HorizontalPodAutoscalerStatus = "status",
    }
}
resource!(
    HorizontalPodAutoscaler,
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    Namespaced
);

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HorizontalPodAutoscalerBehavior`.
    pub struct HorizontalPodAutoscalerBehavior {
        scale_down: Option<Box<HPAScalingRules>> = "scaleDown",
        scale_up: Option<Box<HPAScalingRules>> = "scaleUp",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HorizontalPodAutoscalerCondition`.
    pub struct HorizontalPodAutoscalerCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        observed_generation: Option<i64> = "observedGeneration",
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HorizontalPodAutoscalerSpec`.
    pub struct HorizontalPodAutoscalerSpec {
        behavior: Option<Box<HorizontalPodAutoscalerBehavior>> = "behavior",
        max_replicas: i32 = "maxReplicas",
        metrics: Vec<MetricSpec> = "metrics",
        min_replicas: Option<i32> = "minReplicas",
        scale_target_ref: CrossVersionObjectReference = "scaleTargetRef",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.HorizontalPodAutoscalerStatus`.
    pub struct HorizontalPodAutoscalerStatus {
        conditions: Vec<HorizontalPodAutoscalerCondition> = "conditions",
        current_metrics: Vec<MetricStatus> = "currentMetrics",
        current_replicas: i32 = "currentReplicas" if nonzero,
        desired_replicas: i32 = "desiredReplicas",
        last_scale_time: Option<String> = "lastScaleTime",
        observed_generation: Option<i64> = "observedGeneration",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.MetricIdentifier`.
    pub struct MetricIdentifier {
        name: String = "name",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.MetricSpec`.
    pub struct MetricSpec {
        container_resource: Option<Box<ContainerResourceMetricSource>> = "containerResource",
        external: Option<Box<ExternalMetricSource>> = "external",
        object: Option<Box<ObjectMetricSource>> = "object",
        pods: Option<Box<PodsMetricSource>> = "pods",
        resource: Option<Box<ResourceMetricSource>> = "resource",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.MetricStatus`.
    pub struct MetricStatus {
        container_resource: Option<Box<ContainerResourceMetricStatus>> = "containerResource",
        external: Option<Box<ExternalMetricStatus>> = "external",
        object: Option<Box<ObjectMetricStatus>> = "object",
        pods: Option<Box<PodsMetricStatus>> = "pods",
        resource: Option<Box<ResourceMetricStatus>> = "resource",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.MetricTarget`.
    pub struct MetricTarget {
        average_utilization: Option<i32> = "averageUtilization",
        average_value: Option<coracle_meta::Quantity> = "averageValue",
        type_: String = "type",
        value: Option<coracle_meta::Quantity> = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.MetricValueStatus`.
    pub struct MetricValueStatus {
        average_utilization: Option<i32> = "averageUtilization",
        average_value: Option<coracle_meta::Quantity> = "averageValue",
        value: Option<coracle_meta::Quantity> = "value",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ObjectMetricSource`.
    pub struct ObjectMetricSource {
        described_object: CrossVersionObjectReference = "describedObject",
        metric: MetricIdentifier = "metric",
        target: MetricTarget = "target",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ObjectMetricStatus`.
    pub struct ObjectMetricStatus {
        current: MetricValueStatus = "current",
        described_object: CrossVersionObjectReference = "describedObject",
        metric: MetricIdentifier = "metric",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.PodsMetricSource`.
    pub struct PodsMetricSource {
        metric: MetricIdentifier = "metric",
        target: MetricTarget = "target",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.PodsMetricStatus`.
    pub struct PodsMetricStatus {
        current: MetricValueStatus = "current",
        metric: MetricIdentifier = "metric",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ResourceMetricSource`.
    pub struct ResourceMetricSource {
        name: String = "name",
        target: MetricTarget = "target",
    }
}

lean_struct! {
    /// In Kubernetes: `autoscaling.v2.ResourceMetricStatus`.
    pub struct ResourceMetricStatus {
        current: MetricValueStatus = "current",
        name: String = "name",
    }
}
