// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.ExemptPriorityLevelConfiguration`.
    pub struct ExemptPriorityLevelConfiguration {
        lendable_percent: Option<i32> = "lendablePercent",
        nominal_concurrency_shares: Option<i32> = "nominalConcurrencyShares",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.FlowDistinguisherMethod`.
    pub struct FlowDistinguisherMethod {
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.FlowSchema`.
    pub struct FlowSchema("flowcontrol.apiserver.k8s.io/v1", "FlowSchema") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: FlowSchemaSpec = "spec",
        status: FlowSchemaStatus = "status",
    }
}
resource!(FlowSchema, "flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", Cluster);

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.FlowSchemaCondition`.
    pub struct FlowSchemaCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status" if nonzero,
        type_: String = "type" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.FlowSchemaSpec`.
    pub struct FlowSchemaSpec {
        distinguisher_method: Option<Box<FlowDistinguisherMethod>> = "distinguisherMethod",
        matching_precedence: i32 = "matchingPrecedence",
        priority_level_configuration: PriorityLevelConfigurationReference = "priorityLevelConfiguration",
        rules: Vec<PolicyRulesWithSubjects> = "rules",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.FlowSchemaStatus`.
    pub struct FlowSchemaStatus {
        conditions: Vec<FlowSchemaCondition> = "conditions",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.GroupSubject`.
    pub struct GroupSubject {
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.LimitResponse`.
    pub struct LimitResponse {
        queuing: Option<Box<QueuingConfiguration>> = "queuing",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.LimitedPriorityLevelConfiguration`.
    pub struct LimitedPriorityLevelConfiguration {
        borrowing_limit_percent: Option<i32> = "borrowingLimitPercent",
        lendable_percent: Option<i32> = "lendablePercent",
        limit_response: LimitResponse = "limitResponse",
        nominal_concurrency_shares: Option<i32> = "nominalConcurrencyShares",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.NonResourcePolicyRule`.
    pub struct NonResourcePolicyRule {
        non_resource_urls: Vec<String> = "nonResourceURLs",
        verbs: Vec<String> = "verbs",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.PolicyRulesWithSubjects`.
    pub struct PolicyRulesWithSubjects {
        non_resource_rules: Vec<NonResourcePolicyRule> = "nonResourceRules",
        resource_rules: Vec<ResourcePolicyRule> = "resourceRules",
        subjects: Vec<Subject> = "subjects",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.PriorityLevelConfiguration`.
    pub struct PriorityLevelConfiguration("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PriorityLevelConfigurationSpec = "spec",
        status: PriorityLevelConfigurationStatus = "status",
    }
}
resource!(
    PriorityLevelConfiguration,
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.PriorityLevelConfigurationCondition`.
    pub struct PriorityLevelConfigurationCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status" if nonzero,
        type_: String = "type" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.PriorityLevelConfigurationReference`.
    pub struct PriorityLevelConfigurationReference {
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.PriorityLevelConfigurationSpec`.
    pub struct PriorityLevelConfigurationSpec {
        exempt: Option<Box<ExemptPriorityLevelConfiguration>> = "exempt",
        limited: Option<Box<LimitedPriorityLevelConfiguration>> = "limited",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.PriorityLevelConfigurationStatus`.
    pub struct PriorityLevelConfigurationStatus {
        conditions: Vec<PriorityLevelConfigurationCondition> = "conditions",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.QueuingConfiguration`.
    pub struct QueuingConfiguration {
        hand_size: i32 = "handSize",
        queue_length_limit: i32 = "queueLengthLimit",
        queues: i32 = "queues",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.ResourcePolicyRule`.
    pub struct ResourcePolicyRule {
        api_groups: Vec<String> = "apiGroups",
        cluster_scope: bool = "clusterScope" if nonzero,
        namespaces: Vec<String> = "namespaces",
        resources: Vec<String> = "resources",
        verbs: Vec<String> = "verbs",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.ServiceAccountSubject`.
    pub struct ServiceAccountSubject {
        name: String = "name",
        namespace: String = "namespace",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.Subject`.
    pub struct Subject {
        group: Option<Box<GroupSubject>> = "group",
        kind: String = "kind",
        service_account: Option<Box<ServiceAccountSubject>> = "serviceAccount",
        user: Option<Box<UserSubject>> = "user",
    }
}

lean_struct! {
    /// In Kubernetes: `flowcontrol.v1.UserSubject`.
    pub struct UserSubject {
        name: String = "name",
    }
}
