// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `authorization.v1.FieldSelectorAttributes`.
    pub struct FieldSelectorAttributes {
        raw_selector: String = "rawSelector" if nonzero,
        requirements: Vec<super::meta_v1::FieldSelectorRequirement> = "requirements",
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.LabelSelectorAttributes`.
    pub struct LabelSelectorAttributes {
        raw_selector: String = "rawSelector" if nonzero,
        requirements: Vec<super::meta_v1::LabelSelectorRequirement> = "requirements",
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.LocalSubjectAccessReview`.
    pub struct LocalSubjectAccessReview("authorization.k8s.io/v1", "LocalSubjectAccessReview") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: SubjectAccessReviewSpec = "spec",
        status: SubjectAccessReviewStatus = "status",
    }
}
resource!(
    LocalSubjectAccessReview,
    "authorization.k8s.io",
    "v1",
    "LocalSubjectAccessReview",
    "localsubjectaccessreviews",
    Namespaced
);

lean_struct! {
    /// In Kubernetes: `authorization.v1.NonResourceAttributes`.
    pub struct NonResourceAttributes {
        path: String = "path" if nonzero,
        verb: String = "verb" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.NonResourceRule`.
    pub struct NonResourceRule {
        non_resource_urls: Vec<String> = "nonResourceURLs",
        verbs: Vec<String> = "verbs",
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.ResourceAttributes`.
    pub struct ResourceAttributes {
        field_selector: Option<Box<FieldSelectorAttributes>> = "fieldSelector",
        group: String = "group" if nonzero,
        label_selector: Option<Box<LabelSelectorAttributes>> = "labelSelector",
        name: String = "name" if nonzero,
        namespace: String = "namespace" if nonzero,
        resource: String = "resource" if nonzero,
        subresource: String = "subresource" if nonzero,
        verb: String = "verb" if nonzero,
        version: String = "version" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.ResourceRule`.
    pub struct ResourceRule {
        api_groups: Vec<String> = "apiGroups",
        resource_names: Vec<String> = "resourceNames",
        resources: Vec<String> = "resources",
        verbs: Vec<String> = "verbs",
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.SelfSubjectAccessReview`.
    pub struct SelfSubjectAccessReview("authorization.k8s.io/v1", "SelfSubjectAccessReview") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: SelfSubjectAccessReviewSpec = "spec",
        status: SubjectAccessReviewStatus = "status",
    }
}
resource!(
    SelfSubjectAccessReview,
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `authorization.v1.SelfSubjectAccessReviewSpec`.
    pub struct SelfSubjectAccessReviewSpec {
        non_resource_attributes: Option<Box<NonResourceAttributes>> = "nonResourceAttributes",
        resource_attributes: Option<Box<ResourceAttributes>> = "resourceAttributes",
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.SelfSubjectRulesReview`.
    pub struct SelfSubjectRulesReview("authorization.k8s.io/v1", "SelfSubjectRulesReview") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: SelfSubjectRulesReviewSpec = "spec",
        status: SubjectRulesReviewStatus = "status",
    }
}
resource!(
    SelfSubjectRulesReview,
    "authorization.k8s.io",
    "v1",
    "SelfSubjectRulesReview",
    "selfsubjectrulesreviews",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `authorization.v1.SelfSubjectRulesReviewSpec`.
    pub struct SelfSubjectRulesReviewSpec {
        namespace: String = "namespace" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.SubjectAccessReview`.
    pub struct SubjectAccessReview("authorization.k8s.io/v1", "SubjectAccessReview") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: SubjectAccessReviewSpec = "spec",
        status: SubjectAccessReviewStatus = "status",
    }
}
resource!(SubjectAccessReview, "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", Cluster);

lean_struct! {
    /// In Kubernetes: `authorization.v1.SubjectAccessReviewSpec`.
    pub struct SubjectAccessReviewSpec {
        extra: BTreeMap<String, Vec<String>> = "extra",
        groups: Vec<String> = "groups",
        non_resource_attributes: Option<Box<NonResourceAttributes>> = "nonResourceAttributes",
        resource_attributes: Option<Box<ResourceAttributes>> = "resourceAttributes",
        uid: String = "uid" if nonzero,
        user: String = "user" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.SubjectAccessReviewStatus`.
    pub struct SubjectAccessReviewStatus {
        allowed: bool = "allowed",
        denied: bool = "denied" if nonzero,
        evaluation_error: String = "evaluationError" if nonzero,
        reason: String = "reason" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `authorization.v1.SubjectRulesReviewStatus`.
    pub struct SubjectRulesReviewStatus {
        evaluation_error: String = "evaluationError" if nonzero,
        incomplete: bool = "incomplete",
        non_resource_rules: Vec<NonResourceRule> = "nonResourceRules",
        resource_rules: Vec<ResourceRule> = "resourceRules",
    }
}
