// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ApplyConfiguration`.
    pub struct ApplyConfiguration {
        expression: String = "expression" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.AuditAnnotation`.
    pub struct AuditAnnotation {
        key: String = "key",
        value_expression: String = "valueExpression",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ExpressionWarning`.
    pub struct ExpressionWarning {
        field_ref: String = "fieldRef",
        warning: String = "warning",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.JSONPatch`.
    pub struct JSONPatch {
        expression: String = "expression" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MatchCondition`.
    pub struct MatchCondition {
        expression: String = "expression",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MatchResources`.
    pub struct MatchResources {
        exclude_resource_rules: Vec<NamedRuleWithOperations> = "excludeResourceRules",
        match_policy: Option<String> = "matchPolicy",
        namespace_selector: Option<Box<super::meta_v1::LabelSelector>> = "namespaceSelector",
        object_selector: Option<Box<super::meta_v1::LabelSelector>> = "objectSelector",
        resource_rules: Vec<NamedRuleWithOperations> = "resourceRules",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MutatingAdmissionPolicy`.
    pub struct MutatingAdmissionPolicy("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: MutatingAdmissionPolicySpec = "spec",
    }
}
resource!(
    MutatingAdmissionPolicy,
    "admissionregistration.k8s.io",
    "v1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MutatingAdmissionPolicyBinding`.
    pub struct MutatingAdmissionPolicyBinding("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: MutatingAdmissionPolicyBindingSpec = "spec",
    }
}
resource!(
    MutatingAdmissionPolicyBinding,
    "admissionregistration.k8s.io",
    "v1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MutatingAdmissionPolicyBindingSpec`.
    pub struct MutatingAdmissionPolicyBindingSpec {
        match_resources: Option<Box<MatchResources>> = "matchResources",
        param_ref: Option<Box<ParamRef>> = "paramRef",
        policy_name: String = "policyName" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MutatingAdmissionPolicySpec`.
    pub struct MutatingAdmissionPolicySpec {
        failure_policy: Option<String> = "failurePolicy",
        match_conditions: Vec<MatchCondition> = "matchConditions",
        match_constraints: Option<Box<MatchResources>> = "matchConstraints",
        mutations: Vec<Mutation> = "mutations",
        param_kind: Option<Box<ParamKind>> = "paramKind",
        reinvocation_policy: String = "reinvocationPolicy" if nonzero,
        variables: Vec<Variable> = "variables",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MutatingWebhook`.
    pub struct MutatingWebhook {
        admission_review_versions: Vec<String> = "admissionReviewVersions",
        client_config: WebhookClientConfig = "clientConfig",
        failure_policy: Option<String> = "failurePolicy",
        match_conditions: Vec<MatchCondition> = "matchConditions",
        match_policy: Option<String> = "matchPolicy",
        name: String = "name",
        namespace_selector: Option<Box<super::meta_v1::LabelSelector>> = "namespaceSelector",
        object_selector: Option<Box<super::meta_v1::LabelSelector>> = "objectSelector",
        reinvocation_policy: Option<String> = "reinvocationPolicy",
        rules: Vec<RuleWithOperations> = "rules",
        side_effects: Option<String> = "sideEffects",
        timeout_seconds: Option<i32> = "timeoutSeconds",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.MutatingWebhookConfiguration`.
    pub struct MutatingWebhookConfiguration("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        webhooks: Vec<MutatingWebhook> = "webhooks",
    }
}
resource!(
    MutatingWebhookConfiguration,
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.Mutation`.
    pub struct Mutation {
        apply_configuration: Option<Box<ApplyConfiguration>> = "applyConfiguration",
        json_patch: Option<Box<JSONPatch>> = "jsonPatch",
        patch_type: String = "patchType",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.NamedRuleWithOperations`.
    pub struct NamedRuleWithOperations {
        api_groups: Vec<String> = "apiGroups",
        api_versions: Vec<String> = "apiVersions",
        operations: Vec<String> = "operations",
        resource_names: Vec<String> = "resourceNames",
        resources: Vec<String> = "resources",
        scope: Option<String> = "scope",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ParamKind`.
    pub struct ParamKind {
        api_version: String = "apiVersion" if nonzero,
        kind: String = "kind" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ParamRef`.
    pub struct ParamRef {
        name: String = "name" if nonzero,
        namespace: String = "namespace" if nonzero,
        parameter_not_found_action: Option<String> = "parameterNotFoundAction",
        selector: Option<Box<super::meta_v1::LabelSelector>> = "selector",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.RuleWithOperations`.
    pub struct RuleWithOperations {
        api_groups: Vec<String> = "apiGroups",
        api_versions: Vec<String> = "apiVersions",
        operations: Vec<String> = "operations",
        resources: Vec<String> = "resources",
        scope: Option<String> = "scope",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ServiceReference`.
    pub struct ServiceReference {
        name: String = "name",
        namespace: String = "namespace",
        path: Option<String> = "path",
        port: Option<i32> = "port",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.TypeChecking`.
    pub struct TypeChecking {
        expression_warnings: Vec<ExpressionWarning> = "expressionWarnings",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingAdmissionPolicy`.
    pub struct ValidatingAdmissionPolicy("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ValidatingAdmissionPolicySpec = "spec",
        status: ValidatingAdmissionPolicyStatus = "status",
    }
}
resource!(
    ValidatingAdmissionPolicy,
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingAdmissionPolicyBinding`.
    pub struct ValidatingAdmissionPolicyBinding("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ValidatingAdmissionPolicyBindingSpec = "spec",
    }
}
resource!(
    ValidatingAdmissionPolicyBinding,
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec`.
    pub struct ValidatingAdmissionPolicyBindingSpec {
        match_resources: Option<Box<MatchResources>> = "matchResources",
        param_ref: Option<Box<ParamRef>> = "paramRef",
        policy_name: String = "policyName" if nonzero,
        validation_actions: Vec<String> = "validationActions",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingAdmissionPolicySpec`.
    pub struct ValidatingAdmissionPolicySpec {
        audit_annotations: Vec<AuditAnnotation> = "auditAnnotations",
        failure_policy: Option<String> = "failurePolicy",
        match_conditions: Vec<MatchCondition> = "matchConditions",
        match_constraints: Option<Box<MatchResources>> = "matchConstraints",
        param_kind: Option<Box<ParamKind>> = "paramKind",
        validations: Vec<Validation> = "validations",
        variables: Vec<Variable> = "variables",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingAdmissionPolicyStatus`.
    pub struct ValidatingAdmissionPolicyStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
        observed_generation: i64 = "observedGeneration" if nonzero,
        type_checking: Option<Box<TypeChecking>> = "typeChecking",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingWebhook`.
    pub struct ValidatingWebhook {
        admission_review_versions: Vec<String> = "admissionReviewVersions",
        client_config: WebhookClientConfig = "clientConfig",
        failure_policy: Option<String> = "failurePolicy",
        match_conditions: Vec<MatchCondition> = "matchConditions",
        match_policy: Option<String> = "matchPolicy",
        name: String = "name",
        namespace_selector: Option<Box<super::meta_v1::LabelSelector>> = "namespaceSelector",
        object_selector: Option<Box<super::meta_v1::LabelSelector>> = "objectSelector",
        rules: Vec<RuleWithOperations> = "rules",
        side_effects: Option<String> = "sideEffects",
        timeout_seconds: Option<i32> = "timeoutSeconds",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.ValidatingWebhookConfiguration`.
    pub struct ValidatingWebhookConfiguration("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        webhooks: Vec<ValidatingWebhook> = "webhooks",
    }
}
resource!(
    ValidatingWebhookConfiguration,
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.Validation`.
    pub struct Validation {
        expression: String = "expression",
        message: String = "message" if nonzero,
        message_expression: String = "messageExpression" if nonzero,
        reason: Option<String> = "reason",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.Variable`.
    pub struct Variable {
        expression: String = "expression",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `admissionregistration.v1.WebhookClientConfig`.
    pub struct WebhookClientConfig {
        ca_bundle: String = "caBundle" if nonzero,
        service: Option<Box<ServiceReference>> = "service",
        url: Option<String> = "url",
    }
}
