// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.TopologyConstraint`.
    pub struct TopologyConstraint {
        key: String = "key",
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupAllDisruptionMode`.
    pub struct WorkloadPodGroupAllDisruptionMode {
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupBasicSchedulingPolicy`.
    pub struct WorkloadPodGroupBasicSchedulingPolicy {
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupDisruptionMode`.
    pub struct WorkloadPodGroupDisruptionMode {
        all: Option<Box<WorkloadPodGroupAllDisruptionMode>> = "all",
        single: Option<Box<WorkloadPodGroupSingleDisruptionMode>> = "single",
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupGangSchedulingPolicy`.
    pub struct WorkloadPodGroupGangSchedulingPolicy {
        min_count: Option<i32> = "minCount",
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupResourceClaim`.
    pub struct WorkloadPodGroupResourceClaim {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
        resource_claim_template_name: Option<String> = "resourceClaimTemplateName",
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupSchedulingConstraints`.
    pub struct WorkloadPodGroupSchedulingConstraints {
        topology: Vec<TopologyConstraint> = "topology",
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupSchedulingPolicy`.
    pub struct WorkloadPodGroupSchedulingPolicy {
        basic: Option<Box<WorkloadPodGroupBasicSchedulingPolicy>> = "basic",
        gang: Option<Box<WorkloadPodGroupGangSchedulingPolicy>> = "gang",
    }
}

lean_struct! {
    /// In Kubernetes: `scheduling.v1alpha3.WorkloadPodGroupSingleDisruptionMode`.
    pub struct WorkloadPodGroupSingleDisruptionMode {
    }
}
