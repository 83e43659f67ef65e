// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `batch.v1.CronJob`.
    pub struct CronJob("batch/v1", "CronJob") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: CronJobSpec = "spec",
        status: CronJobStatus = "status",
    }
}
resource!(CronJob, "batch", "v1", "CronJob", "cronjobs", Namespaced);

lean_struct! {
    /// In Kubernetes: `batch.v1.CronJobSpec`.
    pub struct CronJobSpec {
        concurrency_policy: String = "concurrencyPolicy" if nonzero,
        failed_jobs_history_limit: Option<i32> = "failedJobsHistoryLimit",
        job_template: JobTemplateSpec = "jobTemplate",
        schedule: String = "schedule",
        starting_deadline_seconds: Option<i64> = "startingDeadlineSeconds",
        successful_jobs_history_limit: Option<i32> = "successfulJobsHistoryLimit",
        suspend: Option<bool> = "suspend",
        time_zone: Option<String> = "timeZone",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.CronJobStatus`.
    pub struct CronJobStatus {
        active: Vec<super::core_v1::ObjectReference> = "active",
        last_schedule_time: Option<String> = "lastScheduleTime",
        last_successful_time: Option<String> = "lastSuccessfulTime",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.Job`.
    pub struct Job("batch/v1", "Job") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: JobSpec = "spec",
        status: JobStatus = "status",
    }
}
resource!(Job, "batch", "v1", "Job", "jobs", Namespaced);

lean_struct! {
    /// In Kubernetes: `batch.v1.JobCondition`.
    pub struct JobCondition {
        last_probe_time: Option<String> = "lastProbeTime",
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.JobSchedulingConfiguration`.
    pub struct JobSchedulingConfiguration {
        disruption_mode: Option<Box<super::scheduling_v1alpha3::WorkloadPodGroupDisruptionMode>> = "disruptionMode",
        resource_claims: Vec<super::scheduling_v1alpha3::WorkloadPodGroupResourceClaim> = "resourceClaims",
        scheduling_constraints: Option<Box<super::scheduling_v1alpha3::WorkloadPodGroupSchedulingConstraints>> = "schedulingConstraints",
        scheduling_policy: Option<Box<super::scheduling_v1alpha3::WorkloadPodGroupSchedulingPolicy>> = "schedulingPolicy",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.JobSpec`.
    pub struct JobSpec {
        active_deadline_seconds: Option<i64> = "activeDeadlineSeconds",
        backoff_limit: Option<i32> = "backoffLimit",
        backoff_limit_per_index: Option<i32> = "backoffLimitPerIndex",
        completion_mode: Option<String> = "completionMode",
        completions: Option<i32> = "completions",
        managed_by: Option<String> = "managedBy",
        manual_selector: Option<bool> = "manualSelector",
        max_failed_indexes: Option<i32> = "maxFailedIndexes",
        parallelism: Option<i32> = "parallelism",
        pod_failure_policy: Option<Box<PodFailurePolicy>> = "podFailurePolicy",
        pod_replacement_policy: Option<String> = "podReplacementPolicy",
        scheduling: Option<Box<JobSchedulingConfiguration>> = "scheduling",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
        success_policy: Option<Box<SuccessPolicy>> = "successPolicy",
        suspend: Option<bool> = "suspend",
        template: super::core_v1::PodTemplateSpec = "template",
        ttl_seconds_after_finished: Option<i32> = "ttlSecondsAfterFinished",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.JobStatus`.
    pub struct JobStatus {
        active: i32 = "active" if nonzero,
        completed_indexes: String = "completedIndexes" if nonzero,
        completion_time: Option<String> = "completionTime",
        conditions: Vec<JobCondition> = "conditions",
        failed: i32 = "failed" if nonzero,
        failed_indexes: Option<String> = "failedIndexes",
        ready: Option<i32> = "ready",
        start_time: Option<String> = "startTime",
        succeeded: i32 = "succeeded" if nonzero,
        terminating: Option<i32> = "terminating",
        uncounted_terminated_pods: Option<Box<UncountedTerminatedPods>> = "uncountedTerminatedPods",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.JobTemplateSpec`.
    pub struct JobTemplateSpec {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: JobSpec = "spec",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.PodFailurePolicy`.
    pub struct PodFailurePolicy {
        rules: Vec<PodFailurePolicyRule> = "rules",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.PodFailurePolicyOnExitCodesRequirement`.
    pub struct PodFailurePolicyOnExitCodesRequirement {
        container_name: Option<String> = "containerName",
        operator: String = "operator",
        values: Vec<i32> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.PodFailurePolicyOnPodConditionsPattern`.
    pub struct PodFailurePolicyOnPodConditionsPattern {
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.PodFailurePolicyRule`.
    pub struct PodFailurePolicyRule {
        action: String = "action",
        on_exit_codes: Option<Box<PodFailurePolicyOnExitCodesRequirement>> = "onExitCodes",
        on_pod_conditions: Vec<PodFailurePolicyOnPodConditionsPattern> = "onPodConditions",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.SuccessPolicy`.
    pub struct SuccessPolicy {
        rules: Vec<SuccessPolicyRule> = "rules",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.SuccessPolicyRule`.
    pub struct SuccessPolicyRule {
        succeeded_count: Option<i32> = "succeededCount",
        succeeded_indexes: Option<String> = "succeededIndexes",
    }
}

lean_struct! {
    /// In Kubernetes: `batch.v1.UncountedTerminatedPods`.
    pub struct UncountedTerminatedPods {
        failed: Vec<String> = "failed",
        succeeded: Vec<String> = "succeeded",
    }
}
