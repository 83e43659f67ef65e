// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

lean_struct! {
    /// In Kubernetes: `meta.v1.Condition`.
    pub struct Condition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message",
        observed_generation: i64 = "observedGeneration" if nonzero,
        reason: String = "reason",
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `meta.v1.DeleteOptions`.
    pub struct DeleteOptions {
        api_version: String = "apiVersion" if nonzero,
        dry_run: Vec<String> = "dryRun",
        grace_period_seconds: Option<i64> = "gracePeriodSeconds",
        ignore_store_read_error_with_cluster_breaking_potential: Option<bool> = "ignoreStoreReadErrorWithClusterBreakingPotential",
        kind: String = "kind" if nonzero,
        orphan_dependents: Option<bool> = "orphanDependents",
        preconditions: Option<Box<Preconditions>> = "preconditions",
        propagation_policy: Option<String> = "propagationPolicy",
    }
}

lean_struct! {
    /// In Kubernetes: `meta.v1.FieldSelectorRequirement`.
    pub struct FieldSelectorRequirement {
        key: String = "key",
        operator: String = "operator",
        values: Vec<String> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `meta.v1.GroupResource`.
    pub struct GroupResource {
        group: String = "group",
        resource: String = "resource",
    }
}

lean_struct! {
    /// In Kubernetes: `meta.v1.LabelSelector`.
    pub struct LabelSelector {
        match_expressions: Vec<LabelSelectorRequirement> = "matchExpressions",
        match_labels: BTreeMap<String, String> = "matchLabels",
    }
}

lean_struct! {
    /// In Kubernetes: `meta.v1.LabelSelectorRequirement`.
    pub struct LabelSelectorRequirement {
        key: String = "key",
        operator: String = "operator",
        values: Vec<String> = "values",
    }
}

lean_struct! {
    /// In Kubernetes: `meta.v1.Preconditions`.
    pub struct Preconditions {
        resource_version: Option<String> = "resourceVersion",
        uid: Option<String> = "uid",
    }
}
