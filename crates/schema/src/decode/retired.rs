//! Versions that Kubernetes does not serve, but recognizes in bodies.

use coracle_meta::GroupVersionKind;

/// The retired versions of a group, and their kinds that exist in a served version.
///
/// In Kubernetes: the versions in `legacyscheme.Scheme` that its API server does not serve.
const RETIRED: [(&str, &[&str], &[&str]); 29] = [
    (
        "admissionregistration.k8s.io",
        &["v1alpha1"],
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &["v1beta1"],
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["v1beta1"], &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["v1beta1"], &["APIService"]),
    ("apps", &["v1beta1"], &["ControllerRevision", "Deployment", "Scale", "StatefulSet"]),
    ("apps", &["v1beta2"], &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "Scale", "StatefulSet"]),
    ("authentication.k8s.io", &["v1alpha1"], &["SelfSubjectReview"]),
    ("authentication.k8s.io", &["v1beta1"], &["SelfSubjectReview", "TokenReview"]),
    (
        "authorization.k8s.io",
        &["v1beta1"],
        &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
    ),
    ("autoscaling", &["v2beta1", "v2beta2"], &["HorizontalPodAutoscaler"]),
    ("batch", &["v1beta1"], &["CronJob"]),
    ("certificates.k8s.io", &["v1alpha1"], &["ClusterTrustBundle"]),
    (
        "certificates.k8s.io",
        &["v1beta1"],
        &["CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"],
    ),
    ("coordination.k8s.io", &["v1alpha2"], &["LeaseCandidate"]),
    ("coordination.k8s.io", &["v1beta1"], &["Lease", "LeaseCandidate"]),
    ("discovery.k8s.io", &["v1beta1"], &["EndpointSlice"]),
    ("events.k8s.io", &["v1beta1"], &["Event"]),
    ("extensions", &["v1beta1"], &["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet", "Scale"]),
    ("flowcontrol.apiserver.k8s.io", &["v1beta1", "v1beta2", "v1beta3"], &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", &["v1beta1"], &["Ingress", "IngressClass", "IPAddress", "ServiceCIDR"]),
    ("node.k8s.io", &["v1alpha1", "v1beta1"], &["RuntimeClass"]),
    ("policy", &["v1beta1"], &["Eviction", "PodDisruptionBudget"]),
    (
        "rbac.authorization.k8s.io",
        &["v1alpha1", "v1beta1"],
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    ("resource.k8s.io", &["v1alpha3"], &["DeviceTaintRule"]),
    (
        "resource.k8s.io",
        &["v1beta1", "v1beta2"],
        &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    ("scheduling.k8s.io", &["v1alpha1"], &["PriorityClass", "Workload"]),
    ("scheduling.k8s.io", &["v1beta1"], &["PriorityClass"]),
    ("storage.k8s.io", &["v1alpha1"], &["CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"]),
    (
        "storage.k8s.io",
        &["v1beta1"],
        &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
];

/// Whether a kind is registered in a version that is not served.
pub(super) fn is_registered(kind: &GroupVersionKind) -> bool {
    RETIRED.iter().any(|(group, versions, kinds)| {
        *group == kind.group && versions.contains(&kind.version.as_str()) && kinds.contains(&kind.kind.as_str())
    })
}

/// Whether one kind is a retired version of another. Some kinds have moved to another group; kinds with the same name
/// in two groups are the same kind.
pub(super) fn is_former_version(found: &GroupVersionKind, expected: &GroupVersionKind) -> bool {
    found.kind == expected.kind && is_registered(found)
}

/// Whether a body in a retired version is accepted for the expected kind.
/// In Kubernetes: `AcceptsGroupVersion`, which only `EvictionREST` has.
pub fn is_accepted(found: &GroupVersionKind, expected: &GroupVersionKind) -> bool {
    let eviction = |version: &str| GroupVersionKind::new("policy", version, "Eviction");
    *expected == eviction("v1") && *found == eviction("v1beta1")
}
