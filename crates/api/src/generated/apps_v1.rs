// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `apps.v1.ControllerRevision`.
    pub struct ControllerRevision("apps/v1", "ControllerRevision") {
        data: Option<serde_json::Value> = "data",
        metadata: coracle_meta::ObjectMeta = "metadata",
        revision: i64 = "revision",
    }
}
resource!(ControllerRevision, "apps", "v1", "ControllerRevision", "controllerrevisions", Namespaced);

lean_struct! {
    /// In Kubernetes: `apps.v1.DaemonSet`.
    pub struct DaemonSet("apps/v1", "DaemonSet") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: DaemonSetSpec = "spec",
        status: DaemonSetStatus = "status",
    }
}
resource!(DaemonSet, "apps", "v1", "DaemonSet", "daemonsets", Namespaced);

lean_struct! {
    /// In Kubernetes: `apps.v1.DaemonSetCondition`.
    pub struct DaemonSetCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.DaemonSetSpec`.
    pub struct DaemonSetSpec {
        min_ready_seconds: i32 = "minReadySeconds" if nonzero,
        revision_history_limit: Option<i32> = "revisionHistoryLimit",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        template: super::core_v1::PodTemplateSpec = "template",
        update_strategy: DaemonSetUpdateStrategy = "updateStrategy",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.DaemonSetStatus`.
    pub struct DaemonSetStatus {
        collision_count: Option<i32> = "collisionCount",
        conditions: Vec<DaemonSetCondition> = "conditions",
        current_number_scheduled: i32 = "currentNumberScheduled",
        desired_number_scheduled: i32 = "desiredNumberScheduled",
        number_available: i32 = "numberAvailable" if nonzero,
        number_misscheduled: i32 = "numberMisscheduled",
        number_ready: i32 = "numberReady",
        number_unavailable: i32 = "numberUnavailable" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        updated_number_scheduled: i32 = "updatedNumberScheduled" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.DaemonSetUpdateStrategy`.
    pub struct DaemonSetUpdateStrategy {
        rolling_update: Option<Box<RollingUpdateDaemonSet>> = "rollingUpdate",
        type_: String = "type" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.Deployment`.
    pub struct Deployment("apps/v1", "Deployment") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: DeploymentSpec = "spec",
        status: DeploymentStatus = "status",
    }
}
resource!(Deployment, "apps", "v1", "Deployment", "deployments", Namespaced);

lean_struct! {
    /// In Kubernetes: `apps.v1.DeploymentCondition`.
    pub struct DeploymentCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        last_update_time: Option<String> = "lastUpdateTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.DeploymentSpec`.
    pub struct DeploymentSpec {
        min_ready_seconds: i32 = "minReadySeconds" if nonzero,
        paused: bool = "paused" if nonzero,
        progress_deadline_seconds: Option<i32> = "progressDeadlineSeconds",
        replicas: Option<i32> = "replicas",
        revision_history_limit: Option<i32> = "revisionHistoryLimit",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        strategy: DeploymentStrategy = "strategy",
        template: super::core_v1::PodTemplateSpec = "template",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.DeploymentStatus`.
    pub struct DeploymentStatus {
        available_replicas: i32 = "availableReplicas" if nonzero,
        collision_count: Option<i32> = "collisionCount",
        conditions: Vec<DeploymentCondition> = "conditions",
        observed_generation: i64 = "observedGeneration" if nonzero,
        ready_replicas: i32 = "readyReplicas" if nonzero,
        replicas: i32 = "replicas" if nonzero,
        terminating_replicas: Option<i32> = "terminatingReplicas",
        unavailable_replicas: i32 = "unavailableReplicas" if nonzero,
        updated_replicas: i32 = "updatedReplicas" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.DeploymentStrategy`.
    pub struct DeploymentStrategy {
        rolling_update: Option<Box<RollingUpdateDeployment>> = "rollingUpdate",
        type_: String = "type" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.ReplicaSet`.
    pub struct ReplicaSet("apps/v1", "ReplicaSet") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ReplicaSetSpec = "spec",
        status: ReplicaSetStatus = "status",
    }
}
resource!(ReplicaSet, "apps", "v1", "ReplicaSet", "replicasets", Namespaced);

lean_struct! {
    /// In Kubernetes: `apps.v1.ReplicaSetCondition`.
    pub struct ReplicaSetCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.ReplicaSetSpec`.
    pub struct ReplicaSetSpec {
        min_ready_seconds: i32 = "minReadySeconds" if nonzero,
        replicas: Option<i32> = "replicas",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        template: super::core_v1::PodTemplateSpec = "template",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.ReplicaSetStatus`.
    pub struct ReplicaSetStatus {
        available_replicas: i32 = "availableReplicas" if nonzero,
        conditions: Vec<ReplicaSetCondition> = "conditions",
        fully_labeled_replicas: i32 = "fullyLabeledReplicas" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        ready_replicas: i32 = "readyReplicas" if nonzero,
        replicas: i32 = "replicas",
        terminating_replicas: Option<i32> = "terminatingReplicas",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.RollingUpdateDaemonSet`.
    pub struct RollingUpdateDaemonSet {
        max_surge: Option<coracle_meta::IntOrString> = "maxSurge",
        max_unavailable: Option<coracle_meta::IntOrString> = "maxUnavailable",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.RollingUpdateDeployment`.
    pub struct RollingUpdateDeployment {
        max_surge: Option<coracle_meta::IntOrString> = "maxSurge",
        max_unavailable: Option<coracle_meta::IntOrString> = "maxUnavailable",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.RollingUpdateStatefulSetStrategy`.
    pub struct RollingUpdateStatefulSetStrategy {
        max_unavailable: Option<coracle_meta::IntOrString> = "maxUnavailable",
        partition: Option<i32> = "partition",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSet`.
    pub struct StatefulSet("apps/v1", "StatefulSet") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: StatefulSetSpec = "spec",
        status: StatefulSetStatus = "status",
    }
}
resource!(StatefulSet, "apps", "v1", "StatefulSet", "statefulsets", Namespaced);

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSetCondition`.
    pub struct StatefulSetCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSetOrdinals`.
    pub struct StatefulSetOrdinals {
        start: i32 = "start",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy`.
    pub struct StatefulSetPersistentVolumeClaimRetentionPolicy {
        when_deleted: String = "whenDeleted" if nonzero,
        when_scaled: String = "whenScaled" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSetSpec`.
    pub struct StatefulSetSpec {
        min_ready_seconds: i32 = "minReadySeconds" if nonzero,
        ordinals: Option<Box<StatefulSetOrdinals>> = "ordinals",
        persistent_volume_claim_retention_policy: Option<Box<StatefulSetPersistentVolumeClaimRetentionPolicy>> = "persistentVolumeClaimRetentionPolicy",
        pod_management_policy: String = "podManagementPolicy" if nonzero,
        replicas: Option<i32> = "replicas",
        revision_history_limit: Option<i32> = "revisionHistoryLimit",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        service_name: String = "serviceName",
        template: super::core_v1::PodTemplateSpec = "template",
        update_strategy: StatefulSetUpdateStrategy = "updateStrategy",
        volume_claim_templates: Vec<super::core_v1::PersistentVolumeClaim> = "volumeClaimTemplates",
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSetStatus`.
    pub struct StatefulSetStatus {
        available_replicas: i32 = "availableReplicas",
        collision_count: Option<i32> = "collisionCount",
        conditions: Vec<StatefulSetCondition> = "conditions",
        current_replicas: i32 = "currentReplicas" if nonzero,
        current_revision: String = "currentRevision" if nonzero,
        observed_generation: i64 = "observedGeneration" if nonzero,
        ready_replicas: i32 = "readyReplicas" if nonzero,
        replicas: i32 = "replicas",
        update_revision: String = "updateRevision" if nonzero,
        updated_replicas: i32 = "updatedReplicas" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `apps.v1.StatefulSetUpdateStrategy`.
    pub struct StatefulSetUpdateStrategy {
        rolling_update: Option<Box<RollingUpdateStatefulSetStrategy>> = "rollingUpdate",
        type_: String = "type" if nonzero,
    }
}
