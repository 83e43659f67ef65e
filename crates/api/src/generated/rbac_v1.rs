// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `rbac.v1.AggregationRule`.
    pub struct AggregationRule {
        cluster_role_selectors: Vec<super::meta_v1::LabelSelector> = "clusterRoleSelectors",
    }
}

lean_struct! {
    /// In Kubernetes: `rbac.v1.ClusterRole`.
    pub struct ClusterRole("rbac.authorization.k8s.io/v1", "ClusterRole") {
        aggregation_rule: Option<Box<AggregationRule>> = "aggregationRule",
        metadata: coracle_meta::ObjectMeta = "metadata",
        rules: Vec<PolicyRule> = "rules",
    }
}
resource!(ClusterRole, "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", Cluster);

lean_struct! {
    /// In Kubernetes: `rbac.v1.ClusterRoleBinding`.
    pub struct ClusterRoleBinding("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        role_ref: RoleRef = "roleRef",
        subjects: Vec<Subject> = "subjects",
    }
}
resource!(ClusterRoleBinding, "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", Cluster);

lean_struct! {
    /// In Kubernetes: `rbac.v1.PolicyRule`.
    pub struct PolicyRule {
        api_groups: Vec<String> = "apiGroups",
        non_resource_urls: Vec<String> = "nonResourceURLs",
        resource_names: Vec<String> = "resourceNames",
        resources: Vec<String> = "resources",
        verbs: Vec<String> = "verbs",
    }
}

lean_struct! {
    /// In Kubernetes: `rbac.v1.Role`.
    pub struct Role("rbac.authorization.k8s.io/v1", "Role") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        rules: Vec<PolicyRule> = "rules",
    }
}
resource!(Role, "rbac.authorization.k8s.io", "v1", "Role", "roles", Namespaced);

lean_struct! {
    /// In Kubernetes: `rbac.v1.RoleBinding`.
    pub struct RoleBinding("rbac.authorization.k8s.io/v1", "RoleBinding") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        role_ref: RoleRef = "roleRef",
        subjects: Vec<Subject> = "subjects",
    }
}
resource!(RoleBinding, "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", Namespaced);

lean_struct! {
    /// In Kubernetes: `rbac.v1.RoleRef`.
    pub struct RoleRef {
        api_group: String = "apiGroup",
        kind: String = "kind",
        name: String = "name",
    }
}

lean_struct! {
    /// In Kubernetes: `rbac.v1.Subject`.
    pub struct Subject {
        api_group: String = "apiGroup" if nonzero,
        kind: String = "kind",
        name: String = "name",
        namespace: String = "namespace" if nonzero,
    }
}
